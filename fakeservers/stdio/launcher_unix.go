//go:build unix

package stdio

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// signalledBase is what shells add to a signal's number to make an exit status of it.
const signalledBase = 128

func launch(kind string, argv []string) (code int, err error) {
	attr := &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	if kind == script.Container {
		ours, theirs, err := socketpair()
		if err != nil {
			return 0, err
		}
		// The server holds our end too, as the daemon does: our death alone must not end its stdin. Only shutdown does, however
		// many hold it.
		attr.Files = append(attr.Files, ours)
		attr.Files[0] = theirs
		attr.Sys = &syscall.SysProcAttr{Setsid: true}
		defer theirs.Close()
		go carry(ours)
	}
	p, err := os.StartProcess(argv[0], argv, attr)
	if err != nil {
		return 0, err
	}
	s, err := p.Wait()
	if err != nil {
		return 0, err
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return signalledBase + int(w.Signal()), nil
	}
	return s.ExitCode(), nil
}

// carry hands our stdin on, and its end.
func carry(to *os.File) {
	_, _ = io.Copy(to, os.Stdin) // a server that is gone ends it, and our exit follows
	_ = unix.Shutdown(int(to.Fd()), unix.SHUT_WR)
}

func socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "stdin"), os.NewFile(uintptr(fds[1]), "stdin"), nil
}

// killLauncher kills the launcher of this life; a parent that is none is left alone.
func (f *fake) killLauncher() {
	if pid := f.prog.launcher; pid > 1 && os.Getppid() == pid {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}
