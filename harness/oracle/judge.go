package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/verdict"
)

// Judge applies all oracles and climbs from evidence to one verdict. twin is the history of the same topology, workload and era without the
// fault, or nil; kinds of findings that the twin has too are voided, except for the built-in supervisor, whose defects they are.
//
// An oracle that panics makes the verdict inconclusive: a judge that broke has acquitted nobody.
func Judge(r Run, twin *Run) verdict.Verdict { return judge(r, twin, list, climb) }

func judge(r Run, twin *Run, oracles []Oracle, ladder func(*view) outcome) verdict.Verdict {
	w := look(r)
	out := verdict.Verdict{
		Scenario: r.Scenario.ID, Class: classOf(r), Era: r.Era, Target: r.Profile.Name,
		Expect: r.Scenario.Expect, Reports: r.Scenario.Reports,
		Runs: 1, Agreed: 1, Took: w.last.Sub(w.first),
	}
	o, broken := safely("the recovery ladder", func() outcome { return ladder(w) })
	if broken != "" {
		o = outcome{class: verdict.Inconclusive, reason: broken}
	}
	out.Result, out.Reason, out.Note = o.class, o.reason, o.note
	out.BackAfter, out.Slack = o.back, o.slack
	out.Budget, out.BudgetSum, out.Expected = o.budget.Total, o.budget.Text, o.expected

	found, broken := ask(w, oracles)
	out.Findings = found
	if twin != nil {
		voidBy(&out, *twin, oracles, r.Profile.BuiltIn)
	}
	settle(w, &out, o)
	if broken != "" && !(verdict.FailOn{}).Failed(out) {
		out.Result, out.Reason = verdict.Inconclusive, broken
	}
	story, oddity := safely("the story", func() []verdict.Line { return w.story(o) })
	if oddity != "" {
		story = []verdict.Line{{Text: oddity}}
	}
	out.Story = story
	if out.Result.Failing() {
		out.Symptom, _ = safely("the symptom", func() string { return w.symptom(o) })
	}
	out.Pass = out.Result.Passes(out.Expect) && len(out.Findings) == 0
	return out
}

func classOf(r Run) string {
	if c := r.Scenario.FaultClass(); c != "" {
		return c
	}
	return faults.ClassOf(r.Scenario.ID)
}

// safely calls f; broken is what it panicked with.
func safely[T any](what string, f func() T) (result T, broken string) {
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Sprintf("%s broke: %v", what, p)
		}
	}()
	return f(), ""
}

// ask puts every question to a history.
func ask(w *view, oracles []Oracle) (found []verdict.Finding, broken string) {
	for _, o := range oracles {
		fs, b := safely("the oracle of "+o.Name, func() []verdict.Finding { return o.find(w) })
		found = append(found, fs...)
		if b != "" && broken == "" {
			broken = b
		}
	}
	return found, broken
}

// voidBy takes away the kinds of findings that the twin has as well.
func voidBy(out *verdict.Verdict, twin Run, oracles []Oracle, builtIn bool) {
	w := look(twin)
	w.twin = true
	without, _ := ask(w, oracles)
	has := func(kind string) bool {
		return slices.ContainsFunc(without, func(f verdict.Finding) bool { return f.Kind == kind })
	}
	var kept []verdict.Finding
	for _, f := range out.Findings {
		switch {
		case !has(f.Kind):
			kept = append(kept, f)
		case builtIn:
			f.Note += " (without the fault, too)"
			kept = append(kept, f)
		case !slices.Contains(out.Voided, f.Kind):
			out.Voided = append(out.Voided, f.Kind)
		}
	}
	out.Findings = kept
}

// settle drops what does not stand: judgements of time when the machine stood still, everything soft when the run proves
// nothing, and what only follows from a failure that the class names already.
func settle(w *view, out *verdict.Verdict, o outcome) {
	stall, stalled := w.stall()
	if stalled {
		dropped := drop(out, func(f verdict.Finding) bool { return verdict.Timed(f.Kind) })
		if out.Result.Failing() && out.Result != verdict.TargetExited || dropped {
			out.Result = verdict.Inconclusive
			out.Reason = "the machine stood still for " + verdict.Span(time.Duration(stall.D))
		}
	}
	switch {
	case out.Result == verdict.Inconclusive:
		drop(out, func(f verdict.Finding) bool { return !verdict.Hard(f.Kind) })
	case out.Result.Failing() && o.server != "":
		drop(out, func(f verdict.Finding) bool {
			return f.Kind == verdict.FindingUnexpected && f.Server == o.server && f.At >= 0
		})
	}
}

// drop removes findings and says whether there were any.
func drop(out *verdict.Verdict, which func(verdict.Finding) bool) bool {
	n := len(out.Findings)
	out.Findings = slices.DeleteFunc(out.Findings, which)
	return len(out.Findings) < n
}
