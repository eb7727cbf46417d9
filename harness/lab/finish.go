package lab

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/internal/proc"
)

const (
	// closeUndeclared is how long an orderly close is waited for when the target declares no grace, and closeExtra what is added to a
	// declared one: past its bound a close is a finding, but how late it was is worth knowing.
	closeUndeclared = 15 * time.Second
	closeExtra      = 5 * time.Second
	// leftoverGrace is what processes of the target's may take to end after it, on a quiet machine.
	leftoverGrace = time.Second
	// killWait is how long killed processes may take to be gone.
	killWait = 10 * time.Second
)

// finish closes the target and looks for what it left behind.
func (l *lab) finish(ctx context.Context) {
	if l.session() == nil || ctx.Err() != nil {
		return
	}
	if l.stopTarget(ctx) {
		l.leftovers(ctx, false)
	}
}

// stopTarget closes the target in order, else by force; then everything of it is killed. orderly is false when force was needed or
// it was gone before.
func (l *lab) stopTarget(ctx context.Context) (orderly bool) {
	r := l.current.Swap(nil)
	if r == nil {
		return false
	}
	gone := false
	select {
	case <-r.Exited():
		gone = true
	default:
	}
	if !gone { // else its exit was its own
		r.ending.Store(true)
		orderly = l.closeInOrder(ctx, r)
	}
	if !orderly {
		l.killTargets(ctx)
	}
	return orderly
}

func (l *lab) closeInOrder(ctx context.Context, r *running) bool {
	bounded, cancel := context.WithTimeout(ctx, l.closeBound())
	defer cancel()
	begun := now()
	err := r.Close(bounded)
	at := now()
	if ctx.Err() != nil {
		return false
	}
	ended := false
	select {
	case <-r.Exited():
		ended = true
	default:
	}
	e := history.Event{T: at, Kind: history.CloseEnd, OK: ended, D: int64(at.Sub(begun))}
	if err != nil {
		e.Err = clipError(err)
	}
	l.rec.add(e)
	return ended
}

// closeBound is how long an orderly close is waited for.
func (l *lab) closeBound() time.Duration {
	if d := budget.Stop(l.profile, l.slack()); d > 0 {
		return d + closeExtra
	}
	return closeUndeclared
}

// strangers are the living processes of this lab that the lab has not started itself: the target's, whoever their parent is now.
func (l *lab) strangers() []keeper.Process {
	all, err := l.keeper.Descendants()
	if err != nil {
		return nil
	}
	own := map[int]bool{}
	var out []keeper.Process
	for _, p := range all { // parents come first
		start, ours := l.ours.Load(p.Pid)
		if own[p.PPid] || ours && start == p.Start {
			own[p.Pid] = true
			continue
		}
		out = append(out, p)
	}
	return out
}

// leftovers waits a moment for the target's processes to end, and records those that do not. excused ones are not held against it.
func (l *lab) leftovers(ctx context.Context, excused bool) {
	instruments := l.instruments()
	deadline := time.Now().Add(l.stretched(leftoverGrace))
	for {
		left := l.strangers()
		accused := 0
		for _, p := range left {
			if !instruments[p.Pid] {
				accused++
			}
		}
		if accused > 0 && time.Now().Before(deadline) && wait(ctx, nil, budget.Poll/5) {
			continue
		}
		for _, p := range left {
			l.rec.add(history.Event{
				Kind: history.Leftover, Pid: p.Pid, Detail: clip(strings.Join(p.Cmdline, " ")), Expected: excused || instruments[p.Pid],
			})
		}
		return
	}
}

// instruments are processes that fakes started for the harness's sake, in sessions of their own, so that no target can be expected to
// find and end them.
func (l *lab) instruments() map[int]bool {
	out := map[int]bool{}
	for _, s := range l.servers {
		entries, err := journal.Read(s.dir.JournalPath())
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Kind != journal.Child {
				continue
			}
			if i, err := proc.Read(e.Child); err == nil && i.Session == e.Child {
				out[e.Child] = true
			}
		}
	}
	return out
}

// killTargets kills what the target and its fakes are, and waits until it is gone.
func (l *lab) killTargets(ctx context.Context) {
	deadline := time.Now().Add(killWait)
	for left := l.strangers(); len(left) > 0 && time.Now().Before(deadline); left = l.strangers() {
		for _, p := range left {
			_ = l.keeper.Signal(p.Pid, p.Start, syscall.SIGKILL) // it may have ended meanwhile
		}
		if !wait(ctx, nil, siteLook) {
			return
		}
	}
}

// mergeJournals puts what the fakes saw into the history.
func (l *lab) mergeJournals() {
	for _, s := range l.servers {
		for _, path := range []string{s.dir.JournalPath(), s.control.JournalPath()} {
			entries, err := journal.Read(path)
			for _, e := range entries {
				l.rec.add(history.Event{T: e.T, Kind: history.Journal, Server: e.Server, Entry: &e})
			}
			if err != nil {
				l.rec.add(history.Event{Kind: history.FaultError, Server: s.name, Detail: err.Error()})
			}
		}
	}
}

// toolsOf are the tools that a server of the scenario serves.
func (l *lab) toolsOf(name string) []string {
	s := l.serverNamed(name)
	if s == nil {
		return nil
	}
	if changed, ok := s.dir.Tools(); ok {
		return changed
	}
	return tools.Start(l.plan.Scenario.Servers[name].Script.Tools)
}
