//go:build unix

package keeper

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/internal/proc"
)

// socketFD is where the harness leaves its socket.
const socketFD = 3

// Main is the keeper's program:
//
//	keeper [--scratch DIR]
//
// The harness's socket is descriptor 3. Main returns when nothing that it started is left, and then 0. DIR is a temporary folder of the
// lab's; it is removed last, so that a killed harness leaves no files either.
//
// It must not use os/exec or os.Process: it waits for any child there is, adopted ones included, and would steal their statuses.
func Main(args []string) int {
	flags := flag.NewFlagSet("keeper", flag.ContinueOnError)
	scratch := flags.String("scratch", "", "temporary folder to remove at the end; its name must begin with "+ScratchPrefix)
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *scratch != "" && !strings.HasPrefix(filepath.Base(*scratch), ScratchPrefix) {
		fmt.Fprintf(os.Stderr, "keeper: %s is no scratch folder of unwedge\n", *scratch)
		return 2
	}
	unix.CloseOnExec(socketFD)
	f := os.NewFile(socketFD, "harness")
	c, err := net.FileConn(f)
	f.Close()
	conn, ok := c.(*net.UnixConn)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "keeper: no socket of a harness on descriptor 3; it is started by the harness only:", err)
		return 2
	}
	k := &keeping{conn: conn, started: map[int]bool{}}
	code := k.run()
	if *scratch != "" {
		_ = os.RemoveAll(*scratch) // nobody is left who could be told
	}
	return code
}

// keeping is the running keeper.
type keeping struct {
	conn *net.UnixConn

	mu      sync.Mutex // one start or one reaping at a time: an answer always precedes its exit note
	started map[int]bool
	ending  bool // nothing is started any more
}

func (k *keeping) run() int {
	// Signals are caught, not ignored: an ignored one would stay ignored in every program started from here.
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	if err := adoptOrphans(); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		return 1
	}
	defer k.killAll() // also on panic
	if err := send(k.conn, message{Hello: true}); err != nil {
		return 1
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		k.serve()
	}()
	for {
		select {
		case <-children:
			k.reap()
		case <-end: // somebody wants us gone, the machine's shutdown for instance: clean up first
			return 1
		case <-closed:
			return 0
		}
	}
}

// serve starts what the harness asks for until the socket closes.
func (k *keeping) serve() {
	for {
		m, files, err := receive(k.conn)
		if err != nil {
			return
		}
		if m.Spawn != nil {
			k.spawn(m, files)
		}
		closeAll(files)
	}
}

func (k *keeping) spawn(m message, files []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ending {
		return
	}
	answer := message{ID: m.ID}
	pid, err := start(m.Spawn, files)
	if err != nil {
		answer.Err = err.Error()
		var no syscall.Errno
		if errors.As(err, &no) {
			answer.Errno = int(no)
		}
	} else {
		k.started[pid] = true
		remember(pid)
		answer.Pid, answer.Start = pid, proc.StartTime(pid)
	}
	_ = send(k.conn, answer) // a harness that is gone is noticed by reading
}

func start(r *request, files []int) (pid int, err error) {
	if len(files) != stdFiles || len(r.Argv) == 0 {
		return 0, fmt.Errorf("%d descriptors, %d arguments: %w", len(files), len(r.Argv), syscall.EINVAL)
	}
	attr := syscall.ProcAttr{Dir: r.Dir, Env: r.Env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, fd := range files {
		// The harness's end may be non-blocking, as Go likes it; most programs do not expect that of their stdin.
		if err := unix.SetNonblock(fd, false); err != nil {
			return 0, err
		}
		attr.Files = append(attr.Files, uintptr(fd))
	}
	return syscall.ForkExec(r.Argv[0], r.Argv, &attr)
}

// reap takes all children that have ended; left says whether others are there.
func (k *keeping) reap() (left bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		}
		if k.started[pid] {
			delete(k.started, pid)
			_ = send(k.conn, message{Exit: &exit{Pid: pid, Status: int(ws)}})
		}
	}
}

const (
	killPause    = time.Millisecond       // between two looks; doubles
	killPauseMax = 100 * time.Millisecond // a process that hangs in the kernel is looked for at this pace
	killBound    = 5 * time.Minute        // then it is the kernel's
)

// killAll kills and reaps until nothing is left. One look is not enough: a process that forks meanwhile is missed by it.
func (k *keeping) killAll() {
	k.mu.Lock()
	k.ending = true
	k.mu.Unlock()
	defer func() { _ = k.conn.Close() }()
	deadline := time.Now().Add(killBound)
	for pause := killPause; time.Now().Before(deadline); pause = min(2*pause, killPauseMax) {
		killDescendants()
		if !k.reap() {
			return
		}
		time.Sleep(pause)
	}
}
