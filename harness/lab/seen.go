package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/internal/mono"
)

// seenStep waits, for a moment, until enough has been seen. It does not judge: the oracle counts again, in the finished history, up to
// the end of this step.
func (l *lab) seenStep(ctx context.Context, n int, st scenario.Step) (detail string) {
	if st.Least == 0 || l.plan.Twin {
		return ""
	}
	since := history.CountedFrom(l.rec.sofar(), l.plan.Scenario.CountedBefore(n))
	deadline := time.Now().Add(budget.Fast(l.profile, l.slack()))
	for {
		seen, err := l.count(st, since)
		switch {
		case err != nil:
			return err.Error()
		case seen >= st.Least:
			return ""
		case time.Now().After(deadline) || !wait(ctx, nil, budget.Poll):
			return fmt.Sprintf("seen %d times", seen)
		}
	}
}

// count reads the server's journal, or what the target has said so far.
func (l *lab) count(st scenario.Step, since mono.Time) (n int, err error) {
	s := l.serverNamed(st.Seen)
	if s == nil {
		return 0, nil
	}
	events := l.rec.sofar()
	if st.Method != "" { // journals are merged into the history at the end
		entries, err := journal.Read(s.dir.JournalPath())
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			events = append(events, history.Event{T: e.T, Kind: history.Journal, Entry: &e})
		}
	}
	what := history.Seen{Server: st.Seen, Method: st.Method, Event: st.Event}
	for _, e := range events {
		if e.T >= since && what.In(e) {
			n++
		}
	}
	return n, nil
}
