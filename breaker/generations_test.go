package breaker_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unwedge/unwedge/breaker"
)

// The three ways to settle a permit.
var settlings = map[string]func(breaker.Permit){
	"success": breaker.Permit.Success,
	"failure": breaker.Permit.Failure,
	"ignore":  breaker.Permit.Ignore,
}

func TestBRK2_ResultsFromBeforeAResetChangeNothing(t *testing.T) {
	for name, settle := range settlings {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := breaker.New(breaker.Config{Failures: 2, Cooldown: cooldown, ProbeLease: lease})
				early := []breaker.Permit{mustAllow(t, b), mustAllow(t, b)}
				b.Trip()
				time.Sleep(cooldown)
				early = append(early, mustProbe(t, b))
				b.Reset()
				strike(t, b, 1)
				early = append(early, mustAllow(t, b))
				b.Reset() // though closed already
				strike(t, b, 1)
				before := b.Counts()
				for _, permit := range early {
					settle(permit)
				}
				expectCounts(t, b, before)
				strike(t, b, 1)
				mustBe(t, b, breaker.Open)
			})
		})
	}
}

func TestBRK2_ResultsOfAnOlderHalfOpenPeriodChangeNothing(t *testing.T) {
	for name, settle := range settlings {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := halfOpen(t, breaker.Config{Probes: 2, Successes: 2})
				old := mustProbe(t, b)
				mustProbe(t, b).Failure()
				mustReject(t, b, cooldown)
				settle(old) // while open
				mustReject(t, b, cooldown)

				time.Sleep(cooldown)
				old = mustProbe(t, b)
				b.Trip()
				time.Sleep(cooldown)
				mustProbe(t, b).Success()
				mustProbe(t, b)
				before := b.Counts()
				settle(old) // while half-open once more
				expectCounts(t, b, before)

				b.Reset()
				strike(t, b, 2)
				settle(old) // while closed
				if got := b.Counts().Strikes; got != 2 {
					t.Fatalf("%d strikes, want the 2 of this period", got)
				}
			})
		})
	}
}

// The first settling wins, on the permit and on its copies, and a permit that was
// settled long ago has no power over those that came after.
func TestBRK2_SettlingIsIdempotent(t *testing.T) {
	for first, settleFirst := range settlings {
		for second, settleAgain := range settlings {
			t.Run(fmt.Sprintf("%s then %s, closed", first, second), func(t *testing.T) {
				b := breaker.New(breaker.Config{Failures: 10})
				strike(t, b, 1)
				permit := mustAllow(t, b)
				again := permit
				settleFirst(permit)
				strike(t, b, 1)
				want := b.Counts()
				settleAgain(permit)
				settleAgain(again)
				expectCounts(t, b, want)

				younger := mustAllow(t, b)
				settleAgain(again)
				younger.Failure()
				want.Strikes++
				expectCounts(t, b, want)
			})
			t.Run(fmt.Sprintf("%s then %s, half-open", first, second), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := halfOpen(t, breaker.Config{Successes: 3})
					permit := mustProbe(t, b)
					again := permit
					settleFirst(permit)
					if b.State() == breaker.HalfOpen {
						mustProbe(t, b)
					}
					want := b.Counts()
					settleAgain(permit)
					settleAgain(again)
					settleAgain(again)
					expectCounts(t, b, want)
				})
			})
		}
	}
}

// Whoever races to settle a call, say its timeout and its reply, it counts once, and
// none is overlooked.
func TestBRK2_RacingSettlersCountOnce(t *testing.T) {
	const permits, settlers = 2000, 4
	b := breaker.New(breaker.Config{Failures: 2 * permits})
	var all sync.WaitGroup
	granted := make([]breaker.Permit, permits)
	for i := range granted {
		granted[i] = mustAllow(t, b)
	}
	for range settlers {
		all.Go(func() {
			for _, permit := range granted {
				permit.Failure()
			}
		})
	}
	all.Wait()
	expectCounts(t, b, breaker.Counts{Strikes: permits})
}

func TestBRK2_RacingStrikesAreAllCounted(t *testing.T) {
	const callers, calls = 4, 2000
	b := breaker.New(breaker.Config{Failures: callers * calls})
	var all sync.WaitGroup
	for caller := range callers {
		n := calls
		if caller == 0 {
			n-- // one is missing
		}
		all.Go(func() { strike(t, b, n) })
	}
	all.Wait()
	mustBe(t, b, breaker.Closed)
	strike(t, b, 1)
	mustBe(t, b, breaker.Open)
}

func TestBRK2_ZeroPermitIsHarmless(t *testing.T) {
	var permit breaker.Permit
	for _, settle := range settlings {
		settle(permit)
	}
	if permit.Probe() {
		t.Fatal("the zero permit claims to be a probe")
	}
}

// Everything that can be done to an open breaker is done to it all the time.
func TestBRK5_NothingExtendsACooldown(t *testing.T) {
	const step = cooldown / 100
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Failures: 2, Probes: 100, Cooldown: cooldown})
		var late []breaker.Permit
		for range 100 {
			late = append(late, mustAllow(t, b))
		}
		for cycle := range 3 {
			if cycle == 0 {
				strike(t, b, 2)
			} else { // opened by a probe, with other probes still out
				late = append(granted(t, b, 100), late...)
				late[0].Failure()
			}
			for i := range 100 {
				mustReject(t, b, cooldown-time.Duration(i)*step)
				late[i].Failure()
				b.Trip()
				_, _ = b.State(), b.Counts()
				mustReject(t, b, cooldown-time.Duration(i)*step)
				time.Sleep(step)
			}
			b.Trip() // open still, since nobody asked: to trip it changes nothing
			mustProbe(t, b).Ignore()
		}
		if got := b.Counts().Opened; got != 3 {
			t.Fatalf("opened %d times, want 3", got)
		}
	})
}

func TestBRK5_CooldownEndsToTheNanosecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Failures: 1, Cooldown: cooldown})
		strike(t, b, 1)
		for range 3 {
			time.Sleep(cooldown - instant)
			mustReject(t, b, instant)
			time.Sleep(instant)
			mustProbe(t, b).Failure()
		}
	})
}
