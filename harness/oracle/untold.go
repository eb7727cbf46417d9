package oracle

import (
	"time"

	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// onTheWay is how long before a close a call must have begun to count as in flight: it may not have reached the target yet.
const onTheWay = 25 * time.Millisecond

// untoldCalls finds step calls that were in flight when the target began to close and were not told at once: left hanging until the
// process ended under them, or answered only after the close had waited for them (modelcontextprotocol/kotlin-sdk#514).
func untoldCalls(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, e := range v.all(history.CloseEnd) {
		begun := e.T.Add(-time.Duration(e.D))
		bound := budget.Fast(v.profile, v.slackNear(begun, e.T))
		for _, c := range v.calls {
			pending := c.Load == history.LoadStep && c.T <= begun.Add(-onTheWay) && (!c.done || c.end > begun)
			if !pending || c.answered() && !leftBehind(c) && c.end.Sub(begun) <= bound {
				continue
			}
			if v.nobodyThere(c, begun) {
				continue
			}
			f := v.finding(verdict.FindingHungCall, c.Server, begun, "a call to %s was in flight when the target closed, and was not told", c.name())
			f.Expected = "an error within " + verdict.Span(bound) + " of the close"
			f.Evidence = []verdict.Line{
				v.line(c.T, "call to %s begins", c.name()), v.line(begun, "close begins"), v.line(c.end, "it %s", v.untold(c)),
			}
			out = append(out, f)
		}
	}
	return perServer(out)
}

// leftBehind says whether the end of the target's process was all that the caller ever heard.
func leftBehind(c *call) bool { return c.res.Detail != "" }

// nobodyThere says whether the target had ended before the close began, so that there was nobody to tell the call.
func (v *view) nobodyThere(c *call, begun mono.Time) bool {
	for _, exit := range v.all(history.TargetExit) {
		if exit.T >= c.T && exit.T <= begun {
			return true
		}
	}
	return false
}

func (v *view) untold(c *call) string {
	if leftBehind(c) {
		return "ends with the target's process: nobody answers any more"
	}
	return v.outcome(c)
}
