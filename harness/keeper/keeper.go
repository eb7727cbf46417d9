// Package keeper is the small process that is the ancestor of all that one lab starts, and ends it whatever happens to the harness.
//
// The harness starts a keeper in a session of its own and talks to it over one socket. Everything else is started by the
// keeper, each process in a session of its own. When the socket closes, for whatever reason (Close, a panic, kill -9 of the harness),
// the keeper kills every descendant, stopped ones, re-parented ones and those in sessions of their own included, reaps them, and ends.
//
//	harness --socket-- keeper --+-- target --+-- stdio fake
//	                            |            +-- (whatever else the target starts)
//	                            +-- HTTP fake
//	                            +-- proxy
//
// On Linux the keeper is a subreaper, so ownership by ancestry is exact. On other Unix systems it knows the processes it
// started and their process groups, no more; on Windows there is no keeper process, and only what was started directly is killed by
// Close. Only the standard library, golang.org/x/sys and internal/proc are imported: the program must start fast.
//
// Main is the program; Start, Spawn and Close are the harness's side. Newcomers mostly change Spec.
package keeper

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrGone says that the keeper ended before it was asked to. What it had started is killed as far as it is known.
var ErrGone = errors.New("the keeper is gone")

// ErrNotOurs says that a process does not descend from this keeper, or does not live any more. It was not signalled.
var ErrNotOurs = errors.New("no live process of this lab")

// ScratchPrefix begins the name of every folder that a keeper may remove.
const ScratchPrefix = "unwedge-"

const (
	// closeBound is how long Close waits for a clean end. Killing is a matter of milliseconds; a process that takes longer hangs in
	// the kernel.
	closeBound = 10 * time.Second
	// startBound is how long a keeper may take to say hello; it takes milliseconds.
	startBound = 20 * time.Second
)

// StartError says that a program could not be started.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("starting %s: %v", e.Program, e.Err) }

// Unwrap returns the cause, usually a syscall.Errno.
func (e *StartError) Unwrap() error { return e.Err }

// LeftError says that Close gave up waiting; these processes were still there.
type LeftError struct{ Left []Process }

func (e *LeftError) Error() string {
	return fmt.Sprintf("%d processes of the lab are alive %v after they were killed: %v", len(e.Left), closeBound, e.Left)
}

// Spec is one program to start.
type Spec struct {
	// Argv is the program and its arguments. A name without a slash is looked up in the harness's PATH.
	Argv []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory; empty is the harness's.
	Dir string
	// Stdin, Stdout and Stderr become the program's; nil is the null device. They stay the caller's to close, which it may do as
	// soon as Spawn has returned.
	Stdin, Stdout, Stderr *os.File
}

// Status is how a process ended.
type Status struct {
	Code   int            // exit code, -1 when a signal ended it or nobody knows
	Signal syscall.Signal // 0 when it exited by itself
	Lost   bool           // the keeper ended first, so nobody knows
}

// String is "exit status 1", "killed by SIGKILL", or "unknown (the keeper is gone)".
func (s Status) String() string {
	switch {
	case s.Lost:
		return "unknown (the keeper is gone)"
	case s.Signal != 0:
		return "killed by " + signalName(s.Signal)
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// Process is one living descendant of the keeper.
type Process struct {
	Pid, PPid int
	// Start is the start time in clock ticks since boot; Pid and Start together name one process. 0 where unknown.
	Start uint64
	// State is the kernel's letter, 0 where unknown.
	State   byte
	Cmdline []string
}

// String is "pid 42 (sleep 600)".
func (p Process) String() string { return fmt.Sprintf("pid %d %q", p.Pid, p.Cmdline) }

// Proc is a program that Spawn started. Its methods are safe for concurrent use.
type Proc struct {
	Pid   int
	Start uint64 // see Process

	k      *Keeper
	done   chan struct{}
	status Status // set before done is closed
}

// Done is closed when the process has ended and was reaped.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Status is how it ended; meaningful once Done is closed.
func (p *Proc) Status() Status {
	select {
	case <-p.done:
		return p.status
	default:
		return Status{Code: -1}
	}
}

// Signal sends a signal to this very process; ErrNotOurs when it has ended.
func (p *Proc) Signal(sig syscall.Signal) error { return p.k.Signal(p.Pid, p.Start, sig) }
