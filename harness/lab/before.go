package lab

import (
	"context"
	"errors"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Faults that are on before the target is started: it has never known their servers otherwise, and is not asked for a good call of
// theirs until they are lifted.

// injectBeforeStart does the steps that say so. A fault that failed leaves a history that proves nothing, and the run goes on.
func (l *lab) injectBeforeStart(ctx context.Context) error {
	for n, st := range l.plan.Scenario.Steps {
		if st.Before == "" || l.plan.Twin {
			continue
		}
		server := l.plan.Scenario.ServerOf(st)
		l.down[server] = true
		l.rec.add(history.Event{Kind: history.StepBegin, Step: n, Detail: scenario.Text(st)})
		err := l.injectStep(ctx, n, st)
		l.rec.add(history.Event{Kind: history.StepEnd, Step: n, OK: err == nil})
		l.rec.add(history.Event{Kind: history.Baseline, Server: server, OK: true, Detail: "not asked: its fault is on from the start"})
		var fe *FaultError
		if err != nil && !errors.As(err, &fe) {
			return err
		}
	}
	return nil
}

// notStarted ends the record of a target that did not come up. Where a server was down on purpose it is the target's failure: a client has
// to start without a server that is not there. Else it is no target at all, and the run says nothing.
func (l *lab) notStarted(ctx context.Context, err error) {
	e := history.Event{Kind: history.Baseline, Detail: err.Error()}
	if len(l.down) > 0 {
		e = history.Event{Kind: history.TargetExit, Detail: "it does not start while a server is down: " + clip(err.Error())}
	}
	l.rec.add(e)
	for _, i := range l.on {
		_ = l.lift(ctx, i) // what went wrong is in the history
	}
	l.mergeJournals()
	l.rec.add(history.Event{Kind: history.RunEnd})
}
