//go:build unix && !linux

package proc

import (
	"errors"
	"fmt"
	"syscall"
)

// alive asks the kernel with the null signal; the start time cannot be compared here.
func alive(pid int, _ uint64) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Signal sends sig to pid. The start time cannot be compared on this platform.
func Signal(pid int, _ uint64, sig syscall.Signal) error {
	if pid <= 0 {
		return fmt.Errorf("signal to pid %d refused", pid)
	}
	err := syscall.Kill(pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}
