package faults

import (
	"context"
	"fmt"
	"sync"
)

// Guard walks one fault on one site through its life and refuses every other order:
//
//	         Inject            Observed            Lift             Lifted
//	[fresh] -------> [injected] -------> [observed] -----> [lifting] -------> [lifted]
//	   |                 |                             ^       |                 |
//	   | failed          | failed                      |       +---- failed -----+
//	   v                 v                             |                |
//	[unsure]          [unseen]                         |                v
//	   +-----------------+---------- Lift -------------+             [stuck]
//
// An injection that failed may have happened by half, and one that was not seen may still come, so both can (and should) be
// lifted; neither proves anything about the target. Every step runs at most once, whatever it returned. A Lift or Lifted that
// failed ends in [stuck]: the world is not known to be healthy again.
//
// A Guard is safe for concurrent use: a step that begins while another runs is refused, not queued.
type Guard struct {
	fault Fault
	site  Site

	mu    sync.Mutex
	state State
	busy  string // the step that runs now, or ""
}

// State is where a Guard stands.
type State string

const (
	Fresh    State = "fresh"
	Injected State = "injected"
	Unsure   State = "unsure" // the injection failed
	Observed State = "observed"
	Unseen   State = "unseen" // it was injected and not seen to take effect
	Lifting  State = "lifting"
	Stuck    State = "stuck" // it could not be lifted
	Lifted   State = "lifted"
)

// OrderError says that a step was asked for where it may not come.
type OrderError struct {
	Fault, Server string
	Step          string // "inject", "observed", "lift", "lifted"
	State         State
	Busy          string // the step that was running, if that was the reason
}

func (e *OrderError) Error() string {
	if e.Busy != "" {
		return fmt.Sprintf("fault %s on %s: %s while %s still runs", e.Fault, e.Server, e.Step, e.Busy)
	}
	return fmt.Sprintf("fault %s on %s: no %s in state %s", e.Fault, e.Server, e.Step, e.State)
}

// StepError says that a step of a fault failed.
type StepError struct {
	Fault, Server string
	Step          string // as in OrderError
	Err           error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("fault %s on %s: %s: %v", e.Fault, e.Server, e.Step, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// NewGuard returns a fresh guard.
func NewGuard(f Fault, s Site) *Guard { return &Guard{fault: f, site: s, state: Fresh} }

// What describes the fault.
func (g *Guard) What() Info { return g.fault.What() }

// Server is the name of the site's server.
func (g *Guard) Server() string { return g.site.Server() }

// State is where the guard stands; while a step runs it is the state before it.
func (g *Guard) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// On reports whether the fault is, or may be, in force: something must lift it.
func (g *Guard) On() bool {
	switch g.State() {
	case Injected, Unsure, Observed, Unseen:
		return true
	}
	return false
}

// Inject turns the fault on.
func (g *Guard) Inject(ctx context.Context) error {
	return g.step("inject", Injected, Unsure, func() error {
		return g.fault.Inject(ctx, g.site)
	}, Fresh)
}

// Observed waits until it has taken effect and returns the evidence.
func (g *Guard) Observed(ctx context.Context) (evidence string, err error) {
	err = g.step("observed", Observed, Unseen, func() (err error) {
		evidence, err = g.fault.Observed(ctx, g.site)
		return err
	}, Injected)
	return evidence, err
}

// Lift turns it off.
func (g *Guard) Lift(ctx context.Context) error {
	return g.step("lift", Lifting, Stuck, func() error {
		return g.fault.Lift(ctx, g.site)
	}, Observed, Unseen, Unsure)
}

// Lifted waits until it is certainly off.
func (g *Guard) Lifted(ctx context.Context) error {
	return g.step("lifted", Lifted, Stuck, func() error {
		return g.fault.Lifted(ctx, g.site)
	}, Lifting)
}

// step runs do if the state is one of from, and moves to good or bad by its result.
func (g *Guard) step(name string, good, bad State, do func() error, from ...State) error {
	if err := g.enter(name, from); err != nil {
		return err
	}
	next := bad // also when do panics: nothing is proved then
	defer func() {
		g.mu.Lock()
		g.state, g.busy = next, ""
		g.mu.Unlock()
	}()
	if err := do(); err != nil {
		return &StepError{Fault: g.What().ID, Server: g.Server(), Step: name, Err: err}
	}
	next = good
	return nil
}

func (g *Guard) enter(name string, from []State) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	bad := &OrderError{Fault: g.What().ID, Server: g.Server(), Step: name, State: g.state}
	if g.busy != "" {
		bad.Busy = g.busy
		return bad
	}
	for _, s := range from {
		if g.state == s {
			g.busy = name
			return nil
		}
	}
	return bad
}
