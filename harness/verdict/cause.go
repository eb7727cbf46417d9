package verdict

import (
	"cmp"
	"slices"
	"strings"
)

// Causes groups the failing verdicts of one run that share a root: the same result with the same symptom, or, where the recovery
// itself is fine, the same kinds of findings. The worst comes first; within a cause the verdicts keep their order, and the first stands for
// all. Verdicts that pass, do not apply or prove nothing have no cause.
func Causes(vs []Verdict) []Cause {
	at := make(map[string]int)
	var causes []Cause
	for _, v := range vs {
		key, note := root(v)
		if key == "" {
			continue
		}
		i, ok := at[key]
		if !ok {
			i = len(causes)
			at[key] = i
			causes = append(causes, Cause{Result: v.Result, Note: note})
		}
		causes[i].Scenarios = append(causes[i].Scenarios, v.Name())
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Result.Severity(), a.Result.Severity()) })
	return causes
}

// root returns what makes two failing verdicts one cause, and a line about it; "" for a verdict that does not fail.
func root(v Verdict) (key, note string) {
	if (FailOn{}).ClassFails(v) {
		return string(v.Result) + "|" + v.Symptom, v.Note
	}
	if len(v.Findings) == 0 {
		return "", ""
	}
	var found []string
	for _, f := range v.Findings {
		if !slices.Contains(found, f.Kind) {
			found = append(found, f.Kind)
		}
	}
	slices.Sort(found)
	return "findings|" + strings.Join(found, "|"), v.Findings[0].Kind + ": " + v.Findings[0].Note
}

// CauseOf finds the cause a verdict belongs to.
func CauseOf(causes []Cause, v Verdict) (Cause, bool) {
	for _, c := range causes {
		if slices.Contains(c.Scenarios, v.Name()) {
			return c, true
		}
	}
	return Cause{}, false
}
