package oracle

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// graceShare is the part of a deadline by which a call may miss it, at least a fast bound: timers of three processes add up.
const graceShare = 0.1

// hungCalls finds calls that ended later than their own deadline and a grace, or never, and failures that had to come fast
// and did not. Silence until the deadline is allowed: that is what a deadline is for (spec-T1).
func hungCalls(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, c := range v.calls {
		if f, ok := v.overdue(c); ok {
			out = append(out, f)
		} else if f, ok := v.slowFailure(c); ok {
			out = append(out, f)
		}
	}
	return perServer(out)
}

// overdue judges a call against its own deadline.
func (v *view) overdue(c *call) (verdict.Finding, bool) {
	deadline := time.Duration(c.Timeout)
	if deadline <= 0 && v.profile.Timings != nil {
		deadline = v.profile.Timings.Call.D()
	}
	if deadline <= 0 || c.done && c.took() <= deadline {
		return verdict.Finding{}, false // nobody promised anything, or it was kept
	}
	slack := v.slackOf(c)
	bound := deadline + max(budget.Fast(v.profile, slack), time.Duration(graceShare*float64(deadline)*slack))
	if c.done && c.took() <= bound || !c.done && !v.leftAlone(c, bound) {
		return verdict.Finding{}, false
	}
	at := c.T.Add(bound)
	f := v.finding(verdict.FindingHungCall, c.Server, at, "a call to %s with a deadline of %s was never answered", c.name(), verdict.Span(deadline))
	end := v.line(v.last, "the history ends; still no answer")
	if c.done && !c.answered() {
		end = v.line(c.end, "given up on; still no answer")
	} else if c.done {
		f.Note = v.clean("a call to " + c.name() + " with a deadline of " + verdict.Span(deadline) + " ended after " + verdict.Span(c.took()))
		end = v.line(c.end, "it %s", v.outcome(c))
	}
	f.Expected = "an answer or an error within " + verdict.Span(bound)
	f.Evidence = []verdict.Line{v.line(c.T, "call to %s begins", c.name()), end}
	return f, true
}

// leftAlone says whether a call without an answer had all the time of its bound: the target was up, nobody was closing it, and the
// history goes on that long.
func (v *view) leftAlone(c *call, bound time.Duration) bool {
	due := c.T.Add(bound)
	for _, e := range v.all(history.TargetExit, since(c.T)) {
		if e.T <= due {
			return false
		}
	}
	for _, e := range v.all(history.CloseEnd, since(c.T)) {
		if e.T.Add(-time.Duration(e.D)) <= due {
			return false
		}
	}
	return v.last >= due
}

// slowFailure judges a failure that the scenario wants fast. It counts from the moment the call met the fault: before, the server
// may have been at work.
func (v *view) slowFailure(c *call) (verdict.Finding, bool) {
	if !c.Fast || !c.answered() || c.good() || v.ended(c) || v.closing(c) {
		return verdict.Finding{}, false
	}
	from := v.struck(c)
	took := c.end.Sub(from)
	bound := budget.Fast(v.profile, v.slackNear(from, c.end))
	if took <= bound {
		return verdict.Finding{}, false
	}
	f := v.finding(verdict.FindingHungCall, c.Server, c.end, "error came after %s", verdict.Span(took))
	f.Expected = "the error within " + verdict.Span(bound) + " of the fault"
	f.Evidence = []verdict.Line{v.line(c.T, "call to %s begins", c.name())}
	if from != c.T {
		f.Evidence = append(f.Evidence, v.line(from, "the fault meets it"))
	}
	f.Evidence = append(f.Evidence, v.line(c.end, "it %s", v.outcome(c)))
	return f, true
}

// struck is when the fault met a call that was under way: the first thing that a rule did after it began, in the life that had read
// it if any had; the end of that life; or the injection. A call that began after all that met it at once.
func (v *view) struck(c *call) mono.Time {
	life, read := v.readBy(c)
	t, acted := c.T, false
	for _, e := range v.entries {
		if e.Server != c.Server || e.Role != "" || e.T <= c.T || e.T > c.end || read && e.Life != life {
			continue
		}
		rule := e.Kind == journal.Rule || e.Kind == journal.Ack
		if rule && !acted || read && e.Kind == journal.Exit {
			t, acted = max(t, e.T), true
		}
	}
	for _, e := range v.all(history.Inject, on(c.Server)) {
		if e.T > t && e.T <= c.end {
			t = e.T
		}
	}
	return t
}

// readBy is the life that read the call first.
func (v *view) readBy(c *call) (life int, ok bool) {
	if c.Nonce == "" {
		return 0, false
	}
	for _, e := range v.seen(c.Server, journal.Request) {
		if e.Nonce == c.Nonce {
			return e.Life, true
		}
	}
	return 0, false
}

// perServer keeps the first finding of each kind and server and lets its evidence name the others: one hung target makes hundreds
// of hung calls. The order is that of the findings.
func perServer(fs []verdict.Finding) []verdict.Finding {
	type key struct{ kind, server string }
	at := make(map[key]int)
	var out []verdict.Finding
	for _, f := range fs {
		k := key{f.Kind, f.Server}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, f)
			continue
		}
		out[i].Evidence = append(out[i].Evidence, verdict.Line{At: f.At, Text: f.Note})
	}
	for i := range out {
		out[i].Evidence = evidence(out[i].Evidence)
	}
	return out
}
