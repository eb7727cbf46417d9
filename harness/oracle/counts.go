package oracle

import (
	"fmt"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// unexpectedCounts counts what the scenario's seen steps are about, each up to the end of its step. In a twin nothing is wrong that
// could bring about the least of it, or keep the scenario's own calls away from the server.
func unexpectedCounts(v *view) []verdict.Finding {
	var out []verdict.Finding
	for i, s := range v.Scenario.Steps {
		if s.Seen == "" {
			continue
		}
		end, ok := v.stepEnd(i)
		if !ok {
			continue
		}
		from := history.CountedFrom(v.events, v.Scenario.CountedBefore(i))
		what, named := history.Seen{Server: s.Seen, Method: s.Method, Event: s.Event}, fmt.Sprintf("%q read %s", s.Seen, s.Method)
		if s.Event != "" {
			named = fmt.Sprintf("the target told of %s of %q", s.Event, s.Seen)
		}
		var seen []verdict.Line
		for _, e := range v.events {
			if e.T >= from && e.T <= end && what.In(e) {
				seen = append(seen, v.line(e.T, "%s", named))
			}
		}
		n := len(seen)
		expected := ""
		switch {
		case v.twin && s.Method == "tools/call":
			continue
		case s.Most != nil && n > *s.Most:
			expected = fmt.Sprintf("at most %d", *s.Most)
		case n < s.Least && !v.twin:
			expected = fmt.Sprintf("at least %d", s.Least)
		default:
			continue
		}
		f := v.finding(verdict.FindingCount, s.Seen, end, "step %d: %s %d times", i+1, named, n)
		f.Expected, f.Evidence = expected, evidence(append(seen, v.line(end, "it was counted here")))
		out = append(out, f)
	}
	return out
}

// stepEnd is when a step was over; ok is false when the run did not get that far.
func (v *view) stepEnd(i int) (t mono.Time, ok bool) {
	for _, e := range v.all(history.StepEnd) {
		if e.Step == i {
			return e.T, true
		}
	}
	return 0, false
}
