package breaker

import "time"

// open rejects every call until its cooldown is over. It never changes, so nothing can
// extend the cooldown (BRK-5), and reading it needs no lock (BRK-6).
type open struct {
	breaker  *Breaker
	self     *period
	until    time.Duration
	rejected *stripedCounter
}

func newOpen(b *Breaker, now time.Duration) *period {
	p := new(period)
	p.state = &open{
		breaker:  b,
		self:     p,
		until:    addSaturated(now, b.config.Cooldown),
		rejected: b.rejected,
	}
	return p
}

func (*open) kind() State { return Open }

func (o *open) allow() (Permit, error) {
	if o.breaker.now() < o.until {
		o.rejected.add()
		return Permit{}, o.breaker.errOpen
	}
	o.breaker.move(o.self, HalfOpen, ReasonCooldownOver)
	return o.breaker.Allow() // another caller may have taken the probe by now
}

// settle is never called: open grants no permits.
func (*open) settle(Permit, outcome) {}

func (o *open) retryAfter() time.Duration { return max(0, o.until-o.breaker.now()) }

func (*open) count(*Counts) {}
