// Package breaker is a circuit breaker that cannot get stuck.
//
// Closed, it lets every call through and counts consecutive failures
// ("strikes"). At the limit it opens and rejects everything for a cooldown.
// After that it is half-open: a few calls are let through as probes, and their
// results close it or open it again.
//
//	Closed    -> Open      strikes, Trip
//	Open      -> HalfOpen  the first Allow after the cooldown
//	HalfOpen  -> Closed    enough probes succeeded
//	HalfOpen  -> Open      a probe failed, Trip
//	any state -> Closed    Reset
//
// A call asks with [Breaker.Allow] and settles the [Permit] it gets:
//
//	permit, err := b.Allow()
//	if err != nil {
//		return err // *OpenError, errors.Is(err, ErrOpen); see RetryAfter
//	}
//	defer permit.Ignore() // a panic must not keep the slot; the first settling wins
//	...
//	permit.Success() // or permit.Failure()
//
// # What holds
//
//   - BRK-1: a probe that is never settled (panic, cancellation, hung call) gives
//     its slot back when its lease ends. The end of a lease is no failure, and a
//     success that comes later still counts while the breaker is in the same
//     half-open period. So half-open is never a trap (decocms/studio#5322).
//   - BRK-2: a result changes nothing unless the breaker is still in the very
//     period in which its permit was granted. Every transition and every Reset
//     starts a new period.
//   - BRK-3: never more than Config.Probes unexpired probes of a half-open period are
//     out, however many callers race. Those of an earlier period do not count: a call
//     that hangs must not hold up the recovery after a Reset or the next cooldown.
//   - BRK-4: Reset and Trip may be called at any time, also from OnChange.
//     Callbacks run outside any lock, one at a time, in the order of the changes.
//   - BRK-5: the cooldown counts from the opening. Nothing that happens while open
//     extends it: not rejections, not late failures of older permits, not Trip
//     (openabdev/openab#969).
//   - BRK-6: a call that passes a closed breaker or is rejected by an open one takes
//     no lock, allocates nothing, and, strikes and the successes that forget them
//     apart, writes to no memory that other cores are writing to. (Permits share a
//     pool of 64-byte tickets. It grows when more calls are out than before, and
//     again after the garbage collector has emptied it.) The time until the next
//     probe is computed only when asked for.
//
// There are no timers and no goroutines: time is looked at when somebody calls.
// An open breaker whose cooldown is over therefore stays Open until the next Allow,
// which becomes the first probe. Time is monotonic: changes of the wall clock do
// not matter.
//
// # Finding your way
//
// breaker.go is the public face; closed.go, open.go and halfopen.go hold one type
// per state, each with everything that can happen in that state; permit.go makes
// settling idempotent; change.go delivers callbacks. A newcomer most often changes
// the rules of one state, or adds a field to [Counts].
//
// Which errors are failures is not decided here but by the caller (SUP-12). The
// package imports the standard library only, and nothing of this module.
package breaker
