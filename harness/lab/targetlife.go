package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/internal/proc"
)

// targetStep does what the step says to the target's own process. err ends the scenario: a target that could not be stopped or killed
// proves nothing.
func (l *lab) targetStep(ctx context.Context, st scenario.Step) (detail string, err error) {
	switch st.Target {
	case scenario.TargetStop, scenario.TargetCont:
		return "", l.freeze(ctx, st.Target)
	case scenario.TargetClose:
		detail = l.closeByStep(ctx)
		l.leftovers(ctx, st.Expect == scenario.ExpectAny)
		l.killTargets(ctx)
		return detail, ctx.Err()
	case scenario.TargetRestart:
		if l.session() != nil {
			detail = l.closeByStep(ctx)
			l.leftovers(ctx, false)
		}
		l.killTargets(ctx)
		l.revive(ctx)
		l.greet(ctx)
		return detail, ctx.Err()
	}
	if detail, err = l.endBySignal(ctx, st.Target); err != nil {
		return "", err
	}
	l.leftovers(ctx, st.Expect == scenario.ExpectAny)
	l.killTargets(ctx)
	return detail, ctx.Err()
}

// hit sends a step's signal to the target's process, and to no other one.
func (l *lab) hit(r *running, word string) error {
	sig, ok := signals[word]
	if !ok {
		return fmt.Errorf("target: %s: %w", word, errors.ErrUnsupported)
	}
	if err := l.keeper.Signal(r.Pid(), proc.StartTime(r.Pid()), sig); err != nil {
		return fmt.Errorf("target: %s: %w", word, err)
	}
	return nil
}

// freeze stops the target or lets it go on, and returns when the kernel says that it is so: a call that slips through before the stop
// would tell another story.
func (l *lab) freeze(ctx context.Context, word string) error {
	r := l.current.Load()
	if r == nil {
		return nil // it has ended by itself, which the history tells
	}
	begun := now()
	if err := l.hit(r, word); err != nil {
		return l.faulty(ctx, r, err)
	}
	bounded, cancel := context.WithTimeout(ctx, l.stretched(faultBound))
	defer cancel()
	for {
		i, err := proc.Read(r.Pid())
		switch {
		case err != nil && !errors.Is(err, proc.ErrGone):
			return l.faulty(ctx, r, fmt.Errorf("target: %s: %w", word, err))
		case err != nil || i.Dead():
			return nil
		case i.Stopped() == (word == scenario.TargetStop):
			l.stopped = i.Stopped()
			e := history.Event{Kind: history.TargetHit, Pid: r.Pid(), Detail: word}
			if word == scenario.TargetCont {
				e.T = begun // what it does next comes after this
			}
			l.rec.add(e)
			return nil
		}
		if !wait(bounded, nil, siteLook) {
			return l.faulty(ctx, r, fmt.Errorf("target: %s: it did not take effect", word))
		}
	}
}

// faulty records that a step on the target did not do what it should, unless the target had ended by itself meanwhile.
func (l *lab) faulty(ctx context.Context, r *running, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-r.Exited():
		return nil
	default:
	}
	l.rec.add(history.Event{Kind: history.FaultError, Detail: err.Error()})
	l.faultless = false
	return &FaultError{Fault: "target", Err: err}
}

// closeByStep closes the target in order; finish does the same at the end of every run.
func (l *lab) closeByStep(ctx context.Context) (detail string) {
	l.thaw(ctx)
	if r := l.current.Load(); r != nil {
		l.rec.add(history.Event{Kind: history.TargetHit, Pid: r.Pid(), Detail: scenario.TargetClose})
	}
	if !l.stopTarget(ctx) {
		return "it did not close in order"
	}
	return ""
}

// endBySignal ends the target by a signal and waits for its end. One that can be heeded is an order to close, and is held against the
// same bound as one that came by the protocol.
func (l *lab) endBySignal(ctx context.Context, word string) (detail string, err error) {
	r := l.current.Load()
	if r == nil {
		return "", nil
	}
	r.ending.Store(true)
	begun := now()
	if err := l.hit(r, word); err != nil {
		return "", l.faulty(ctx, r, err)
	}
	l.rec.add(history.Event{T: begun, Kind: history.TargetHit, Pid: r.Pid(), Detail: word})
	t := time.NewTimer(l.closeBound())
	defer t.Stop()
	ended := false
	select {
	case <-r.Exited():
		ended = true
	case <-t.C:
		detail = "it has not ended"
	case <-ctx.Done():
		return "", ctx.Err()
	}
	l.current.Store(nil)
	l.stopped = false
	if word != scenario.TargetKill {
		at := now()
		l.rec.add(history.Event{T: at, Kind: history.CloseEnd, OK: ended, D: int64(at.Sub(begun)), Detail: detail})
	}
	return detail, nil
}

// thaw lets a target that a step has stopped go on.
func (l *lab) thaw(ctx context.Context) {
	if l.stopped {
		_ = l.freeze(ctx, scenario.TargetCont) // what went wrong is in the history
	}
}

// revive starts the target again when a step has ended it, and lets it go on when one has stopped it. A target that does not start again
// has ended for good, and nobody asked for that.
func (l *lab) revive(ctx context.Context) {
	l.thaw(ctx)
	if l.session() != nil || ctx.Err() != nil || !l.faultless {
		return
	}
	if err := l.startTarget(ctx); err != nil {
		if errors.Is(err, target.ErrStart) {
			l.rec.add(history.Event{Kind: history.TargetExit, Detail: "it did not start again: " + clip(err.Error())})
		}
	}
}

// greet calls every server that has no fault on, until it is good or has had its time: the steps that follow find a target that serves,
// and the faults the lives that do.
func (l *lab) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.stretched(l.oneWay()))
	defer cancel()
	all := newLoad()
	for _, s := range l.servers {
		if i := l.onAt(s.name, ""); i != nil && i.On() {
			continue
		}
		all.wg.Go(func() {
			for !l.targetGone() {
				o := l.through(ctx, call{server: s.name, tool: toolEcho, load: history.LoadBaseline, want: wantAny})
				if o.good || !wait(ctx, nil, baselinePause) {
					return
				}
			}
		})
	}
	all.wg.Wait()
}
