package oracle

import (
	"time"

	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

// slowCloses holds the target's close against the declared graces (SUP-6, spec-S3). A close that had to be cut short is too slow in
// any case.
func slowCloses(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, e := range v.all(history.CloseEnd) {
		took := time.Duration(e.D)
		begun := e.T.Add(-took)
		bound := budget.Stop(v.profile, v.slackNear(begun, e.T))
		if e.OK && (bound == 0 || took <= bound) {
			continue
		}
		f := v.finding(verdict.FindingSlowClose, "", e.T, "closing took %s", verdict.Span(took))
		if !e.OK {
			f.Note = "closing did not end within " + verdict.Span(took)
		}
		f.Expected = "a close that ends"
		if bound > 0 {
			f.Expected = "a close within " + verdict.Span(bound) + ", two graces and a kill"
		}
		f.Evidence = []verdict.Line{v.line(begun, "close begins"), v.line(e.T, "%s", v.closeEnd(e))}
		out = append(out, f)
	}
	return perServer(out)
}

func (v *view) closeEnd(e history.Event) string {
	switch {
	case e.OK:
		return "it ends"
	case e.Detail != "":
		return "it was cut short: " + v.quote(e.Detail)
	}
	return "it was cut short"
}
