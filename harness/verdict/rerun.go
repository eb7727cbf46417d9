package verdict

import (
	"fmt"
	"slices"
)

// maxRuns is how often one scenario is run for one verdict: once, once more alone, and a third time only where the first proved
// nothing and the second accuses, so that every accusation rests on two runs.
const maxRuns = 3

// Rerun says whether the verdict must be seen once more, with the machine to itself, before it is reported. The caller's loop is
//
//	for verdict.Rerun(v) {
//		v = verdict.Merge(v, runOnceMore())
//	}
//
// What the ladder found is repeated, and what proved nothing. Findings are not: a call that was executed twice was executed twice.
func Rerun(v Verdict) bool {
	if v.Runs >= maxRuns {
		return false
	}
	switch {
	case v.Result.Failing() && !v.Result.Passes(v.Expect):
		return v.Agreed < 2
	case v.Result == Inconclusive:
		return v.Runs < 2
	}
	return false
}

// Merge puts a repetition's verdict to the one so far.
//
// When they agree, the first run's story stands and the runs are counted. When the first proved nothing, the repetition counts: that is what
// it was made for. When they disagree the result is inconclusive, and the reason names both. Hard findings of either stay.
func Merge(first, second Verdict) Verdict {
	runs := max(1, first.Runs) + max(1, second.Runs)
	var v, other Verdict
	switch first.Result {
	case second.Result:
		v, other = first, second
		v.Agreed = max(1, first.Agreed) + max(1, second.Agreed)
	case Inconclusive:
		v, other = second, first
		v.Agreed = max(1, second.Agreed)
	default:
		v, other = first, second
		if second.Result.Severity() > first.Result.Severity() {
			v, other = second, first
		}
		v.Reason = fmt.Sprintf("the runs disagree: first %s, then, alone, %s", outcome(first), outcome(second))
		v.Result, v.Pass, v.Agreed, v.Note, v.Symptom = Inconclusive, false, 1, "", ""
		v.Findings = slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !Hard(f.Kind) })
	}
	v.Runs = runs
	v.Took = first.Took + second.Took
	v.Findings = withHard(v.Findings, other.Findings)
	v.Pass = v.Pass && len(v.Findings) == 0
	return v
}

// outcome names what one run showed.
func outcome(v Verdict) string {
	if v.Result == Inconclusive && v.Reason != "" {
		return fmt.Sprintf("%s (%s)", v.Result, v.Reason)
	}
	return string(v.Result)
}

// withHard adds the other run's hard findings that are not there yet.
func withHard(fs, other []Finding) []Finding {
	all := slices.Clone(fs)
	for _, f := range other {
		same := func(g Finding) bool { return g.Kind == f.Kind && g.Server == f.Server }
		if Hard(f.Kind) && !slices.ContainsFunc(all, same) {
			all = append(all, f)
		}
	}
	return all
}
