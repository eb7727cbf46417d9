package breaker

import (
	"errors"
	"fmt"
	"time"
)

// ErrOpen is what every rejection is, as in errors.Is(err, ErrOpen).
var ErrOpen = errors.New("circuit breaker open")

// OpenError is a rejection by Allow. It can be kept: it always tells the time from now.
type OpenError struct {
	breaker *Breaker
	state   State
}

// RetryAfter is the time from now until Allow can grant a permit: the rest of the
// cooldown, or, when all probes are out, until the first of their leases ends. A probe
// that is settled before can make it shorter. It is 0 if a call may be tried now.
func (e *OpenError) RetryAfter() time.Duration {
	if e.breaker == nil {
		return 0
	}
	return e.breaker.current.Load().retryAfter()
}

// State is the state that rejected the call: Open, or HalfOpen with all probes out.
func (e *OpenError) State() State { return e.state }

// Error says why the call was rejected and when to come back.
func (e *OpenError) Error() string {
	what := "circuit breaker " + e.state.String()
	if e.state == HalfOpen {
		what += ", all probes out"
	}
	wait := e.RetryAfter()
	if wait <= 0 {
		return what + ", may be tried again now"
	}
	return fmt.Sprintf("%s, next try in %s", what, wait.Round(time.Millisecond))
}

// Unwrap makes errors.Is(err, ErrOpen) true.
func (*OpenError) Unwrap() error { return ErrOpen }
