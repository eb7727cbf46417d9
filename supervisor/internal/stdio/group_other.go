//go:build !unix

package stdio

import (
	"fmt"
	"os"
	"os/exec"
)

// There are no process groups here: only the process itself is ended.

func ownGroup(*exec.Cmd) {}

func termGroup(int) {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
		p.Release()
	}
}

func groupEmpty(int) bool { return true }

func exitText(ps *os.ProcessState) string {
	return fmt.Sprintf("exited with status %d", ps.ExitCode())
}
