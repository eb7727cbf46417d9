package oracle

import (
	"slices"
	"time"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

const (
	// timesBaseline is how much slower than the baseline's median a bystander's call may be. A fault in one server costs the others
	// nothing (SUP-11); what a busy machine costs them is in the slack and in the floor.
	timesBaseline = 10
	// bystanderFloor is what any call may take. With all cores busy single calls wait for hundreds of milliseconds; whoever waits
	// for another server's fault waits for a timeout, which is seconds.
	bystanderFloor = time.Second
)

// harmedBystanders looks at the steady calls to servers without a fault.
func harmedBystanders(v *view) []verdict.Finding {
	usual := v.baselineLatency()
	var out []verdict.Finding
	for _, c := range v.calls {
		if c.Load != history.LoadBystander || v.isFaulted(c.Server) || v.ended(c) || v.closing(c) || v.restarting(c) || !c.done {
			continue // a call without an answer is a hung call
		}
		if c.good() && c.took() <= bystanderFloor {
			continue // the usual case, judged without reading the metronome
		}
		slack := v.slackOf(c)
		bound := time.Duration(float64(max(bystanderFloor, timesBaseline*usual)) * slack)
		f := v.finding(verdict.FindingBystander, c.Server, c.end, "%s has no fault, yet a call to it took %s", c.Server, verdict.Span(c.took()))
		switch {
		case !c.good():
			f.Note = v.clean(c.Server + " has no fault, yet a call to it " + v.outcome(c))
		case c.took() <= bound:
			continue
		}
		f.Expected = "good answers within " + verdict.Span(bound)
		f.Evidence = []verdict.Line{v.line(c.T, "call to %s begins", c.name()), v.line(c.end, "it %s after %s", v.outcome(c), verdict.Span(c.took()))}
		out = append(out, f)
	}
	return perServer(out)
}

// baselineLatency is the median of the good baseline calls; 0 when there were none.
func (v *view) baselineLatency() time.Duration {
	var took []time.Duration
	for _, c := range v.calls {
		if c.Load == history.LoadBaseline && c.good() {
			took = append(took, c.took())
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// restarting says whether the call met the time in which the ladder restarted the target.
func (v *view) restarting(c *call) bool {
	for _, r := range v.all(history.Rung, func(e history.Event) bool { return e.Rung == history.RungRestart }) {
		up := v.last
		for _, e := range v.all(history.TargetUp, since(r.T)) {
			up = min(up, e.T)
		}
		if c.T <= up && (!c.done || c.end >= r.T) {
			return true
		}
	}
	return false
}
