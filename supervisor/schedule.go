package supervisor

import (
	"fmt"
	"time"
)

// schedule decides when the next attempt is due, and what the time until then is called.
//
//	first retry after a death      at once, but BackoffMin after the last start
//	then, while Retries last       about BackoffMin, doubling up to BackoffMax
//	then                           about ParkedRetry, for ever; calls may ask for one per DemandInterval
func (o *owner) schedule(died bool, e *Error) {
	now := time.Now()
	switch {
	case e.Kind == KindAuth:
		o.park(StateNeedsAuth, e)
	case o.failures > o.set.Retries:
		o.park(StateParked, e)
	default:
		o.due = now.Add(o.backoff(died))
		if spaced := o.lastStart.Add(o.set.BackoffMin); o.due.Before(spaced) {
			o.due = spaced // a server that dies right after every good call must not become a spawn storm
		}
		o.setState(StateBackoff, e.What)
	}
}

// park waits long, and goes on trying all the same: nothing but Remove and Close ends an owner (SUP-1).
func (o *owner) park(to State, e *Error) {
	o.due = time.Now().Add(o.jitter(o.set.ParkedRetry, 0.9))
	o.withdraw()
	o.setState(to, e.What)
}

// backoff is the wait before the next quick retry. (cenkalti/backoff computes the same, but draws from the
// global random source, and a run must be repeatable by its seed.)
func (o *owner) backoff(died bool) time.Duration {
	n := o.failures - 1 // doublings
	if died {
		n-- // the first retry after a death is free
	}
	if n < 0 {
		return 0
	}
	d := o.set.BackoffMin
	for ; n > 0 && d < o.set.BackoffMax; n-- {
		d *= 2
	}
	return o.jitter(min(d, o.set.BackoffMax), 0.5)
}

// jitter draws from [low*d, d].
func (o *owner) jitter(d time.Duration, low float64) time.Duration {
	return time.Duration(float64(d) * (low + (1-low)*o.random.Float64()))
}

// demand brings the next attempt of a parked server forward, because there is a call for it. All callers
// together get one attempt per DemandInterval.
func (o *owner) demand() {
	if o.sess != nil || o.trying != nil || o.state == StateBackoff {
		return // in backoff callers wait for the schedule, or they would turn a crash loop into a spawn storm
	}
	if slot := o.lastStart.Add(o.set.DemandInterval); slot.Before(o.due) {
		o.due = slot
		o.board.set(func(b *Status) { b.NextTry = slot })
	}
}

// setState makes a change of state known: to Status, to listeners, to the log.
func (o *owner) setState(to State, why string) {
	from := o.state
	o.state = to
	due := time.Time{}
	if to == StateBackoff || to == StateParked || to == StateNeedsAuth {
		due = o.due
	}
	o.board.set(func(b *Status) {
		b.State, b.NextTry, b.Retries = to, due, o.failures
		if from != to {
			b.Since = time.Now()
		}
	})
	if from == to {
		return
	}
	o.shared.events.publish(Event{
		Server: o.server.Name, Kind: EventState, From: string(from), To: string(to), Detail: why,
	})
	args := []any{"from", string(from), "to", string(to)}
	if why != "" {
		args = append(args, "why", why)
	}
	if !due.IsZero() {
		args = append(args, "next_try_in", max(0, time.Until(due)).Round(time.Millisecond).String())
	}
	o.log.Info("server state", args...)
}

// whatNext says, for an error, when there will be an attempt.
func (o *owner) whatNext() string {
	b := o.board.get()
	switch b.State {
	case StateConnecting, StateReady:
		return o.dialer.next() + "; try again"
	case StateClosed:
		return ""
	}
	next := max(0, time.Until(b.NextTry)).Round(time.Millisecond)
	switch b.State {
	case StateBackoff:
		if next == 0 || b.Retries == 0 { // at once, or as soon as BackoffMin has passed since the last start
			return o.dialer.next() + "; try again"
		}
	case StateParked:
		return fmt.Sprintf("the server is parked after %d failures: next attempt in %v, or when asked for", b.Retries, next)
	case StateNeedsAuth:
		return fmt.Sprintf("it needs credentials: next attempt in %v, or when asked for", next)
	}
	return fmt.Sprintf("next attempt in %v (%d failures so far, parked after %d)", next, b.Retries, o.set.Retries+1)
}
