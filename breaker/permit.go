package breaker

import (
	"sync"
	"sync/atomic"
)

// Permit is leave to make one call. Settle it with Success, Failure or Ignore; the
// first of them wins, on this permit and all its copies, and the others do nothing. So
// two goroutines may race to settle the same call, and `defer permit.Ignore()` is a
// safety net. The zero Permit is harmless: settling it does nothing.
type Permit struct {
	period *period
	ticket *ticket
	turn   uint64
}

// outcome is what became of the call.
type outcome uint8

const (
	success outcome = iota
	failure
	ignored
)

// Success settles the permit: the call went well.
func (p Permit) Success() { p.settle(success) }

// Failure settles the permit: the call is a strike.
func (p Permit) Failure() { p.settle(failure) }

// Ignore settles the permit: the call says nothing about the health of the other side,
// say because its caller gave up. A probe's slot is free again.
func (p Permit) Ignore() { p.settle(ignored) }

// Probe reports whether the call is a probe, granted while half-open.
func (p Permit) Probe() bool { return p.period != nil && p.period.kind() == HalfOpen }

func (p Permit) settle(o outcome) {
	if p.period == nil || !p.ticket.turn.CompareAndSwap(p.turn, p.turn+1) {
		return
	}
	p.period.settle(p, o)
	tickets.Put(p.ticket)
}

// A ticket remembers whether a permit has been settled. Permits are values and may be
// copied, so they must share that memory; to allocate it for every call would be slow.
// So tickets are used again, each time with the next turn number: a copy that comes
// late holds a turn that is over, and is refused. A permit that is never settled leaves
// its ticket to the garbage collector.
type ticket struct {
	turn atomic.Uint64
	_    [cacheLine - 8]byte // neighbours may be in use on other cores
}

var tickets = sync.Pool{New: func() any { return new(ticket) }}

func newPermit(p *period) Permit {
	t := tickets.Get().(*ticket)
	return Permit{period: p, ticket: t, turn: t.turn.Load()}
}
