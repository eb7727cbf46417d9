package breaker_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwedge/unwedge/breaker"
)

// The ways to lose a probe without settling it.
var losses = map[string]func(*testing.T, *breaker.Breaker){
	"panic": func(t *testing.T, b *breaker.Breaker) {
		defer func() { _ = recover() }()
		mustProbe(t, b)
		panic("in the call")
	},
	"goroutine that ends": func(t *testing.T, b *breaker.Breaker) {
		var caller sync.WaitGroup
		caller.Go(func() {
			mustProbe(t, b)
			runtime.Goexit()
		})
		caller.Wait()
	},
	"early return": func(t *testing.T, b *breaker.Breaker) {
		mustProbe(t, b)
	},
	"call that hangs for a day": func(t *testing.T, b *breaker.Breaker) {
		permit := mustProbe(t, b)
		go func() {
			select {
			case <-time.After(24 * time.Hour):
				permit.Failure()
			case <-t.Context().Done():
			}
		}()
	},
}

func TestBRK1_LostProbeGivesItsSlotBack(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := halfOpen(t, breaker.Config{})
				lose(t, b)
				time.Sleep(lease - instant)
				mustReject(t, b, instant)
				time.Sleep(instant)
				if got := b.Counts(); got.State != breaker.HalfOpen || got.Opened != 1 {
					t.Fatalf("the end of a lease was taken for a failure: %+v", got)
				}
				mustProbe(t, b).Success()
				mustBe(t, b, breaker.Closed)
				time.Sleep(48 * time.Hour) // whatever was lost has turned up by now
				expectCounts(t, b, breaker.Counts{Opened: 1, Rejected: 1})
			})
		})
	}
}

// The wedge that this package exists for: every probe is lost, for as long as it lasts;
// the first one that is not closes the breaker.
func TestBRK1_HalfOpenIsNoTrap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{Probes: 2})
		for range 25 {
			mustProbe(t, b)
			mustProbe(t, b)
			mustReject(t, b, lease)
			time.Sleep(lease)
		}
		mustProbe(t, b).Success()
		mustBe(t, b, breaker.Closed)
	})
}

func TestBRK1_LateSuccessStillCloses(t *testing.T) {
	for name, replaced := range map[string]bool{
		"slot still free": false, "slot taken by a newer probe": true,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := halfOpen(t, breaker.Config{})
				slow := mustProbe(t, b)
				time.Sleep(2 * lease)
				if replaced {
					mustProbe(t, b)
				}
				slow.Success()
				mustBe(t, b, breaker.Closed)
			})
		})
	}
}

// A call whose timeout equals the lease fails just after its lease ended. That is
// still the news the probe was sent for.
func TestBRK1_LateFailureCountsWhileTheSlotIsUnclaimed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{})
		slow := mustProbe(t, b)
		time.Sleep(lease + instant)
		slow.Failure()
		mustReject(t, b, cooldown)
	})
}

func TestBRK1_LateFailureIsOldNewsOnceANewerProbeIsOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{})
		slow := mustProbe(t, b)
		time.Sleep(lease)
		newer := mustProbe(t, b)
		slow.Failure()
		mustReject(t, b, lease) // half-open still, and the slot is not freed twice
		newer.Success()
		mustBe(t, b, breaker.Closed)
	})
}

func TestBRK1_SettlingFreesTheSlotAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{Successes: 2})
		mustProbe(t, b).Ignore()
		mustProbe(t, b).Success()
		mustProbe(t, b)
		mustReject(t, b, lease)
	})
}

// granted lets many callers ask at the same time and returns the permits they got.
func granted(t *testing.T, b *breaker.Breaker, callers int) []breaker.Permit {
	t.Helper()
	var (
		mu      sync.Mutex
		permits []breaker.Permit
		all     sync.WaitGroup
		start   = make(chan struct{})
	)
	for range callers {
		all.Go(func() {
			<-start
			permit, err := b.Allow()
			if err != nil {
				if !errors.Is(err, breaker.ErrOpen) {
					t.Errorf("Allow: %v", err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			permits = append(permits, permit)
		})
	}
	close(start)
	all.Wait()
	return permits
}

func TestBRK3_NeverMoreProbesThanConfigured(t *testing.T) {
	const callers, rounds = 32, 50
	for name, probes := range map[string]int{"one probe": 1, "three probes": 3} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				for range rounds {
					b := halfOpen(t, breaker.Config{Probes: probes, Successes: 100})
					expect := func(moment string, want int) []breaker.Permit {
						permits := granted(t, b, callers)
						if len(permits) != want {
							t.Fatalf("%s: %d of %d racing callers got a probe, want %d",
								moment, len(permits), callers, want)
						}
						return permits
					}
					expect("cooldown over", probes)
					expect("all out", 0)
					time.Sleep(lease - instant)
					expect("leases about to end", 0)
					time.Sleep(instant)
					second := expect("leases over", probes)
					second[0].Success()
					expect("one succeeded", 1)
					second[0].Ignore()
					expect("settled again", 0)
				}
			})
		})
	}
}

// Callers come, and lose, ignore or settle their probes, at moments that often
// coincide, while slots expire. Each probe is in the books from its grant to its end.
func TestBRK3_NeverMoreProbesThanConfiguredInTheLongRun(t *testing.T) {
	const callers, calls, probes = 16, 200, 3
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{Probes: probes, Successes: 1 << 30})
		var out atomic.Int64
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for call := range calls {
					pause := time.Duration((caller*7+call*13)%5) * time.Second
					time.Sleep(pause)
					permit, err := b.Allow()
					if err != nil {
						continue
					}
					if n := out.Add(1); n > probes {
						t.Errorf("%d unexpired probes out, want at most %d", n, probes)
					}
					switch (caller + call) % 3 {
					case 0: // lost; out of the books just before its lease ends
						time.Sleep(lease - instant)
						out.Add(-1)
					case 1:
						time.Sleep(pause)
						out.Add(-1)
						permit.Success()
					case 2:
						out.Add(-1)
						permit.Ignore()
					}
				}
			})
		}
		all.Wait()
		mustBe(t, b, breaker.HalfOpen)
	})
}
