//go:build unix

package stdio

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	stdout = 1
	stderr = 2
)

// writeTo writes with write(2) itself: the os package would end the process on EPIPE at these descriptors.
func writeTo(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN): // the parent made its end of a shared descriptor non-blocking
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		case errors.Is(err, unix.EPIPE):
			return errBroken
		case err != nil:
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}

// closeStdout lets go of the pipe; the null device takes its place, so that no file opened later becomes our stdout.
func closeStdout() {
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(stdout)
		return
	}
	_ = dup2(null, stdout)
	_ = unix.Close(null)
}
