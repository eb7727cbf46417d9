package breaker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/unwedge/unwedge/breaker"
)

// model is a breaker as one would explain it: no atomics, no pools, no sharing. It
// remembers every permit for ever, so that idempotence is a plain flag.
type model struct {
	config     breaker.Config
	now        time.Duration
	state      breaker.State
	generation int
	strikes    int
	openUntil  time.Duration
	successes  int
	slots      []int // permits that hold one, oldest first
	permits    []modelPermit
	opened     uint64
	rejected   uint64
	told       story
}

type modelPermit struct {
	generation int
	probe      bool
	settled    bool
	lease      time.Duration // its end
}

func (m *model) enter(to breaker.State, why breaker.Reason) {
	if m.state != to {
		m.told.tell(breaker.Change{From: m.state, To: to, Reason: why})
	}
	m.state = to
	m.generation++
	m.strikes, m.successes, m.slots = 0, 0, nil
	if to == breaker.Open {
		m.opened++
		m.openUntil = m.now + m.config.Cooldown
	}
}

// allow returns whether there is a permit; it is then the last of m.permits.
func (m *model) allow() bool {
	if m.retryAfter() > 0 {
		m.rejected++
		return false
	}
	if m.state == breaker.Open {
		m.enter(breaker.HalfOpen, breaker.ReasonCooldownOver)
	}
	permit := modelPermit{generation: m.generation}
	if m.state == breaker.HalfOpen {
		permit.probe = true
		permit.lease = m.now + m.config.ProbeLease
		if len(m.slots) == m.config.Probes {
			m.slots = m.slots[1:] // its lease is over, else retryAfter were not 0
		}
		m.slots = append(m.slots, len(m.permits))
	}
	m.permits = append(m.permits, permit)
	return true
}

func (m *model) settle(i int, how string) {
	permit := &m.permits[i]
	if permit.settled {
		return
	}
	permit.settled = true
	if permit.generation != m.generation {
		return
	}
	if m.state == breaker.Closed {
		m.settleClosed(how)
	} else {
		m.settleProbe(i, how)
	}
}

func (m *model) settleClosed(how string) {
	switch how {
	case "success":
		m.strikes = 0
	case "failure":
		m.strikes++
		if m.strikes == m.config.Failures {
			m.enter(breaker.Open, breaker.ReasonStrikes)
		}
	}
}

func (m *model) settleProbe(i int, how string) {
	slot := slices.Index(m.slots, i)
	if slot >= 0 {
		m.slots = slices.Delete(m.slots, slot, slot+1)
	}
	switch {
	case how == "success":
		m.successes++
		if m.successes == m.config.Successes {
			m.enter(breaker.Closed, breaker.ReasonProbeOK)
		}
	case how == "failure" && slot >= 0:
		m.enter(breaker.Open, breaker.ReasonProbeFailed)
	}
}

func (m *model) retryAfter() time.Duration {
	switch {
	case m.state == breaker.Open:
		return max(0, m.openUntil-m.now)
	case m.state == breaker.HalfOpen && len(m.slots) == m.config.Probes:
		return max(0, m.permits[m.slots[0]].lease-m.now)
	}
	return 0
}

func (m *model) counts() breaker.Counts {
	out := 0
	for _, i := range m.slots {
		if m.now < m.permits[i].lease {
			out++
		}
	}
	return breaker.Counts{
		State: m.state, Strikes: m.strikes, ProbesOut: out,
		Opened: m.opened, Rejected: m.rejected, RetryAfter: m.retryAfter(),
	}
}

// The breaker does what the model does, in whatever order things happen to it.
func TestBreakerFollowsTheModel(t *testing.T) {
	const rounds = 20 // of 100 runs each; some mistakes show up once in several hundred
	bubble(t, func(t *testing.T) {
		// Without the wrapping, rapid asks a *testing.T for its deadline, which
		// there is not in a bubble.
		for range rounds {
			rapid.Check(struct{ rapid.TB }{t}, followTheModel)
		}
	})
}

func followTheModel(t *rapid.T) {
	small := rapid.IntRange(1, 3)
	config := breaker.Config{
		Failures:   small.Draw(t, "failures"),
		Probes:     small.Draw(t, "probes"),
		Successes:  small.Draw(t, "successes"),
		Cooldown:   time.Duration(small.Draw(t, "cooldown")) * time.Millisecond,
		ProbeLease: time.Duration(small.Draw(t, "lease")) * time.Millisecond,
	}
	m := &model{config: config}
	var told story
	config.OnChange = told.tell
	b := breaker.New(config)
	var permits []breaker.Permit
	sleep := func(d time.Duration) {
		time.Sleep(d)
		m.now += d
	}

	t.Repeat(map[string]func(*rapid.T){
		"allow": func(t *rapid.T) {
			permit, err := b.Allow()
			if want := m.allow(); want != (err == nil) {
				t.Fatalf("Allow: error %v, want a permit: %v", err, want)
			}
			if err == nil {
				permits = append(permits, permit)
				if want := m.permits[len(permits)-1].probe; permit.Probe() != want {
					t.Fatalf("Probe: %v, want %v", permit.Probe(), want)
				}
			}
		},
		"settle": func(t *rapid.T) {
			if len(permits) == 0 {
				return
			}
			i := len(permits) - 1 - rapid.IntRange(0, len(permits)-1).Draw(t, "how long ago")
			how := rapid.SampledFrom([]string{"success", "failure", "ignore"}).Draw(t, "how")
			settlings[how](permits[i])
			m.settle(i, how)
		},
		"wait": func(t *rapid.T) { sleep(time.Duration(small.Draw(t, "ms")) * time.Millisecond / 2) },
		"wait until just before": func(*rapid.T) {
			if d := m.retryAfter(); d > 0 {
				sleep(d - instant)
			}
		},
		"wait until": func(*rapid.T) { sleep(m.retryAfter()) },
		"reset": func(*rapid.T) {
			b.Reset()
			m.enter(breaker.Closed, breaker.ReasonReset)
		},
		"trip": func(*rapid.T) {
			b.Trip()
			if m.state != breaker.Open {
				m.enter(breaker.Open, breaker.ReasonTrip)
			}
		},
		"": func(t *rapid.T) {
			if got, want := b.Counts(), m.counts(); got != want {
				t.Fatalf("counts\n%+v, want\n%+v", got, want)
			}
			if got, want := fmt.Sprint(told), fmt.Sprint(m.told); got != want {
				t.Fatalf("told\n%v, want\n%v", got, want)
			}
		},
	})

	// Whatever happened: one cooldown and one lease later a call gets through.
	sleep(config.Cooldown + config.ProbeLease)
	if _, err := b.Allow(); err != nil {
		t.Fatalf("wedged: %v in state %v", err, b.State())
	}
}
