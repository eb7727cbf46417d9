package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

// faultBound is how long one step of a fault may take, on a quiet machine. What cannot be seen to have taken effect by then proves
// nothing about the target.
const faultBound = 10 * time.Second

// injection is one fault on one server while it is on.
type injection struct {
	*faults.Guard
	id       string
	observed chan struct{} // closed when it was seen, or never will be
	giveUp   context.CancelFunc
	err      error // of observing; set before observed is closed
}

// inject turns the step's fault on, and has it watched for from that moment, so that the history knows when it took effect and not
// only when somebody asked.
func (l *lab) inject(ctx context.Context, in scenario.Injection) error {
	s := l.serverNamed(in.Server)
	begun := now()
	g := faults.NewGuard(in.Fault, &site{lab: l, server: s, since: begun})
	i := &injection{Guard: g, id: in.Fault.What().ID, observed: make(chan struct{})}
	l.on = append(l.on, i)
	bounded, cancel := context.WithTimeout(ctx, l.stretched(faultBound))
	defer cancel()
	if err := i.Inject(bounded); err != nil {
		close(i.observed)
		i.giveUp = func() {}
		return l.faultFailed(ctx, i, err)
	}
	// Whatever follows from the injection comes after its beginning.
	l.rec.add(history.Event{T: begun, Kind: history.Inject, Fault: i.id, Server: in.Server})
	var watching context.Context
	watching, i.giveUp = context.WithCancel(ctx)
	l.background.Go(func() {
		defer close(i.observed)
		evidence, err := i.Observed(watching)
		if err != nil {
			i.err = err
			return
		}
		l.rec.add(history.Event{Kind: history.Observed, Fault: i.id, Server: in.Server, Detail: evidence})
	})
	return nil
}

// awaitObserved waits, within a bound, until the fault has taken effect.
func (l *lab) awaitObserved(ctx context.Context, i *injection) error {
	t := time.NewTimer(l.stretched(faultBound))
	defer t.Stop()
	select {
	case <-i.observed:
	case <-t.C:
		i.giveUp()
		<-i.observed
		if i.err != nil {
			return l.faultFailed(ctx, i, fmt.Errorf("not seen to take effect within %v", l.stretched(faultBound)))
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	if i.err != nil {
		return l.faultFailed(ctx, i, i.err)
	}
	return nil
}

// lift turns a fault off, once it has been seen, and waits until it is certainly off.
func (l *lab) lift(ctx context.Context, i *injection) error {
	if !i.On() {
		return nil
	}
	seen := l.awaitObserved(ctx, i)
	bounded, cancel := context.WithTimeout(ctx, l.stretched(faultBound))
	defer cancel()
	if err := i.Lift(bounded); err != nil {
		return errors.Join(seen, l.faultFailed(ctx, i, err))
	}
	l.rec.add(history.Event{Kind: history.Lift, Fault: i.id, Server: i.Server()})
	if err := i.Lifted(bounded); err != nil {
		return errors.Join(seen, l.faultFailed(ctx, i, err))
	}
	at := l.rec.add(history.Event{Kind: history.Lifted, Fault: i.id, Server: i.Server()})
	l.liftedAt[i.Server()] = at
	return seen
}

// faultFailed records that a fault did not do what it should; from then on the run proves nothing, and it is cut short.
func (l *lab) faultFailed(ctx context.Context, i *injection, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // interrupted; the fault is not to blame
	}
	l.rec.add(history.Event{Kind: history.FaultError, Fault: i.id, Server: i.Server(), Detail: err.Error()})
	l.faultless = false
	return &FaultError{Fault: i.id, Server: i.Server(), Err: err}
}

// FaultError says that a fault could not be injected, observed or lifted.
type FaultError struct {
	Fault, Server string
	Err           error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("fault %s on %s: %v", e.Fault, e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.Err }

// onAt finds the fault that is on at a server, the latest of that id when one is named.
func (l *lab) onAt(server, id string) *injection {
	for n := len(l.on) - 1; n >= 0; n-- {
		if i := l.on[n]; i.Server() == server && (id == "" || i.id == id) {
			return i
		}
	}
	return nil
}
