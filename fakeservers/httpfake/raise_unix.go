//go:build unix

package httpfake

import (
	"os"

	"golang.org/x/sys/unix"
)

// raise sends ourselves a signal. Over HTTP nobody can see by which signal a server died, so SEGV is sent as KILL, which
// unlike SEGV leaves neither a trace nor a core file.
func raise(name string) {
	sig := unix.SIGKILL
	switch name {
	case "STOP":
		sig = unix.SIGSTOP // returns when we are continued
	case "TERM":
		sig = unix.SIGTERM
	}
	_ = unix.Kill(os.Getpid(), sig) // to ourselves: always allowed
}
