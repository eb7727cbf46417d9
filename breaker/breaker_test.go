package breaker_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unwedge/unwedge/breaker"
)

// Scaled-down times for tests that run in a synctest bubble, where they cost nothing.
const (
	cooldown = time.Minute
	lease    = 5 * time.Minute
	instant  = time.Nanosecond // the shortest there is, for "just before"
)

// bubble runs a test on a fake clock, which stands still while anything runs.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// mustAllow asks for a permit that there must be.
func mustAllow(t *testing.T, b *breaker.Breaker) breaker.Permit {
	t.Helper()
	permit, err := b.Allow()
	if err != nil {
		t.Fatalf("Allow: %v, want a permit", err)
	}
	return permit
}

// mustProbe asks for a permit that must be a probe.
func mustProbe(t *testing.T, b *breaker.Breaker) breaker.Permit {
	t.Helper()
	permit := mustAllow(t, b)
	if !permit.Probe() {
		t.Fatalf("Allow gave an ordinary permit in state %v, want a probe", b.State())
	}
	return permit
}

// mustReject asks for a permit that there must not be, and checks the time that the
// rejection names.
func mustReject(t *testing.T, b *breaker.Breaker, retryAfter time.Duration) *breaker.OpenError {
	t.Helper()
	_, err := b.Allow()
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok {
		t.Fatalf("Allow: %v in state %v, want an *OpenError", err, b.State())
	}
	if !errors.Is(err, breaker.ErrOpen) {
		t.Fatalf("errors.Is(%v, ErrOpen) is false", err)
	}
	if got := open.RetryAfter(); got != retryAfter {
		t.Fatalf("RetryAfter: %v, want %v", got, retryAfter)
	}
	return open
}

func mustBe(t *testing.T, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.State(); got != want {
		t.Fatalf("state %v, want %v", got, want)
	}
}

// strike lets n calls fail one after the other.
func strike(t *testing.T, b *breaker.Breaker, n int) {
	t.Helper()
	for range n {
		mustAllow(t, b).Failure()
	}
}

// halfOpen returns a breaker whose cooldown is just over: the next call is a probe.
func halfOpen(t *testing.T, config breaker.Config) *breaker.Breaker {
	t.Helper()
	if config.Cooldown == 0 {
		config.Cooldown = cooldown
	}
	if config.ProbeLease == 0 {
		config.ProbeLease = lease
	}
	b := breaker.New(config)
	b.Trip()
	time.Sleep(config.Cooldown)
	return b
}

func TestStrikesMustBeConsecutive(t *testing.T) {
	b := breaker.New(breaker.Config{Failures: 3})
	strike(t, b, 2)
	mustAllow(t, b).Success()
	strike(t, b, 2)
	mustAllow(t, b).Ignore()
	if got := b.Counts().Strikes; got != 2 {
		t.Fatalf("%d strikes, want 2: a success forgets earlier ones, an ignored call none", got)
	}
	mustBe(t, b, breaker.Closed)
	strike(t, b, 1)
	mustBe(t, b, breaker.Open)
}

func TestDefaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{})
		strike(t, b, 2)
		mustBe(t, b, breaker.Closed)
		strike(t, b, 1)
		mustReject(t, b, 60*time.Second)
		time.Sleep(60 * time.Second)
		probe := mustProbe(t, b)
		mustReject(t, b, 300*time.Second)
		probe.Success()
		mustBe(t, b, breaker.Closed)
	})
}

func TestSeveralSuccessesClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := halfOpen(t, breaker.Config{Successes: 3})
		for range 2 {
			mustProbe(t, b).Success()
			mustBe(t, b, breaker.HalfOpen)
		}
		mustProbe(t, b).Failure()
		mustBe(t, b, breaker.Open)
		time.Sleep(cooldown)
		for range 2 { // those of the period before do not count
			mustProbe(t, b).Success()
			mustBe(t, b, breaker.HalfOpen)
		}
		mustProbe(t, b).Success()
		mustBe(t, b, breaker.Closed)
	})
}

// A cooldown or a lease that is as good as endless must not wrap round to the past.
func TestEndlessTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Cooldown: math.MaxInt64})
		time.Sleep(time.Hour)
		b.Trip()
		time.Sleep(24 * 365 * time.Hour)
		if _, err := b.Allow(); err == nil {
			t.Fatal("an endless cooldown was over after a year")
		}

		b = halfOpen(t, breaker.Config{ProbeLease: math.MaxInt64})
		mustProbe(t, b)
		time.Sleep(24 * 365 * time.Hour)
		if _, err := b.Allow(); err == nil {
			t.Fatal("an endless lease was over after a year")
		}
	})
}

func TestNegativeConfig(t *testing.T) {
	for name, config := range map[string]breaker.Config{
		"Failures":   {Failures: -1},
		"Cooldown":   {Cooldown: -time.Second},
		"Probes":     {Probes: -1},
		"Successes":  {Successes: -1},
		"ProbeLease": {ProbeLease: -1},
	} {
		t.Run(name, func(t *testing.T) {
			err := config.Validate()
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Fatalf("Validate: %v, want an error that names %s", err, name)
			}
			defer func() {
				if recover() == nil {
					t.Fatal("New took a negative setting")
				}
			}()
			breaker.New(config)
		})
	}
}

func TestErrorSaysWhenToComeBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Cooldown: cooldown, ProbeLease: lease})
		b.Trip()
		open := mustReject(t, b, cooldown)
		expectText(t, open, "circuit breaker open, next try in 1m0s")
		time.Sleep(cooldown - 1500*time.Millisecond)
		expectText(t, open, "circuit breaker open, next try in 1.5s")
		time.Sleep(cooldown)
		expectText(t, open, "circuit breaker open, may be tried again now")

		probe := mustProbe(t, b)
		full := mustReject(t, b, lease)
		expectText(t, full, "circuit breaker half-open, all probes out, next try in 5m0s")
		probe.Success()
		if got := full.RetryAfter(); got != 0 {
			t.Fatalf("RetryAfter %v after the breaker closed, want 0", got)
		}
		if open.State() != breaker.Open || full.State() != breaker.HalfOpen {
			t.Fatalf("rejected by %v and %v", open.State(), full.State())
		}
		expectText(t, new(breaker.OpenError), "circuit breaker closed, may be tried again now")
	})
}

func expectText(t *testing.T, err error, want string) {
	t.Helper()
	if got := err.Error(); got != want {
		t.Fatalf("error text %q, want %q", got, want)
	}
}

func TestCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Failures: 2, Probes: 2, Cooldown: cooldown, ProbeLease: lease})
		expectCounts(t, b, breaker.Counts{})
		strike(t, b, 1)
		expectCounts(t, b, breaker.Counts{Strikes: 1})
		strike(t, b, 1)
		mustReject(t, b, cooldown)
		expectCounts(t, b, breaker.Counts{
			State: breaker.Open, Opened: 1, Rejected: 1, RetryAfter: cooldown,
		})
		time.Sleep(cooldown)
		mustProbe(t, b)
		time.Sleep(time.Second)
		mustProbe(t, b)
		mustReject(t, b, lease-time.Second)
		expectCounts(t, b, breaker.Counts{
			State: breaker.HalfOpen, ProbesOut: 2, Opened: 1, Rejected: 2,
			RetryAfter: lease - time.Second,
		})
		time.Sleep(lease - time.Second)
		expectCounts(t, b, breaker.Counts{
			State: breaker.HalfOpen, ProbesOut: 1, Opened: 1, Rejected: 2,
		})
		b.Trip()
		b.Reset()
		expectCounts(t, b, breaker.Counts{Opened: 2, Rejected: 2})
	})
}

func expectCounts(t *testing.T, b *breaker.Breaker, want breaker.Counts) {
	t.Helper()
	if got := b.Counts(); got != want {
		t.Fatalf("counts\n%+v, want\n%+v", got, want)
	}
}

func TestNames(t *testing.T) {
	var names []string
	for s := breaker.Closed; s <= breaker.HalfOpen+1; s++ {
		names = append(names, s.String())
	}
	for r := breaker.ReasonStrikes; r <= breaker.ReasonTrip+1; r++ {
		names = append(names, r.String())
	}
	got := strings.Join(names, ", ")
	want := "closed, open, half-open, state(3), " +
		"strikes, cooldown over, probe ok, probe failed, reset, trip, reason(6)"
	if got != want {
		t.Fatalf("names %s, want %s", got, want)
	}
}
