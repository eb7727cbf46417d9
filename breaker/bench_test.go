package breaker_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/unwedge/unwedge/breaker"
)

// The budget (BRK-6), as ratios within one run, since machines differ:
//
//	Closed/unwedge, ClosedParallel/unwedge   at most 1/5 of either gobreaker line,
//	                                         no slower than failsafe, 0 allocations
//	Open/unwedge, OpenParallel/unwedge       at most 1.5 x time.Since, 0 allocations
//
// An operation is one call's toll: to ask, and to report a success if let through.
// gobreaker is measured in its two-step form, whose shape is ours, and as the cheaper
// Execute.

func BenchmarkClosed(b *testing.B) { serial(b, true, tolls(false)) }

func BenchmarkClosedParallel(b *testing.B) { parallel(b, true, tolls(false)) }

func BenchmarkOpen(b *testing.B) { serial(b, false, append(tolls(true), timeSince())) }

func BenchmarkOpenParallel(b *testing.B) { parallel(b, false, append(tolls(true), timeSince())) }

// BenchmarkRatios measures the same in small interleaved batches and reports the median
// of the quotients, unwedge divided by the other: steadier than the quotient of the
// lines above when the machine is busy. Its ns/op mean nothing.
func BenchmarkRatios(b *testing.B) {
	for _, group := range []struct {
		name string
		pay  func(toll, int) int
		list []toll
	}{
		{"Closed", payAlone, tolls(false)},
		{"ClosedParallel", payTogether, tolls(false)},
		{"Open", payAlone, append(tolls(true), timeSince())},
		{"OpenParallel", payTogether, append(tolls(true), timeSince())},
	} {
		b.Run(group.name, func(b *testing.B) { ratios(b, group.pay, group.list) })
	}
}

// batch is long enough to start two goroutines unnoticed, short enough for both sides
// of a quotient to see the same machine.
const batch = 10_000

func ratios(b *testing.B, pay func(toll, int) int, list []toll) {
	quotients := make([][]float64, len(list))
	took := make([]time.Duration, len(list))
	for b.Loop() {
		for i, t := range list {
			start := time.Now()
			pay(t, batch)
			took[i] = time.Since(start)
		}
		for i := range list {
			quotients[i] = append(quotients[i], float64(took[0])/float64(took[i]))
		}
	}
	for i, t := range list[1:] {
		q := quotients[i+1]
		slices.Sort(q)
		b.ReportMetric(q[len(q)/2], "x/"+t.name)
	}
}

// toll is one breaker's way round n calls. It returns how many were let through. The
// loop is inside so that the benchmark adds nothing to what it measures.
type toll struct {
	name string
	pay  func(n int) (passed int)
}

func tolls(tripped bool) []toll {
	return []toll{
		unwedge(tripped),
		gobreakerTwoStep(tripped),
		gobreakerExecute(tripped),
		failsafe(tripped),
	}
}

func serial(b *testing.B, pass bool, tolls []toll) { measure(b, pass, payAlone, tolls) }

func parallel(b *testing.B, pass bool, tolls []toll) { measure(b, pass, payTogether, tolls) }

func measure(b *testing.B, pass bool, pay func(toll, int) int, tolls []toll) {
	for _, t := range tolls {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			want := 0
			if pass {
				want = b.N
			}
			if passed := pay(t, b.N); passed != want {
				b.Errorf("%d of %d calls passed, want %d", passed, b.N, want)
			}
		})
	}
}

func payAlone(t toll, n int) (passed int) { return t.pay(n) }

// payTogether shares n calls among as many goroutines as there are processors.
func payTogether(t toll, n int) (passed int) {
	var all sync.WaitGroup
	var sum atomic.Int64
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		all.Go(func() { sum.Add(int64(t.pay((n + worker) / workers))) })
	}
	all.Wait()
	return int(sum.Load())
}

func unwedge(tripped bool) toll {
	br := breaker.New(breaker.Config{Cooldown: time.Hour})
	if tripped {
		br.Trip()
	}
	return toll{"unwedge", func(n int) (passed int) {
		for range n {
			if permit, err := br.Allow(); err == nil {
				permit.Success()
				passed++
			}
		}
		return passed
	}}
}

var errDown = errors.New("down")

func gobreakerSettings() gobreaker.Settings {
	return gobreaker.Settings{
		Timeout:     time.Hour,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 },
	}
}

func gobreakerTwoStep(tripped bool) toll {
	br := gobreaker.NewTwoStepCircuitBreaker[int](gobreakerSettings())
	for tripped && br.State() == gobreaker.StateClosed {
		if done, err := br.Allow(); err == nil {
			done(errDown)
		}
	}
	return toll{"gobreaker", func(n int) (passed int) {
		for range n {
			if done, err := br.Allow(); err == nil {
				done(nil)
				passed++
			}
		}
		return passed
	}}
}

func gobreakerExecute(tripped bool) toll {
	br := gobreaker.NewCircuitBreaker[int](gobreakerSettings())
	for tripped && br.State() == gobreaker.StateClosed {
		_, _ = br.Execute(func() (int, error) { return 0, errDown })
	}
	call := func() (int, error) { return 0, nil }
	return toll{"gobreaker-execute", func(n int) (passed int) {
		for range n {
			if _, err := br.Execute(call); err == nil {
				passed++
			}
		}
		return passed
	}}
}

func failsafe(tripped bool) toll {
	br := circuitbreaker.NewBuilder[any]().WithFailureThreshold(3).WithDelay(time.Hour).Build()
	if tripped {
		br.Open()
	}
	return toll{"failsafe", func(n int) (passed int) {
		for range n {
			if br.TryAcquirePermit() {
				br.RecordSuccess()
				passed++
			}
		}
		return passed
	}}
}

// timeSince is one look at the clock, which an open breaker cannot do without.
func timeSince() toll {
	start := time.Now()
	return toll{"time.Since", func(n int) (passed int) {
		for range n {
			if time.Since(start) < 0 {
				passed++
			}
		}
		return passed
	}}
}
