package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwedge/unwedge/breaker"
)

// story is what OnChange was told, without the times.
type story []string

func (s *story) tell(c breaker.Change) {
	*s = append(*s, fmt.Sprintf("%v -> %v: %v", c.From, c.To, c.Reason))
}

func (s *story) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(*s, want) {
		t.Fatalf("told\n%q, want\n%q", *s, want)
	}
}

func TestChangesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told story
		var last breaker.Change
		note := func(c breaker.Change) {
			told.tell(c)
			last = c
		}
		b := breaker.New(breaker.Config{Failures: 1, Cooldown: cooldown, OnChange: note})
		b.Reset() // no change
		strike(t, b, 1)
		b.Trip() // no change
		if !last.At.Equal(time.Now()) {
			t.Fatalf("told the time %v, want %v", last.At, time.Now())
		}
		time.Sleep(cooldown)
		mustProbe(t, b).Failure()
		time.Sleep(cooldown)
		mustProbe(t, b).Success()
		b.Trip()
		time.Sleep(cooldown)
		mustProbe(t, b)
		b.Trip()
		b.Reset()
		told.expect(t,
			"closed -> open: strikes",
			"open -> half-open: cooldown over",
			"half-open -> open: probe failed",
			"open -> half-open: cooldown over",
			"half-open -> closed: probe ok",
			"closed -> open: trip",
			"open -> half-open: cooldown over",
			"half-open -> open: trip",
			"open -> closed: reset",
		)
	})
}

func TestBRK4_CallbackMayUseTheBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told story
		var b *breaker.Breaker
		b = breaker.New(breaker.Config{Failures: 1, Cooldown: cooldown, OnChange: func(c breaker.Change) {
			told.tell(c)
			_, _ = b.State(), b.Counts()
			switch len(told) {
			case 1: // opened by a strike
				mustReject(t, b, cooldown)
				b.Reset()
				b.Trip()
				b.Reset()
				mustAllow(t, b).Failure()
			case 6: // half-open
				mustProbe(t, b).Success()
			}
		}})
		strike(t, b, 1)
		mustBe(t, b, breaker.Open)
		time.Sleep(cooldown)
		if permit := mustAllow(t, b); permit.Probe() {
			t.Fatal("the callback closed the breaker, and yet the call was a probe")
		}
		told.expect(t,
			"closed -> open: strikes",
			"open -> closed: reset",
			"closed -> open: trip",
			"open -> closed: reset",
			"closed -> open: strikes",
			"open -> half-open: cooldown over",
			"half-open -> closed: probe ok",
		)
	})
}

// While a callback is held up, no caller is, and nothing is told out of turn.
func TestBRK4_CallbackRunsOutsideAnyLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told story
		var calls atomic.Int64
		entered, goOn := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(goOn) })
		defer release()
		b := breaker.New(breaker.Config{Cooldown: cooldown, OnChange: func(c breaker.Change) {
			if calls.Add(1) == 1 {
				close(entered)
				<-goOn
			}
			told.tell(c)
		}})
		var first sync.WaitGroup
		first.Go(b.Trip)
		<-entered
		b.Reset()
		mustAllow(t, b).Success()
		strike(t, b, breaker.DefaultFailures)
		mustReject(t, b, cooldown)
		time.Sleep(cooldown)
		mustProbe(t, b).Success()
		_ = b.Counts()
		mustBe(t, b, breaker.Closed)
		release()
		first.Wait()
		told.expect(t,
			"closed -> open: trip",
			"open -> closed: reset",
			"closed -> open: strikes",
			"open -> half-open: cooldown over",
			"half-open -> closed: probe ok",
		)
	})
}

// A callback that panics, or ends its goroutine, does not silence the ones after it.
func TestBRK4_CallbackThatPanics(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":  func() { panic("in OnChange") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var told story
			var b *breaker.Breaker
			b = breaker.New(breaker.Config{OnChange: func(c breaker.Change) {
				told.tell(c)
				if len(told) == 1 {
					b.Reset()
					leave()
				}
			}})
			var caller sync.WaitGroup
			caller.Add(1)
			go func() {
				defer caller.Done()
				defer func() { _ = recover() }()
				b.Trip()
			}()
			caller.Wait()
			told.expect(t, "closed -> open: trip", "open -> closed: reset")
			b.Trip()
			told.expect(t,
				"closed -> open: trip", "open -> closed: reset", "closed -> open: trip")
		})
	}
}

// Everybody does everything at once. What is told must be a possible story, told by one
// voice; and afterwards the breaker must be as good as new.
func TestBRK4_ChangesAreToldInOrderWhoeverRaces(t *testing.T) {
	const callers, calls = 8, 2000
	var (
		changes []breaker.Change // without lock: the race detector is part of this test
		voices  atomic.Int64
		over    atomic.Bool
		b       *breaker.Breaker
	)
	b = breaker.New(breaker.Config{
		Failures: 2, Probes: 2, Successes: 2,
		Cooldown: time.Microsecond, ProbeLease: time.Microsecond,
		OnChange: func(c breaker.Change) {
			if voices.Add(1) != 1 {
				t.Error("two callbacks at the same time")
			}
			defer voices.Add(-1)
			changes = append(changes, c)
			if len(changes)%5 == 0 && !over.Load() {
				b.Reset()
			}
		},
	})
	var all sync.WaitGroup
	for caller := range callers {
		random := rand.New(rand.NewPCG(1, uint64(caller)))
		all.Go(func() {
			for range calls {
				actAtRandom(b, random)
			}
		})
	}
	all.Wait()
	over.Store(true)

	state := breaker.Closed
	var at time.Time
	for i, c := range changes {
		if c.From != state || c.To == c.From || c.At.Before(at) {
			t.Fatalf("change %d, %+v, cannot follow state %v at %v", i, c, state, at)
		}
		state, at = c.To, c.At
	}
	mustBe(t, b, state)
	b.Reset()
	strike(t, b, 2)
	mustBe(t, b, breaker.Open)
}

func actAtRandom(b *breaker.Breaker, random *rand.Rand) {
	switch random.IntN(20) {
	case 0:
		b.Trip()
	case 1:
		b.Reset()
	case 2:
		b.Counts()
	default:
		permit, err := b.Allow()
		if err != nil {
			_ = err.Error()
			return
		}
		again := permit
		switch random.IntN(4) {
		case 0:
			permit.Success()
		case 1:
			permit.Failure()
		case 2:
			permit.Ignore()
		}
		again.Failure()
	}
}
