//go:build unix

package stdio

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/proc"
)

// Descriptors that a holder inherits.
const (
	heldStdin = 3
	fakeAlive = 4
)

// holdPipes leaves a grandchild behind that keeps stdout and stderr open.
func (f *fake) holdPipes(d time.Duration) child {
	return f.spawn([]*os.File{nil, os.Stdout, os.Stderr}, SleeperVerb, "--for", d.String())
}

// holdStdin leaves a child behind that keeps the read end of stdin open.
func (f *fake) holdStdin() child {
	life, err := json.Marshal(f.ident)
	if err != nil {
		return child{err: err}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return child{err: err}
	}
	defer r.Close()
	f.keep(w) // closed by our death and by nothing else
	return f.spawn([]*os.File{nil, nil, nil, os.Stdin, r},
		HolderVerb, "--journal", f.dir.JournalPath(), "--life", string(life))
}

// spawn starts this program again with a helper verb, in a session of its own. nil files are the null device.
func (f *fake) spawn(files []*os.File, verb string, args ...string) child {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return child{err: err}
	}
	defer null.Close()
	for i := range files {
		if files[i] == nil {
			files[i] = null
		}
	}
	self, err := executable()
	if err != nil {
		return child{err: err}
	}
	argv := append([]string{os.Args[0]}, f.prog.Prefix...)
	argv = append(append(argv, verb), args...)
	p, err := os.StartProcess(self, argv, &os.ProcAttr{Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return child{err: err}
	}
	c := child{pid: p.Pid, start: proc.StartTime(p.Pid)}
	go func() { _, _ = p.Wait() }() // no zombie while we live
	return c
}

// executable is this program's own file; on Linux also after it was replaced.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// hold waits for the fake's death, then reads and journals.
func hold(log *journal.Writer) error {
	if err := awaitClosed(fakeAlive); err != nil {
		return err
	}
	end := time.Now().Add(holderLimit)
	if n, err := unix.IoctlGetInt(heldStdin, fionread); err == nil && n > 0 {
		if err := drainUnread(log, n); err != nil {
			return err
		}
	}
	buf := make([]byte, readChunk)
	for {
		n, err := readBefore(heldStdin, buf, end)
		if err != nil || n == 0 {
			return err
		}
		if err := log.Write(journal.Entry{Kind: journal.Late, Bytes: n}); err != nil {
			return err
		}
	}
}

// drainUnread takes what lay in the pipe when the fake died.
func drainUnread(log *journal.Writer, n int) error {
	buf := make([]byte, n)
	for got := 0; got < n; {
		m, err := unix.Read(heldStdin, buf[got:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			n = got
			break
		}
		got += m
	}
	return log.Write(journal.Entry{Kind: journal.Late, Bytes: n, Detail: journal.LateUnread})
}

// awaitClosed waits until a pipe's last writer is gone.
func awaitClosed(fd int) error {
	var b [1]byte
	for {
		n, err := unix.Read(fd, b[:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err == nil && n == 0 {
			return nil
		}
	}
}

// readBefore reads what comes; 0 is end of file, or the time is over.
func readBefore(fd int, buf []byte, end time.Time) (int, error) {
	for {
		left := time.Until(end)
		if left <= 0 {
			return 0, nil
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		ready, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err == nil && ready > 0 {
			var n int
			if n, err = unix.Read(fd, buf); err == nil {
				return max(n, 0), nil
			}
		}
		if err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return 0, err
		}
	}
}
