package breaker

import (
	"slices"
	"sync/atomic"
	"time"
)

// halfOpen lets a few calls through and waits for their results. Each probe holds a
// slot for the length of its lease. A slot whose lease is over is free to be taken
// (BRK-1), but stays with its probe until somebody does: so the failure of a call that
// times out together with its lease still counts. Once a newer probe has taken the
// slot, that one decides, and the older one's failure is old news. A success is good
// news from either.
type halfOpen struct {
	breaker *Breaker
	self    *period

	// When the next slot is free; the past if one is free now. Written with the
	// breaker's lock held, read without, so that callers rejected during a slow probe
	// do not queue for the lock.
	blocked atomic.Int64

	// Guarded by the breaker's lock.
	probes    []probe // at most Config.Probes (BRK-3), in the order of their leases
	successes int
}

// probe is a slot in use.
type probe struct {
	permit Permit
	until  time.Duration // end of the lease
}

func newHalfOpen(b *Breaker) *period {
	p := new(period)
	p.state = &halfOpen{breaker: b, self: p}
	return p
}

func (*halfOpen) kind() State { return HalfOpen }

func (h *halfOpen) allow() (Permit, error) {
	b := h.breaker
	if int64(b.now()) < h.blocked.Load() {
		return Permit{}, h.reject()
	}
	b.mu.Lock()
	if b.current.Load() != h.self {
		b.mu.Unlock()
		return b.Allow()
	}
	defer b.mu.Unlock()
	now := b.now() // again: waiting for the lock took time
	if len(h.probes) == b.config.Probes {
		if now < h.probes[0].until {
			return Permit{}, h.reject()
		}
		h.release(0)
	}
	permit := newPermit(h.self)
	h.probes = append(h.probes, probe{permit, addSaturated(now, b.config.ProbeLease)})
	h.updateBlocked()
	return permit, nil
}

func (h *halfOpen) reject() error {
	h.breaker.rejected.add()
	return h.breaker.errHalfOpen
}

func (h *halfOpen) settle(p Permit, o outcome) {
	b := h.breaker
	b.mu.Lock()
	defer b.unlock()
	if b.current.Load() != h.self {
		return
	}
	slot := slices.IndexFunc(h.probes, func(held probe) bool { return held.permit == p })
	if slot >= 0 {
		h.release(slot)
	}
	switch o {
	case success:
		h.successes++
		if h.successes >= b.config.Successes {
			b.enter(Closed, ReasonProbeOK)
		}
	case failure:
		if slot >= 0 { // else a newer probe has the slot
			b.enter(Open, ReasonProbeFailed)
		}
	}
}

func (h *halfOpen) release(slot int) {
	h.probes = slices.Delete(h.probes, slot, slot+1)
	h.updateBlocked()
}

func (h *halfOpen) updateBlocked() {
	if len(h.probes) < h.breaker.config.Probes {
		h.blocked.Store(0)
	} else {
		h.blocked.Store(int64(h.probes[0].until))
	}
}

func (h *halfOpen) retryAfter() time.Duration {
	return max(0, time.Duration(h.blocked.Load())-h.breaker.now())
}

func (h *halfOpen) count(n *Counts) {
	now := h.breaker.now()
	for _, held := range h.probes {
		if now < held.until {
			n.ProbesOut++
		}
	}
}
