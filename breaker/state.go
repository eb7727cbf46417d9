package breaker

import (
	"fmt"
	"time"
)

// State is what a breaker does with calls.
type State uint8

const (
	Closed   State = iota // every call passes
	Open                  // every call is rejected
	HalfOpen              // a few calls pass, as probes
)

// String gives the state's usual name, as in "half-open".
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// state is the behaviour of one period. Its methods may be called by any number of
// goroutines, also after the period has ended.
type state interface {
	kind() State

	// allow decides on one call.
	allow() (Permit, error)

	// settle takes the result of a permit of this period. The permit has made sure
	// that this happens once. If the period is over, it must change nothing (BRK-2).
	settle(p Permit, o outcome)

	// retryAfter is the time until allow can grant a permit, 0 if it can now.
	retryAfter() time.Duration

	// count fills in what this state knows. The breaker's lock is held.
	count(c *Counts)
}

// A period is one stay in one state, from one transition or Reset to the next. It
// never comes back, so its address serves as the generation that permits carry.
type period struct{ state }

// addSaturated is t+d that stops at the end of time instead of wrapping round: a
// cooldown of "for ever" must not be over at once.
func addSaturated(t, d time.Duration) time.Duration {
	if sum := t + d; sum >= t {
		return sum
	}
	return 1<<63 - 1
}
