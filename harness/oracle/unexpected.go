package oracle

import (
	"fmt"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// unexpectedResults holds every step's calls against what the scenario expects of them, and a manual reconnect against success.
// Calls that were never answered are hung calls.
func unexpectedResults(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, c := range v.calls {
		if c.Load != history.LoadStep || !c.done || v.ended(c) || v.closing(c) {
			continue
		}
		switch want := c.Want; {
		case (want == "" || want == scenario.ExpectOK) && !c.good():
			out = append(out, v.unexpected(c, fmt.Sprintf("step %d: a call to %s that had to work %s", c.Step+1, c.name(), v.outcome(c)), "a good answer"))
		case want == scenario.ExpectError && c.good():
			out = append(out, v.unexpected(c, fmt.Sprintf("step %d: a call to %s that had to fail was answered", c.Step+1, c.name()), "an error"))
		}
	}
	for _, e := range v.all(history.StepEnd) {
		if s, ok := v.step(e.Step); ok && s.Reconnect != "" && !e.OK && s.Expect != scenario.ExpectAny {
			f := v.finding(verdict.FindingUnexpected, s.Reconnect, e.T, "step %d: the manual reconnect failed", e.Step+1)
			f.Expected = "a fresh session"
			f.Evidence = []verdict.Line{v.line(e.T, "reconnect of %q failed: %s", s.Reconnect, v.quote(e.Detail))}
			out = append(out, f)
		}
	}
	return perServer(out)
}

func (v *view) unexpected(c *call, note, expected string) verdict.Finding {
	f := v.finding(verdict.FindingUnexpected, c.Server, c.end, "%s", note)
	f.Expected = expected
	f.Evidence = []verdict.Line{v.line(c.T, "call to %s begins", c.name()), v.line(c.end, "it %s", v.outcome(c))}
	return f
}

// step is the scenario's step with this index, counted from 0.
func (v *view) step(i int) (scenario.Step, bool) {
	if i < 0 || i >= len(v.Scenario.Steps) {
		return scenario.Step{}, false
	}
	return v.Scenario.Steps[i], true
}
