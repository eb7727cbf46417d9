package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
)

// fakeSite is a site in memory: it writes down what a fault asks of it and answers waits from what the test has put there.
type fakeSite struct {
	mu      sync.Mutex
	did     []string // "phase fault", "signal killed to life 1", ...
	entries []journal.Entry
	gone    map[int]bool
	stopped map[int]bool
	wire    faults.Wire
	fail    error // what every doing method returns
}

// errNever stands for a wait that the test has not provided for: the real one would run into its deadline.
var errNever = errors.New("it never happened")

var life1 = faults.Process{Pid: 4711, Start: 1, Life: 1}

func newFakeSite() *fakeSite {
	return &fakeSite{gone: map[int]bool{}, stopped: map[int]bool{}}
}

func (s *fakeSite) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, fmt.Sprintf(format, args...))
	return s.fail
}

func (s *fakeSite) Server() string                                  { return "srv" }
func (s *fakeSite) Serving(context.Context) (faults.Process, error) { return life1, nil }
func (s *fakeSite) Latest() (faults.Process, error)                 { return life1, nil }
func (s *fakeSite) Wire() faults.Wire                               { return s.wire }

func (s *fakeSite) SetPhase(_ context.Context, p script.Phase) error { return s.note("phase %s", p) }

func (s *fakeSite) Do(_ context.Context, a script.Action) error {
	if a.Exit != nil {
		s.gone[life1.Life] = true
		s.entries = append(s.entries, journal.Entry{Kind: journal.Exit, Life: life1.Life, Code: *a.Exit})
	}
	s.entries = append(s.entries, journal.Entry{Kind: journal.Ack, Life: life1.Life, Detail: a.String()})
	return s.note("do %s", a)
}

func (s *fakeSite) Signal(p faults.Process, sig os.Signal) error {
	if sig == os.Kill {
		s.gone[p.Life] = true
	}
	s.stopped[p.Life] = sig.String() == "stopped (signal)"
	return s.note("signal %s to life %d", sig, p.Life)
}

func (s *fakeSite) AwaitGone(_ context.Context, p faults.Process) error {
	if !s.gone[p.Life] {
		return errNever
	}
	return nil
}

func (s *fakeSite) AwaitStopped(_ context.Context, p faults.Process) error {
	if !s.stopped[p.Life] {
		return errNever
	}
	return nil
}

func (s *fakeSite) AwaitRunning(_ context.Context, p faults.Process) error {
	if s.gone[p.Life] {
		return os.ErrProcessDone
	}
	if s.stopped[p.Life] {
		return errNever
	}
	return nil
}

func (s *fakeSite) AwaitEntry(_ context.Context, match func(journal.Entry) bool) (journal.Entry, error) {
	for _, e := range s.entries {
		if match(e) {
			return e, nil
		}
	}
	return journal.Entry{}, errNever
}

// fakeWire is a wire in memory.
type fakeWire struct{ site *fakeSite }

func (w fakeWire) Vanish(context.Context) error { return w.site.note("vanish") }
func (w fakeWire) AddToxic(context.Context, string, string, map[string]any) error {
	return w.site.note("toxic")
}
func (w fakeWire) Down(context.Context) error { return w.site.note("down") }
func (w fakeWire) Up(context.Context) error   { return w.site.note("up") }
func (w fakeWire) Heal(context.Context) error { return w.site.note("heal") }
