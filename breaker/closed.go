package breaker

import (
	"sync/atomic"
	"time"
)

// closed lets every call through and counts strikes. Nothing here takes a lock but the
// strike that opens the breaker (BRK-6).
type closed struct {
	breaker *Breaker
	self    *period
	strikes atomic.Int64 // consecutive
}

func newClosed(b *Breaker) *period {
	p := new(period)
	p.state = &closed{breaker: b, self: p}
	return p
}

func (*closed) kind() State { return Closed }

func (c *closed) allow() (Permit, error) { return newPermit(c.self), nil }

func (c *closed) settle(_ Permit, o outcome) {
	switch o {
	case success:
		// Looking first keeps successes of a healthy server from writing to memory
		// that all cores share.
		if c.strikes.Load() != 0 {
			c.strikes.Store(0)
		}
	case failure:
		// After the period is over, the count is nobody's, and move refuses.
		if c.strikes.Add(1) >= int64(c.breaker.config.Failures) {
			c.breaker.move(c.self, Open, ReasonStrikes)
		}
	}
}

func (*closed) retryAfter() time.Duration { return 0 }

func (c *closed) count(n *Counts) { n.Strikes = int(c.strikes.Load()) }
