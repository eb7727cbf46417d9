package faults

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/internal/proc"
)

// What several faults do in the same way. Most of them are rules that sleep in the server's script until the phase is "fault"; every such
// rule carries its fault's id as its name, so that the journal says when it acted.

// phaseOn wakes the fault's rules; it returns when every live process acts on them.
func phaseOn(ctx context.Context, s Site) error { return s.SetPhase(ctx, script.Faulty) }

// phaseOff puts them to sleep; it returns when every live process acts healthy again or is dead. So Lifted has nothing left to
// wait for.
func phaseOff(ctx context.Context, s Site) error { return s.SetPhase(ctx, script.Healed) }

// replaceServing wakes the rules, then kills the life that serves, for faults that meet a life at its start. In this order no
// life slips in between that would be healthy.
func replaceServing(ctx context.Context, s Site) error {
	if err := phaseOn(ctx, s); err != nil {
		return err
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return signal(s, p, os.Kill)
}

// signal sends sig to p. A process that is dead already is as good: what the fault wanted of it has happened.
func signal(s Site, p Process, sig os.Signal) error {
	if sig == nil {
		return fmt.Errorf("stopping a process: %w", errors.ErrUnsupported)
	}
	if err := s.Signal(p, sig); err != nil && !gone(err) {
		return err
	}
	return nil
}

// gone reports whether err says that the process is dead.
func gone(err error) bool { return errors.Is(err, os.ErrProcessDone) || errors.Is(err, proc.ErrGone) }

// ruleFired waits until a rule called name acted and returns that entry.
func ruleFired(ctx context.Context, s Site, name string) (journal.Entry, error) {
	return s.AwaitEntry(ctx, func(e journal.Entry) bool {
		return e.Kind == journal.Rule && e.Rule == name
	})
}

// ruleFiredAndGone waits until a rule called name acted and the life it acted in is dead.
func ruleFiredAndGone(ctx context.Context, s Site, name string) (journal.Entry, error) {
	e, err := ruleFired(ctx, s, name)
	if err != nil {
		return e, err
	}
	return e, s.AwaitGone(ctx, lifeOf(e))
}

// lifeOf is the process that wrote e.
func lifeOf(e journal.Entry) Process { return Process{Pid: e.Pid, Start: e.Start, Life: e.Life} }

// String names a process in evidence.
func (p Process) String() string { return fmt.Sprintf("life %d (pid %d)", p.Life, p.Pid) }

// inCall names the call that a rule met, in evidence.
func inCall(e journal.Entry) string {
	if e.Tool == "" {
		return e.Method
	}
	return e.Method + " of " + e.Tool
}
