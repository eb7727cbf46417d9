package budget

import (
	"slices"
	"time"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/internal/mono"
)

// ReferenceSpawn is what one control spawn (start the stdio fake, connect, one good call) takes on a quiet machine of the kind that the
// scaled timings were chosen on. A machine that needs twice as long gets twice the time.
const ReferenceSpawn = 25 * time.Millisecond

// MaxSlack is where stretching ends: on a machine that is this much slower than usual a missed bound says nothing about the target.
const MaxSlack = 10

// Slack is how much slower than a quiet reference machine this one was over the whole history.
func Slack(events []history.Event) float64 {
	if len(events) == 0 {
		return 1
	}
	from, to := events[0].T, events[0].T
	for _, e := range events {
		from, to = min(from, e.T), max(to, e.T)
	}
	return SlackIn(events, from, to)
}

// SlackIn is the slack of one window, from the metronome that runs all the time. It is the larger of two factors, at least 1 and at most
// MaxSlack:
//
//	timers  elapsed / (elapsed - lateness), where lateness is what the late part of every tick covers of the window. The declared waits
//	        are made of timers; when every one of them comes late, their sum grows by just this factor, also when a single one was very late.
//	spawns  mean duration of the control spawns that touch the window / the usual one, which is the median of the spawns before the first
//	        injection, but not more than ReferenceSpawn, so that a machine that was slow from the start is not measured against itself, and
//	        not less than half of it, so that a fast machine's jitter is no load.
//
// Events may be in any order. from and to are inclusive.
func SlackIn(events []history.Event, from, to mono.Time) float64 {
	usual := usualSpawn(events)
	var late, spawned time.Duration
	spawns := 0
	for _, e := range events {
		if e.Kind != history.Tick && e.Kind != history.Spawned || e.D <= 0 {
			continue
		}
		d := time.Duration(e.D) // it covers the time from T-D to T
		covered := min(e.T, to).Sub(max(e.T.Add(-d), from))
		if covered < 0 {
			continue
		}
		if e.Kind == history.Tick {
			late += covered
		} else {
			spawned += d
			spawns++
		}
	}
	slack := 1.0
	if elapsed := to.Sub(from); late > 0 {
		if late >= elapsed {
			return MaxSlack
		}
		slack = max(slack, float64(elapsed)/float64(elapsed-late))
	}
	if spawns > 0 {
		slack = max(slack, float64(spawned)/float64(spawns)/float64(usual))
	}
	return min(slack, MaxSlack)
}

// usualSpawn is the yardstick for control spawns.
func usualSpawn(events []history.Event) time.Duration {
	injected := mono.Time(0)
	found := false
	for _, e := range events {
		if e.Kind == history.Inject && (!found || e.T < injected) {
			injected, found = e.T, true
		}
	}
	var before []time.Duration
	for _, e := range events {
		if e.Kind == history.Spawned && e.D > 0 && (!found || e.T < injected) {
			before = append(before, time.Duration(e.D))
		}
	}
	if len(before) == 0 {
		return ReferenceSpawn
	}
	slices.Sort(before)
	return max(ReferenceSpawn/2, min(before[len(before)/2], ReferenceSpawn))
}
