package keeper

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/unwedge/unwedge/internal/proc"
)

// adoptOrphans makes every descendant whose parent dies a child of ours, however it daemonised.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the subreaper: %w", err)
	}
	return nil
}

// remember is not needed where ancestry is known.
func remember(int) {}

// killDescendants sends SIGKILL to all that live. It ends stopped ones too.
func killDescendants() {
	below, err := proc.Descendants(os.Getpid())
	if err != nil {
		return
	}
	for _, i := range below {
		if !i.Dead() {
			_ = proc.Signal(i.Pid, i.Start, syscall.SIGKILL)
		}
	}
}

// below lists the living descendants of a keeper.
func (k *Keeper) below() ([]Process, error) {
	infos, err := proc.Descendants(k.pid)
	if err != nil {
		return nil, fmt.Errorf("listing descendants: %w", err)
	}
	var out []Process
	for _, i := range infos {
		if i.Dead() {
			continue
		}
		args, err := proc.Cmdline(i.Pid)
		if err != nil {
			continue // it has ended meanwhile
		}
		out = append(out, Process{Pid: i.Pid, PPid: i.PPid, Start: i.Start, State: i.State, Cmdline: args})
	}
	return out, nil
}

// orphaned kills what a dead keeper left behind: the processes it started and all in their sessions. What made a session of
// its own is not found any more.
func (k *Keeper) orphaned(known []*Proc) {
	sessions := map[int]bool{}
	for _, p := range known {
		sessions[p.Pid] = true
		_ = proc.Signal(p.Pid, p.Start, syscall.SIGKILL)
	}
	all, err := proc.List()
	if err != nil {
		return
	}
	for _, i := range all {
		if sessions[i.Session] && !i.Dead() {
			_ = proc.Signal(i.Pid, i.Start, syscall.SIGKILL)
		}
	}
}
