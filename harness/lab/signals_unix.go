//go:build unix

package lab

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/harness/scenario"
)

// signals are what the words of a target step send.
var signals = map[string]syscall.Signal{
	scenario.TargetKill:   unix.SIGKILL,
	scenario.TargetHangup: unix.SIGHUP,
	scenario.TargetTerm:   unix.SIGTERM,
	scenario.TargetStop:   unix.SIGSTOP,
	scenario.TargetCont:   unix.SIGCONT,
}
