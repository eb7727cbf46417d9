package budget

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/target"
)

func s(d time.Duration) script.Duration { return script.Duration(d) }

// usual are the timings of the field's best-known implementation.
func usual() target.Profile {
	return target.Profile{Timings: &target.Timings{
		Call: s(300 * time.Second), Connect: s(60 * time.Second), Cooldown: s(60 * time.Second),
		ProbeLease: s(300 * time.Second), BackoffMin: s(time.Second), BackoffMax: s(60 * time.Second), Retries: 5,
		ParkedRetry: s(300 * time.Second), DemandInterval: s(5 * time.Second),
		Liveness: s(180 * time.Second), LivenessMisses: 3,
	}}
}

var (
	death  = faults.Info{ID: "death", Loud: true, OneLife: true}
	loop   = faults.Info{ID: "loop", Loud: true}
	frozen = faults.Info{ID: "frozen", OneLife: true}
	opaque = faults.Info{ID: "opaque"}
)

func TestBudgetSpellsItsSumOut(t *testing.T) {
	gw := target.Profile{Timings: &target.Timings{
		Call: s(300 * time.Second), Connect: s(3 * time.Second), Cooldown: s(60 * time.Second), BackoffMin: s(time.Second),
	}}
	for _, c := range []struct {
		name   string
		p      target.Profile
		fs     []faults.Info
		slack  float64
		cap    time.Duration
		text   string
		expect time.Duration
	}{
		{"as in the sample", gw, []faults.Info{death}, 1.3, 0, "(cooldown 60 + connect 3 + backoff 1) x 1.3", 83200 * time.Millisecond},
		{"a slack under one is one", gw, []faults.Info{death}, 0.2, 0, "(cooldown 60 + connect 3 + backoff 1) x 1", 64 * time.Second},
		{"a loop uses up the retries", usual(), []faults.Info{loop}, 1, 0,
			"(parked 5 + cooldown 60 + connect 60 + backoff 60) x 1", 185 * time.Second},
		{"a frozen life is found by probes and swallows a call", usual(), []faults.Info{frozen}, 1, time.Hour,
			"(detect 540 + cooldown 60 + probe lease 300 + connect 60 + backoff 1 + call 300) x 1", 1261 * time.Second},
		{"without probes only the call timeout tells", gw, []faults.Info{frozen}, 1, time.Hour,
			"(detect 300 + cooldown 60 + connect 3 + backoff 1 + call 300) x 1", 664 * time.Second},
		{"the most patient of several faults counts", usual(), []faults.Info{death, opaque}, 1, time.Hour,
			"(detect 540 + parked 5 + cooldown 60 + probe lease 300 + connect 60 + backoff 60 + call 300) x 1", 1325 * time.Second},
		{"capped", usual(), []faults.Info{frozen}, 2, 0,
			"(detect 540 + cooldown 60 + probe lease 300 + connect 60 + backoff 1 + call 300) x 2, at most 600", 600 * time.Second},
		{"next to nothing declared", target.Profile{Timings: &target.Timings{}}, []faults.Info{death}, 2, 0,
			"at least 0.25 s x 2", 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			b := For(c.p, c.fs, c.slack, c.cap)
			g.Expect(b.Text).To(Equal(c.text))
			g.Expect(b.Total).To(BeNumerically("~", c.expect, time.Microsecond))
			g.Expect(b.Known()).To(BeTrue())
		})
	}
}

func TestNoTimingsNoBound(t *testing.T) {
	g := NewWithT(t)
	g.Expect(For(target.Profile{}, []faults.Info{death}, 1, 0)).To(Equal(Budget{}))
	g.Expect(Budget{}.Known()).To(BeFalse())
	g.Expect(FastOK(target.Profile{})).To(BeFalse())
	g.Expect(Stop(target.Profile{}, 1)).To(BeZero())
}

func TestParkedTakesTheShorterWay(t *testing.T) {
	g := NewWithT(t)
	g.Expect(parked(&target.Timings{ParkedRetry: s(time.Minute)})).To(Equal(time.Minute))
	g.Expect(parked(&target.Timings{ParkedRetry: s(time.Second), DemandInterval: s(time.Minute)})).To(Equal(time.Second))
	g.Expect(parked(&target.Timings{})).To(BeZero())
}

func TestFastAndWhoCanBeAskedForIt(t *testing.T) {
	g := NewWithT(t)
	scaled := target.Profile{Timings: &target.Timings{Call: s(5 * time.Second), Liveness: s(250 * time.Millisecond)}}
	g.Expect(Fast(scaled, 1)).To(Equal(500*time.Millisecond), "two liveness polls")
	g.Expect(Fast(scaled, 2)).To(Equal(time.Second))
	g.Expect(Fast(target.Profile{}, 0)).To(Equal(250*time.Millisecond), "the floor")
	g.Expect(FastOK(scaled)).To(BeTrue(), "5 s is ten times 500 ms")
	scaled.Timings.Call = s(4 * time.Second)
	g.Expect(FastOK(scaled)).To(BeFalse())
}

func TestStopIsTwoGracesAndAKill(t *testing.T) {
	g := NewWithT(t)
	p := target.Profile{Timings: &target.Timings{StopGrace: s(time.Second)}}
	g.Expect(Stop(p, 1)).To(Equal(2250 * time.Millisecond))
	g.Expect(Stop(p, 2)).To(Equal(4500 * time.Millisecond))
}

func TestSettingsOverrideTimings(t *testing.T) {
	g := NewWithT(t)
	p := usual()
	q := With(p, map[string]int64{"liveness_ms": -1, "cooldown_ms": 600, "retries": 2, "unheard_of": 3})
	g.Expect(q.Timings.Liveness.D()).To(BeZero())
	g.Expect(q.Timings.Cooldown.D()).To(Equal(600 * time.Millisecond))
	g.Expect(q.Timings.Retries).To(Equal(2))
	g.Expect(p.Timings.Cooldown.D()).To(Equal(time.Minute), "the original is untouched")
	g.Expect(With(q, map[string]int64{"liveness_ms": -1})).To(Equal(q), "twice is as good as once")
	g.Expect(With(target.Profile{}, map[string]int64{"cooldown_ms": 1}).Timings).To(BeNil())
}
