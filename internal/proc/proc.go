// Package proc looks at other processes of this machine, and signals them without ever hitting a stranger: a process is
// named by its pid together with its start time, since pids are reused.
//
// Linux is home: everything is read from /proc and signals go through a pidfd. On other systems what cannot be known is
// said so (ErrUnsupported, a zero start time), never guessed. It imports the standard library and golang.org/x/sys only.
package proc

import (
	"errors"
)

// ErrGone says that the named process does not exist any more (or that its pid now belongs to another one).
var ErrGone = errors.New("the process is gone")

// ErrUnsupported says that this platform offers no way to find out.
var ErrUnsupported = errors.New("not supported on this platform")

// Info is what the kernel says about one process.
type Info struct {
	Pid     int
	PPid    int
	Pgrp    int
	Session int
	// Start is the start time in clock ticks since boot. Pid and Start together name one process.
	Start uint64
	// State is the kernel's letter: 'R', 'S', 'D', 'T' (stopped), 't' (traced), 'Z' (zombie), 'X' (dead) ...
	State byte
	// Comm is the short name, at most 15 bytes.
	Comm string
}

// Dead says whether the process has ended: gone from the table is for the caller to know, zombies and dead ones count here.
func (i Info) Dead() bool { return i.State == 'Z' || i.State == 'X' || i.State == 'x' }

// Stopped says whether the process is stopped by a signal or by a tracer.
func (i Info) Stopped() bool { return i.State == 'T' || i.State == 't' }

// StartTime returns the start time of pid in clock ticks since boot, 0 when there is no such process or no way to know.
func StartTime(pid int) uint64 {
	i, err := Read(pid)
	if err != nil {
		return 0
	}
	return i.Start
}

// State returns the kernel's state letter, 0 when there is no such process or no way to know.
func State(pid int) byte {
	i, err := Read(pid)
	if err != nil {
		return 0
	}
	return i.State
}

// Alive reports whether the process named by pid and start runs or could run again. A zombie is dead; a stopped process
// is alive. start 0 (unknown) matches whatever process has the pid.
func Alive(pid int, start uint64) bool { return alive(pid, start) }

// Children returns the pids whose parent is pid now. A child whose parent died belongs to its new parent.
func Children(pid int) ([]int, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, i := range all {
		if i.PPid == pid {
			out = append(out, i.Pid)
		}
	}
	return out, nil
}

// Descendants returns everything below pid, parents before their children, pid itself not included. It is one look at a
// moving picture: a process that forks meanwhile may be missed, so whoever wants all of them gone looks again.
func Descendants(pid int) ([]Info, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	return descend(all, pid), nil
}

func descend(all []Info, root int) []Info {
	children := map[int][]Info{}
	for _, i := range all {
		children[i.PPid] = append(children[i.PPid], i)
	}
	var out []Info
	seen := map[int]bool{root: true}
	queue := []int{root}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, c := range children[parent] {
			if !seen[c.Pid] {
				seen[c.Pid] = true
				out = append(out, c)
				queue = append(queue, c.Pid)
			}
		}
	}
	return out
}
