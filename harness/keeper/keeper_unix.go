//go:build unix

package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/internal/proc"
)

// Keeper is the harness's handle of a running keeper. It is safe for concurrent use.
type Keeper struct {
	conn   *net.UnixConn
	cmd    *exec.Cmd
	pid    int
	errOut *strings.Builder // the keeper's stderr; read it after dead is closed
	lost   chan struct{}    // the socket ended
	dead   chan struct{}    // the keeper's process was reaped
	hello  chan struct{}

	writing sync.Mutex // one frame at a time

	mu      sync.Mutex
	nextID  int64
	waiting map[int64]*pending
	procs   map[int]*Proc
	closing bool
}

// pending is a spawn that was asked for. When its caller gave up, the process is killed as soon as it is there.
type pending struct {
	answer chan message
	procs  chan *Proc
}

// Start starts a keeper: program is its command line, for instance {"/usr/bin/unwedge-helper", "keeper"}. ctx bounds the start only.
func Start(ctx context.Context, program []string) (*Keeper, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, fmt.Errorf("starting the keeper: %w", err)
	}
	k := &Keeper{
		conn: ours, errOut: &strings.Builder{},
		lost: make(chan struct{}), dead: make(chan struct{}), hello: make(chan struct{}),
		waiting: map[int64]*pending{}, procs: map[int]*Proc{},
	}
	k.cmd = exec.CommandContext(context.WithoutCancel(ctx), program[0], program[1:]...) // it ends with its socket
	k.cmd.Env = []string{}                                                              // it needs none, and it must not hold secrets
	k.cmd.ExtraFiles = []*os.File{theirs}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	k.cmd.Stderr = k.errOut
	err = k.cmd.Start()
	theirs.Close() // else the end of the keeper would not be seen
	if err != nil {
		_ = ours.Close()
		return nil, &StartError{Program: "the keeper", Err: err}
	}
	k.pid = k.cmd.Process.Pid
	go func() {
		_ = k.cmd.Wait() // its status says nothing that the socket does not
		close(k.dead)
	}()
	go k.read()
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	select {
	case <-k.hello:
		return k, nil
	case <-k.lost:
		err = k.goneError()
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = k.Close() // the reason it did not start says more
	return nil, &StartError{Program: "the keeper", Err: err}
}

func socketpair() (ours *net.UnixConn, theirs *os.File, err error) {
	// Under the lock no child can be forked between the two calls and inherit the harness's end, which would then never close.
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "keeper")
	defer f.Close()
	theirs = os.NewFile(uintptr(fds[1]), "keeper's end")
	c, err := net.FileConn(f)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// Pid is the keeper's own process id.
func (k *Keeper) Pid() int { return k.pid }

// Gone is closed when the keeper has ended, asked or not; nothing can be started any more.
func (k *Keeper) Gone() <-chan struct{} { return k.lost }

// Spawn starts a program in a session of its own. ctx bounds the start, not the program. Errors: *StartError when the program cannot be
// started, ErrGone, or ctx's own, after which the program does not run.
func (k *Keeper) Spawn(ctx context.Context, s Spec) (*Proc, error) {
	if len(s.Argv) == 0 {
		return nil, &StartError{Program: "nothing", Err: syscall.EINVAL}
	}
	path, err := exec.LookPath(s.Argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	argv := append([]string{path}, s.Argv[1:]...)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []*os.File{s.Stdin, s.Stdout, s.Stderr}
	for i, f := range files {
		if f == nil {
			files[i] = null
		}
	}
	env := s.Env
	if env == nil {
		env = []string{}
	}
	return k.request(ctx, &request{Argv: argv, Env: env, Dir: s.Dir}, files)
}

func (k *Keeper) request(ctx context.Context, r *request, files []*os.File) (*Proc, error) {
	w := &pending{answer: make(chan message, 1), procs: make(chan *Proc, 1)}
	k.mu.Lock()
	k.nextID++
	id := k.nextID
	k.waiting[id] = w
	k.mu.Unlock()
	if err := k.sendSpawn(id, r, files); err != nil {
		k.mu.Lock()
		delete(k.waiting, id)
		k.mu.Unlock()
		if errors.Is(err, errTooLong) {
			return nil, &StartError{Program: r.Argv[0], Err: err}
		}
		return nil, fmt.Errorf("starting %s: %w (%w)", r.Argv[0], ErrGone, err)
	}
	select {
	case m := <-w.answer:
		return k.started(r.Argv[0], m, w)
	case <-k.lost:
		return nil, fmt.Errorf("starting %s: %w", r.Argv[0], k.goneError())
	case <-ctx.Done():
	}
	k.mu.Lock()
	_, open := k.waiting[id]
	if open {
		k.waiting[id] = nil // it is killed when it comes
	}
	k.mu.Unlock()
	if !open { // it came just now
		if p, err := k.started(r.Argv[0], <-w.answer, w); err == nil {
			_ = p.Signal(syscall.SIGKILL)
		}
	}
	return nil, ctx.Err()
}

func (k *Keeper) started(program string, m message, w *pending) (*Proc, error) {
	if m.Err == "" {
		return <-w.procs, nil
	}
	err := errors.New(m.Err)
	if m.Errno != 0 {
		err = syscall.Errno(m.Errno)
	}
	return nil, &StartError{Program: program, Err: err}
}

// sendSpawn keeps the files' descriptors valid while they are on their way.
func (k *Keeper) sendSpawn(id int64, r *request, files []*os.File) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	return withFDs(files, nil, func(fds []int) error {
		return send(k.conn, message{ID: id, Spawn: r}, fds...)
	})
}

func withFDs(files []*os.File, fds []int, f func(fds []int) error) error {
	if len(files) == 0 {
		return f(fds)
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return err
	}
	inner := raw.Control(func(fd uintptr) {
		err = withFDs(files[1:], append(fds, int(fd)), f)
	})
	return errors.Join(inner, err)
}

// read delivers what the keeper says until its socket ends.
func (k *Keeper) read() {
	defer k.ended()
	for {
		m, files, err := receive(k.conn)
		closeAll(files)
		if err != nil {
			return
		}
		switch {
		case m.Hello:
			close(k.hello)
		case m.Exit != nil:
			k.exited(m.Exit)
		default:
			k.answered(m)
		}
	}
}

func (k *Keeper) answered(m message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, known := k.waiting[m.ID]
	delete(k.waiting, m.ID)
	if m.Err == "" {
		p := &Proc{Pid: m.Pid, Start: m.Start, k: k, done: make(chan struct{})}
		k.procs[m.Pid] = p
		if known && w != nil {
			w.procs <- p
		} else {
			_ = proc.Signal(p.Pid, p.Start, syscall.SIGKILL)
		}
	}
	if w != nil {
		w.answer <- m
	}
}

func (k *Keeper) exited(e *exit) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.procs[e.Pid]
	if p == nil {
		return
	}
	delete(k.procs, e.Pid)
	ws := syscall.WaitStatus(e.Status)
	p.status = Status{Code: ws.ExitStatus()}
	if ws.Signaled() {
		p.status.Signal = ws.Signal()
	}
	close(p.done)
}

// ended is the end of the socket: nobody will hear of the remaining processes any more. When the keeper died by itself what it
// left is killed here.
func (k *Keeper) ended() {
	k.mu.Lock()
	defer k.mu.Unlock()
	var left []*Proc
	for _, p := range k.procs {
		left = append(left, p)
	}
	if !k.closing {
		k.orphaned(left)
	}
	for _, p := range left {
		p.status = Status{Code: -1, Lost: true}
		close(p.done)
	}
	k.procs = map[int]*Proc{}
	close(k.lost)
}

// goneError is ErrGone with the keeper's last words.
func (k *Keeper) goneError() error {
	select {
	case <-k.dead:
		if s := strings.TrimSpace(k.errOut.String()); s != "" {
			return fmt.Errorf("%w: %s", ErrGone, s)
		}
		return fmt.Errorf("%w: %s", ErrGone, k.cmd.ProcessState)
	case <-time.After(time.Second): // the socket closes a moment before the process is reaped
		return ErrGone
	}
}

// Descendants lists all living processes below the keeper, parents first: the whole lab. On systems other than Linux only those
// that Spawn started.
func (k *Keeper) Descendants() ([]Process, error) { return k.below() }

// Signal sends a signal to the process named by pid and start, and to nothing else; ErrNotOurs when it is no living descendant.
func (k *Keeper) Signal(pid int, start uint64, sig syscall.Signal) error {
	below, err := k.below()
	if err != nil {
		return err
	}
	for _, p := range below {
		if p.Pid == pid && p.Start == start {
			err := proc.Signal(pid, start, sig)
			if errors.Is(err, proc.ErrGone) {
				break
			}
			return err
		}
	}
	return fmt.Errorf("signal %s to pid %d: %w", signalName(sig), pid, ErrNotOurs)
}

// Close kills everything that lives below the keeper and waits until nothing is left, at most 10 s; a *LeftError then names what is. It is
// harmless after the first time.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	_ = k.conn.CloseWrite() // the same end of file that the keeper sees when the harness dies
	select {
	case <-k.dead:
	case <-time.After(closeBound):
		left, _ := k.below()
		for _, p := range left {
			_ = proc.Signal(p.Pid, p.Start, syscall.SIGKILL)
		}
		_ = k.cmd.Process.Kill()
		<-k.dead
		_ = k.conn.Close()
		return &LeftError{Left: left}
	}
	_ = k.conn.Close()
	<-k.lost
	return nil
}
