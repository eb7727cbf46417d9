//go:build unix

package stdio

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const stdin = 0

// source reads descriptor 0.
type source struct {
	stop  atomic.Bool
	mu    sync.Mutex // held while descriptor 0 is waited for or read
	wake  [2]*os.File
	chunk []byte
}

func newSource() *source {
	s := &source{chunk: make([]byte, readChunk)}
	r, w, err := os.Pipe()
	if err != nil {
		panic("no pipe for waking the reader: " + err.Error())
	}
	s.wake = [2]*os.File{r, w}
	return s
}

func (s *source) stopped() bool { return s.stop.Load() }

// read returns what there is, at least one byte.
func (s *source) read() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fds := []unix.PollFd{
		{Fd: stdin, Events: unix.POLLIN},
		{Fd: int32(s.wake[0].Fd()), Events: unix.POLLIN},
	}
	for {
		if s.stop.Load() {
			return nil, errLetGo
		}
		if _, err := unix.Poll(fds, -1); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
				continue
			}
			return nil, err
		}
		if fds[0].Revents == 0 {
			continue // woken
		}
		n, err := unix.Read(stdin, s.chunk)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		default:
			return s.chunk[:n], nil
		}
	}
}

// letGo stops the reader for good and returns when nobody touches descriptor 0 any more.
func (s *source) letGo() {
	s.stop.Store(true)
	_, _ = s.wake[1].Write([]byte{0})
	s.mu.Lock()
	defer s.mu.Unlock()
}

// close stops the reader and closes the descriptor: a writer gets EPIPE from now on, unless someone else holds it too.
func (s *source) close() {
	s.letGo()
	// Something must stand in for descriptor 0, lest the next file that is opened becomes our stdin.
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(stdin)
		return
	}
	_ = dup2(null, stdin)
	_ = unix.Close(null)
}

// hangup waits until every writer of descriptor 0 has closed it, without reading a byte.
func hangup() {
	for {
		fds := []unix.PollFd{{Fd: stdin}}
		n, err := unix.Poll(fds, -1)
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) || err == nil && n > 0 {
			return
		}
	}
}
