package supervisor

import (
	"sync"
	"sync/atomic"

	"github.com/unwedge/unwedge/breaker"
)

// board holds what Status shows of one server.
type board struct {
	mu sync.Mutex
	s  Status
}

func (b *board) set(change func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.s)
}

func (b *board) get() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s
}

// tally counts without locks.
type tally struct {
	calls, failures, timeouts, resends, probes, noise, sessions, lists atomic.Uint64
}

// status is a snapshot for users.
func (o *owner) status() Status {
	s := o.board.get()
	s.Breaker = o.breaker.State().String()
	s.Counters = Counters{
		Calls: o.count.calls.Load(), Failures: o.count.failures.Load(), Timeouts: o.count.timeouts.Load(),
		Resends: o.count.resends.Load(), Probes: o.count.probes.Load(), Noise: o.count.noise.Load(),
		Sessions: o.count.sessions.Load(), ToolLists: o.count.lists.Load(),
	}
	if live := o.live.Load(); live != nil {
		f := live.link.facts()
		s.Noise += f.noise
		s.StderrTail = f.stderr
	}
	return s
}

// noteError keeps the last failure for Status and for those who ask while there is no session.
func (o *owner) noteError(e *Error) {
	o.board.set(func(b *Status) {
		b.LastError = e.What
		if len(e.Stderr) > 0 {
			b.StderrTail = e.Stderr
		}
	})
}

// breakerChanged is called by the breaker, outside any lock, in order.
func (o *owner) breakerChanged(c breaker.Change) {
	if s := o.live.Load(); s != nil && c.To == breaker.Open {
		s.rxAtOpen.Store(s.link.rx())
	}
	o.shared.events.publish(Event{
		Server: o.server.Name, Kind: EventBreaker, From: c.From.String(), To: c.To.String(), Detail: c.Reason.String(),
	})
	o.log.Info("circuit breaker", "from", c.From.String(), "to", c.To.String(), "why", c.Reason.String())
}
