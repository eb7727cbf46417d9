//go:build unix

package stdio

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxRest bounds what is read from a pipe after its writer died. Whatever the dead process wrote fits the
// pipe (at most 1 MiB on Linux without privileges); more can only come from a survivor.
const maxRest = 1 << 20

// wake ends a Read of f that waits, and every later one, with os.ErrDeadlineExceeded. (Setting a deadline
// cannot fail on an open pipe, and on a closed one nobody waits.)
func wake(f *os.File) { _ = f.SetReadDeadline(time.Unix(1, 0)) }

// unwake lets f be read again.
func unwake(f *os.File) { _ = f.SetReadDeadline(time.Time{}) }

// readNow reads without waiting; again means that there is nothing now.
func readNow(f *os.File, p []byte) (n int, again bool, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	fail := raw.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), p)
			if !errors.Is(err, unix.EINTR) {
				return true
			}
		}
	})
	switch {
	case fail != nil:
		return 0, false, fail
	case errors.Is(err, unix.EAGAIN):
		return 0, true, nil
	case err == nil && n == 0:
		return 0, false, io.EOF
	}
	return max(n, 0), false, err
}

// readRest reads what is in the pipe now.
func readRest(f *os.File, take func([]byte)) {
	unwake(f)
	buf := make([]byte, 32<<10)
	for total := 0; total < maxRest; {
		n, again, err := readNow(f, buf)
		if n > 0 {
			take(buf[:n])
			total += n
		}
		if again || err != nil {
			return
		}
	}
}

// discard throws away what is in the pipe, without touching its deadlines, which may be meant for
// somebody else who is about to leave.
func discard(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		var buf [32 << 10]byte
		for total := 0; total < maxRest; {
			n, err := unix.Read(int(fd), buf[:])
			if n <= 0 && err != unix.EINTR {
				return
			}
			total += max(n, 0)
		}
	})
}
