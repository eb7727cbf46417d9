package keeper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Main is not needed here: there is no keeper process on Windows.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "keeper: not supported on this platform")
	return 2
}

// Keeper starts programs as children of the harness itself. What was started directly is killed by Close; after a kill of the
// harness it lives on.
type Keeper struct {
	mu    sync.Mutex
	procs map[int]*Proc
	cmds  map[int]*exec.Cmd
	gone  chan struct{}
	once  sync.Once
}

// Start needs no program here.
func Start(context.Context, []string) (*Keeper, error) {
	return &Keeper{procs: map[int]*Proc{}, cmds: map[int]*exec.Cmd{}, gone: make(chan struct{})}, nil
}

// Pid is the harness's own process id.
func (k *Keeper) Pid() int { return os.Getpid() }

// Gone is closed by Close.
func (k *Keeper) Gone() <-chan struct{} { return k.gone }

// Spawn starts a program.
func (k *Keeper) Spawn(_ context.Context, s Spec) (*Proc, error) {
	if len(s.Argv) == 0 {
		return nil, &StartError{Program: "nothing", Err: syscall.EINVAL}
	}
	c := exec.Command(s.Argv[0], s.Argv[1:]...)
	c.Env, c.Dir = append([]string{}, s.Env...), s.Dir
	// An interface that holds a nil *os.File is not nil.
	if s.Stdin != nil {
		c.Stdin = s.Stdin
	}
	if s.Stdout != nil {
		c.Stdout = s.Stdout
	}
	if s.Stderr != nil {
		c.Stderr = s.Stderr
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.gone:
		return nil, fmt.Errorf("starting %s: %w", s.Argv[0], ErrGone)
	default:
	}
	if err := c.Start(); err != nil {
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	p := &Proc{Pid: c.Process.Pid, k: k, done: make(chan struct{})}
	k.procs[p.Pid], k.cmds[p.Pid] = p, c
	go k.wait(p, c)
	return p, nil
}

func (k *Keeper) wait(p *Proc, c *exec.Cmd) {
	_ = c.Wait() // the status is read below
	k.mu.Lock()
	delete(k.procs, p.Pid)
	delete(k.cmds, p.Pid)
	k.mu.Unlock()
	p.status = Status{Code: c.ProcessState.ExitCode()}
	close(p.done)
}

// Descendants lists what Spawn started and has not ended.
func (k *Keeper) Descendants() ([]Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Process
	for pid, c := range k.cmds {
		out = append(out, Process{Pid: pid, PPid: os.Getpid(), Cmdline: c.Args})
	}
	return out, nil
}

// Signal can only kill here, and only what Spawn started.
func (k *Keeper) Signal(pid int, _ uint64, sig syscall.Signal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.cmds[pid]
	if c == nil {
		return fmt.Errorf("signal to pid %d: %w", pid, ErrNotOurs)
	}
	return c.Process.Signal(sig)
}

// Close kills what Spawn started and waits for it.
func (k *Keeper) Close() error {
	k.once.Do(func() { close(k.gone) })
	k.mu.Lock()
	var procs []*Proc
	for pid, c := range k.cmds {
		_ = c.Process.Kill() // it may have ended
		procs = append(procs, k.procs[pid])
	}
	k.mu.Unlock()
	for _, p := range procs {
		<-p.Done()
	}
	return nil
}

func signalName(s syscall.Signal) string { return s.String() }
