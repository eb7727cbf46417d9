//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child the leader of a new process group, so that all it starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The group is addressed by its number. That is safe while the leader is not reaped, or while the group has
// members: the kernel does not give the number to anybody else then.

func termGroup(leader int) { _ = unix.Kill(-leader, unix.SIGTERM) } // it may be gone already

func killGroup(leader int) { _ = unix.Kill(-leader, unix.SIGKILL) }

// groupEmpty reports whether nobody alive is left in the group of a leader that was reaped.
func groupEmpty(leader int) bool {
	return errors.Is(unix.Kill(-leader, 0), unix.ESRCH) || onlyZombies(leader)
}

// exitText says how a process ended.
func exitText(ps *os.ProcessState) string {
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		if name == "" {
			name = fmt.Sprintf("signal %d", ws.Signal())
		}
		return "was killed by " + name
	}
	return fmt.Sprintf("exited with status %d", ps.ExitCode())
}
