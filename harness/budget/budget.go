// Package budget says how long a recovery may take: the sum of the waits that a target declares, times the slack of the
// machine it ran on. It reads profiles, fault descriptions and histories; it starts nothing and reads no clock.
//
// A newcomer changes For when a new kind of declared wait is added to target.Timings.
package budget

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/target"
)

// Budget is a bound on the time from a fault being lifted to the first good call.
type Budget struct {
	// Total is the bound, slack included; 0 when the target declares no timings, so that no bound is known.
	Total time.Duration
	// Text spells the sum out in seconds: "(cooldown 60 + connect 3 + backoff 1) x 1.3". Empty without a bound.
	Text string
}

// Known says whether there is a bound at all.
func (b Budget) Known() bool { return b.Total > 0 }

// DefaultCap bounds every budget where the user sets no other: what takes longer than this to come back is down for whoever waits.
const DefaultCap = 10 * time.Minute

// minTotal is the least a budget may be: a target that declares next to nothing still needs a process start and a call, and
// the fast bound is what the rest of the harness calls "at once".
const minTotal = fastFloor

// term is one declared wait.
type term struct {
	name string
	d    time.Duration
}

// For sums the declared waits that stand between a lifted fault and a good call, and stretches them by slack (less than 1 counts as 1). limit
// caps the total; 0 takes DefaultCap.
//
//	detect      how the loss is found: nothing when it is loud, else liveness x misses, or the call timeout without liveness
//	parked      one slow retry, when the fault can use up the quick ones: the demand interval, since the harness keeps
//	            calling, or the parked retry where no such interval is declared
//	cooldown    an open breaker lets a probe through
//	probe lease a half-open probe that was swallowed expires; only when the fault is not loud
//	connect     the new session
//	backoff     the delay in force: the longest, or the first when the fault hits one life only
//	call        a call that was swallowed; only when the fault is not loud
//
// Without faults the sum is that of the loudest one. Several faults take the most patient of each.
func For(p target.Profile, fs []faults.Info, slack float64, limit time.Duration) Budget {
	t := p.Timings
	if t == nil {
		return Budget{}
	}
	silent, parks := false, false
	for _, f := range fs {
		silent = silent || !f.Loud
		parks = parks || !f.OneLife
	}
	var sum []term
	add := func(name string, d time.Duration) {
		if d > 0 {
			sum = append(sum, term{name, d})
		}
	}
	if silent {
		add("detect", detect(t))
	}
	if parks {
		add("parked", parked(t))
	}
	add("cooldown", t.Cooldown.D())
	if silent {
		add("probe lease", t.ProbeLease.D())
	}
	add("connect", t.Connect.D())
	if parks {
		add("backoff", max(t.BackoffMin.D(), t.BackoffMax.D()))
	} else {
		add("backoff", t.BackoffMin.D())
	}
	if silent {
		add("call", t.Call.D())
	}
	return total(sum, slack, limit)
}

// detect is how long a silent loss may go unnoticed.
func detect(t *target.Timings) time.Duration {
	if t.Liveness > 0 {
		return t.Liveness.D() * time.Duration(max(1, t.LivenessMisses))
	}
	return t.Call.D()
}

// parked is how long a parked target may wait before it tries again while calls keep coming.
func parked(t *target.Timings) time.Duration {
	if t.DemandInterval > 0 && (t.ParkedRetry == 0 || t.DemandInterval < t.ParkedRetry) {
		return t.DemandInterval.D()
	}
	return t.ParkedRetry.D()
}

func total(sum []term, slack float64, limit time.Duration) Budget {
	slack = max(1, slack)
	if limit <= 0 {
		limit = DefaultCap
	}
	var d time.Duration
	words := make([]string, len(sum))
	for i, t := range sum {
		d += t.d
		words[i] = t.name + " " + Seconds(t.d)
	}
	b := Budget{Total: time.Duration(float64(d) * slack), Text: "(" + strings.Join(words, " + ") + ") x " + Factor(slack)}
	if d < minTotal {
		b.Total = time.Duration(float64(minTotal) * slack)
		b.Text = fmt.Sprintf("at least %s s x %s", Seconds(minTotal), Factor(slack))
	}
	if b.Total > limit {
		b.Total = limit
		b.Text += ", at most " + Seconds(limit)
	}
	return b
}

// Seconds writes d as seconds with at most two digits behind the point: "0.25", "3", "61.5".
func Seconds(d time.Duration) string {
	return strconv.FormatFloat(round(d.Seconds(), 100), 'f', -1, 64)
}

// Factor writes a slack with one digit behind the point: "1.3".
func Factor(slack float64) string { return strconv.FormatFloat(round(slack, 10), 'f', -1, 64) }

func round(v, per float64) float64 { return float64(int64(v*per+0.5)) / per }

// Poll is how often the harness looks at what it cannot await.
const Poll = 50 * time.Millisecond

// fastFloor is the least that "fast" can mean on a machine that does other work as well: a process start, a few switches, a call.
const fastFloor = 250 * time.Millisecond

// callsPerFast is how many times longer than the fast bound a call timeout must be, so that an error that came fast can be told
// from one that rode the timeout.
const callsPerFast = 10

// Fast is the bound for an error that must come at once: the larger of 250 ms and two polls, times slack. The polls are
// the target's own liveness probes where it declares them, else the harness's.
func Fast(p target.Profile, slack float64) time.Duration {
	poll := Poll
	if p.Timings != nil && p.Timings.Liveness.D() > poll {
		poll = p.Timings.Liveness.D()
	}
	return time.Duration(float64(max(fastFloor, 2*poll)) * max(1, slack))
}

// FastOK says whether the profile's timings can tell a fast error from a timed out one: its call timeout must be at least ten
// times the fast bound. A scenario with fast steps is refused otherwise, and also where no call timeout is declared.
func FastOK(p target.Profile) bool {
	return p.Timings != nil && p.Timings.Call.D() >= callsPerFast*Fast(p, 1)
}

// Stop bounds an orderly stop: the grace after EOF, the grace after SIGTERM, and the kill, which is a fast bound. 0 when no
// grace is declared.
func Stop(p target.Profile, slack float64) time.Duration {
	if p.Timings == nil || p.Timings.StopGrace <= 0 {
		return 0
	}
	return time.Duration(float64(2*p.Timings.StopGrace.D())*max(1, slack)) + Fast(p, slack)
}
