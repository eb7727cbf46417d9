package breaker

import (
	"fmt"
	"time"
)

// Reason says why the state changed.
type Reason uint8

const (
	ReasonStrikes      Reason = iota // Config.Failures consecutive failures
	ReasonCooldownOver               // a call asked after the cooldown
	ReasonProbeOK                    // Config.Successes probes succeeded
	ReasonProbeFailed                // a probe failed
	ReasonReset                      // Reset was called
	ReasonTrip                       // Trip was called
)

// String gives the reason in words that fit a log line.
func (r Reason) String() string {
	switch r {
	case ReasonStrikes:
		return "strikes"
	case ReasonCooldownOver:
		return "cooldown over"
	case ReasonProbeOK:
		return "probe ok"
	case ReasonProbeFailed:
		return "probe failed"
	case ReasonReset:
		return "reset"
	case ReasonTrip:
		return "trip"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Change is one change of state. In the sequence that OnChange is told, each From is
// the To before it.
type Change struct {
	From, To State
	Reason   Reason
	At       time.Time // when it happened, which may be before it is told
}

// unlock ends a critical section and tells OnChange what it changed. Whoever is
// telling goes on until nothing is left; others leave their changes to it. That keeps
// the order, and lets a callback call every method: its changes wait for its end.
func (b *Breaker) unlock() {
	if b.telling || len(b.changes) == 0 {
		b.mu.Unlock()
		return
	}
	b.telling = true
	for len(b.changes) > 0 {
		next := b.changes[0]
		b.changes = b.changes[1:]
		b.mu.Unlock()
		b.tell(next)
		b.mu.Lock()
	}
	b.changes = nil
	b.telling = false
	b.mu.Unlock()
}

// tell calls OnChange. If that panics, or ends its goroutine, the panic is the
// caller's, but the changes behind it are told on the way out: otherwise nobody would
// be told anything any more.
func (b *Breaker) tell(c Change) {
	returned := false
	defer func() {
		if !returned {
			b.mu.Lock()
			b.telling = false
			b.unlock()
		}
	}()
	b.config.OnChange(c)
	returned = true
}
