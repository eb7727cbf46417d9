//go:build unix && !linux

package keeper

import (
	"sync"
	"syscall"
)

// groups are the process groups of all that was ever started here: the leader may be dead and the group alive.
var groups struct {
	sync.Mutex
	ids []int
}

// adoptOrphans does nothing: there is no subreaper here. A process that leaves its group and its parent is lost.
func adoptOrphans() error { return nil }

func remember(pid int) {
	groups.Lock()
	defer groups.Unlock()
	groups.ids = append(groups.ids, pid)
}

func killDescendants() {
	groups.Lock()
	defer groups.Unlock()
	for _, id := range groups.ids {
		_ = syscall.Kill(-id, syscall.SIGKILL)
	}
}

// below lists what Spawn started and has not ended; their children cannot be known here.
func (k *Keeper) below() ([]Process, error) {
	var out []Process
	for _, p := range k.known() {
		out = append(out, Process{Pid: p.Pid, PPid: k.pid})
	}
	return out, nil
}

// known are the processes that Spawn started and that have not ended.
func (k *Keeper) known() []*Proc {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []*Proc
	for _, p := range k.procs {
		out = append(out, p)
	}
	return out
}

func (k *Keeper) orphaned(known []*Proc) {
	for _, p := range known {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}
