package lab

import (
	"context"
	"time"

	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/internal/proc"
)

// resourceSettle is how long a target may take to let go of what its last sessions held, on a quiet machine.
const resourceSettle = time.Second

// resources records what the target's process holds and how many processes it has, where the platform tells. After the faults it waits
// a moment until it is as little as at the baseline.
func (l *lab) resources(ctx context.Context, s target.Session, when string) {
	deadline := time.Now().Add(l.stretched(resourceSettle))
	for {
		e, ok := l.holdings(s, when)
		if !ok {
			return
		}
		if l.before.Pid != s.Pid() {
			l.before = e
		} else if (e.FDs > l.before.FDs || e.Procs > l.before.Procs) && time.Now().Before(deadline) && wait(ctx, nil, budget.Poll) {
			continue
		}
		l.rec.add(e)
		return
	}
}

func (l *lab) holdings(s target.Session, when string) (e history.Event, ok bool) {
	fds, ferr := proc.FDs(s.Pid())
	rss, rerr := proc.RSS(s.Pid())
	if ferr != nil || rerr != nil {
		return e, false
	}
	e = history.Event{Kind: history.Resources, FDs: fds, RSS: rss, Pid: s.Pid(), Detail: when}
	instruments := l.instruments()
	for _, p := range l.strangers() {
		if p.Pid != s.Pid() && !instruments[p.Pid] {
			e.Procs++
		}
	}
	return e, true
}
