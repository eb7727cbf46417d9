package budget

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/internal/mono"
)

const ms = mono.Time(time.Millisecond)

func tick(at mono.Time, late time.Duration) history.Event {
	return history.Event{T: at * ms, Kind: history.Tick, D: int64(late)}
}

func spawned(at mono.Time, d time.Duration) history.Event {
	return history.Event{T: at * ms, Kind: history.Spawned, D: int64(d)}
}

func TestSlackOfNothingIsOne(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Slack(nil)).To(Equal(1.0))
	g.Expect(SlackIn(nil, 0, 1000*ms)).To(Equal(1.0))
	g.Expect(Slack([]history.Event{tick(5, 0), tick(10, 0)})).To(Equal(1.0))
}

func TestLateTimersStretchByWhatTheyLost(t *testing.T) {
	g := NewWithT(t)
	// 100 ms timers that take 150 ms each.
	steady := []history.Event{{Kind: history.RunStart}}
	for at := mono.Time(150); at <= 1500; at += 150 {
		steady = append(steady, tick(at, 50*time.Millisecond))
	}
	g.Expect(Slack(steady)).To(BeNumerically("~", 1.5, 0.001))
	// One tick that was 2 s late in 6 s: work that needs 4 s fits.
	g.Expect(SlackIn([]history.Event{tick(3000, 2*time.Second)}, 0, 6000*ms)).To(BeNumerically("~", 1.5, 0.001))
	// Only the part inside the window counts, on either edge.
	g.Expect(SlackIn([]history.Event{tick(1000, 2*time.Second)}, 0, 3000*ms)).To(BeNumerically("~", 1.5, 0.001))
	g.Expect(SlackIn([]history.Event{tick(4000, 2*time.Second)}, 0, 3000*ms)).To(BeNumerically("~", 1.5, 0.001))
	g.Expect(SlackIn([]history.Event{tick(9000, 2*time.Second)}, 0, 3000*ms)).To(Equal(1.0))
	g.Expect(SlackIn([]history.Event{tick(3000, 3*time.Second)}, 0, 3000*ms)).To(Equal(float64(MaxSlack)), "it stood still all the time")
}

func TestSlowSpawnsStretch(t *testing.T) {
	g := NewWithT(t)
	inject := history.Event{T: 1000 * ms, Kind: history.Inject}
	events := []history.Event{spawned(100, 20*time.Millisecond), inject, spawned(2000, 60*time.Millisecond)}
	g.Expect(SlackIn(events, 1500*ms, 2500*ms)).To(BeNumerically("~", 3, 0.001), "three times the baseline")
	g.Expect(SlackIn(events, 2100*ms, 2500*ms)).To(Equal(1.0), "no spawn in this window")
	events[0].D = int64(200 * time.Millisecond)
	g.Expect(SlackIn(events, 1500*ms, 2500*ms)).To(BeNumerically("~", 2.4, 0.001), "a slow baseline is no yardstick")
	events[0].D = int64(time.Millisecond)
	g.Expect(SlackIn(events, 1500*ms, 2500*ms)).To(BeNumerically("~", 4.8, 0.001), "nor is a very fast one")
	events[2].D = int64(time.Hour)
	g.Expect(SlackIn(events, 1500*ms, 2500*ms)).To(Equal(float64(MaxSlack)))
}
