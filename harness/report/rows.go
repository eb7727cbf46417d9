package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/harness/verdict"
)

// row is one verdict as a table shows it.
type row struct {
	v                                  verdict.Verdict
	fault, verdict, back, budget, note string
	failed                             bool
}

// rows are the verdicts as a table shows them, the worst first, else in their order.
func (r Report) rows() []row {
	out := make([]row, len(r.Verdicts))
	for i, v := range r.Verdicts {
		out[i] = row{
			v: v, fault: r.name(v), verdict: word(v, r.FailOn), back: back(v), budget: "-", note: r.note(v),
			failed: r.FailOn.Failed(v),
		}
		if v.Budget > 0 {
			out[i].budget = verdict.Span(v.Budget)
		}
	}
	slices.SortStableFunc(out, func(a, b row) int { return cmp.Compare(rank(b), rank(a)) })
	return out
}

// rank orders rows: failing classes by their severity, then findings, then what proves nothing, then what passes.
func rank(r row) int {
	s := r.v.Result.Severity()
	most := verdict.Unrecoverable.Severity() + 1
	switch {
	case r.failed && r.v.Result.Failing():
		return 2*most + s
	case r.failed:
		return 2 * most
	case r.v.Result == verdict.Inconclusive || r.v.Result == "":
		return most + 1
	case r.v.Result == verdict.NotApplicable:
		return 0
	}
	return 1 + s
}

// worth says whether a row is shown without -v.
func worth(r row) bool {
	return r.failed || r.v.Result == verdict.Inconclusive || r.v.Result == "" || len(r.v.Findings) > 0 || r.v.Result.Failing()
}

// name is the scenario, with its era where the report holds more than one.
func (r Report) name(v verdict.Verdict) string {
	for _, o := range r.Verdicts {
		if o.Era != v.Era {
			return v.Name()
		}
	}
	return v.Scenario
}

// word is the class, aloud when it fails.
func word(v verdict.Verdict, on verdict.FailOn) string {
	switch {
	case v.Result == "":
		return string(verdict.Inconclusive)
	case on.ClassFails(v):
		return strings.ToUpper(string(v.Result))
	}
	return string(v.Result)
}

func back(v verdict.Verdict) string {
	switch {
	case v.BackAfter > 0:
		return verdict.Span(v.BackAfter)
	case v.Result.Failing():
		return "never"
	case v.Result == verdict.Recovered:
		return "at once"
	}
	return "-"
}

// note is the row's last column: what a reader must know at a glance.
func (r Report) note(v verdict.Verdict) string {
	if !v.Result.Judged() {
		return withFindings(v.Reason, v.Findings)
	}
	var parts []string
	if v.Runs > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d runs", v.Agreed, v.Runs))
	}
	cause, ok := verdict.CauseOf(r.Causes, v)
	switch {
	case ok && cause.Scenarios[0] != v.Name():
		parts = append(parts, "same cause as "+r.shortName(cause.Scenarios[0]))
	case v.Note != "":
		parts = append(parts, v.Note)
	}
	if len(v.Voided) > 0 {
		parts = append(parts, "not judged, since it is so without the fault too: "+strings.Join(v.Voided, ", "))
	}
	return withFindings(strings.Join(parts, "; "), v.Findings)
}

// shortName turns a verdict's full name into the one that this report's rows use.
func (r Report) shortName(full string) string {
	for _, v := range r.Verdicts {
		if v.Name() == full {
			return r.name(v)
		}
	}
	return full
}

func withFindings(text string, fs []verdict.Finding) string {
	if len(fs) == 0 {
		return text
	}
	found := fs[0].Kind + ": " + fs[0].Note
	if len(fs) > 1 {
		found += fmt.Sprintf(" (and %d more)", len(fs)-1)
	}
	if text == "" {
		return found
	}
	return text + "; " + found
}

// headline is the first line: what ran, on what, how much of it.
func (r Report) headline() string {
	target := strings.TrimSpace(r.Target + " " + r.TargetVersion)
	parts := []string{
		"unwedge " + r.Version,
		fmt.Sprintf("%s (%s)", r.Title, target),
		fmt.Sprintf("%s, %s, %s, seed %x", plural(r.scenarios(), "fault"), eras(r.Eras), plural(r.Jobs, "job"), r.Seed),
	}
	switch {
	case r.Took > 0:
		parts = append(parts, "took "+minutes(r.Took))
	case r.Estimate > 0:
		parts = append(parts, "about "+minutes(r.Estimate))
	}
	return strings.Join(parts, " - ")
}

// scenarios is how many different ones were to run.
func (r Report) scenarios() int {
	ids := make(map[string]bool)
	for _, v := range r.Verdicts {
		ids[v.Scenario] = true
	}
	return max(len(ids), r.Chosen)
}

func eras(names []string) string {
	switch len(names) {
	case 0:
		return "no era"
	case 1:
		return names[0] + " era"
	}
	return strings.Join(names, " and ") + " eras"
}

// minutes writes a duration of a run.
func minutes(d time.Duration) string {
	if d < 90*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// healthy is the line about the time before any fault.
func (r Report) healthy() string {
	h := r.Healthy
	if h.Reason != "" {
		return "not healthy first: " + h.Reason
	}
	s := fmt.Sprintf("healthy first: %s, %d of %d calls ok, median %s", plural(h.Servers, "server"), h.OK, h.Calls, verdict.Span(h.Median))
	if h.Slack > 0 {
		s += fmt.Sprintf("; this machine x%.1f", h.Slack)
	}
	return s
}

// conclusion is the last line: the word, why, what passed, where the files are, and the exit code.
func (r Report) conclusion() string {
	code := r.ExitCode()
	word := map[int]string{verdict.ExitPass: "PASS", verdict.ExitFail: "FAIL", verdict.ExitUnknown: "INCONCLUSIVE"}[code]
	var bad []string
	if code == verdict.ExitFail {
		bad = r.accusations()
	}
	t := r.tally()
	if t.unknown > 0 {
		bad = append(bad, fmt.Sprintf("%d inconclusive", t.unknown))
	}
	if r.Interrupted {
		bad = append(bad, "interrupted: a partial report")
	}
	good := t.short()
	if len(bad) == 0 && len(good) == 0 || t.judged == 0 && t.unknown == 0 {
		bad = append(bad, "nothing was applicable")
	}
	text := strings.Join(bad, ", ")
	if passed := strings.Join(good, ", "); passed != "" {
		if text != "" {
			text += "; "
		}
		text += passed
	}
	out := word + " " + text
	if r.Out != "" {
		out += " - " + path.Join(r.Out, SummaryFile)
	}
	return fmt.Sprintf("%s - exit %d", out, code)
}

// accusations says what failed: causes of failing classes first, then findings by kind.
func (r Report) accusations() []string {
	causes := 0
	for _, c := range r.Causes {
		if c.Result.Failing() {
			causes++
		}
	}
	counts := make(map[verdict.Class]int)
	found := make(map[string]int)
	for _, v := range r.Verdicts {
		if r.FailOn.ClassFails(v) {
			counts[v.Result]++
		}
		seen := make(map[string]bool)
		for _, f := range v.Findings {
			if r.FailOn.FindingFails(f.Kind) && !seen[f.Kind] {
				seen[f.Kind] = true
				found[f.Kind]++
			}
		}
	}
	var out, classes []string
	classed := 0
	for _, c := range slices.Backward(verdict.Classes()) {
		if n := counts[c]; n > 0 {
			what := plural(n, "fault")
			if classed > 0 {
				what = fmt.Sprint(n)
			}
			classes = append(classes, fmt.Sprintf("%s %s", what, c))
			classed++
		}
	}
	if len(classes) > 0 {
		out = append(out, fmt.Sprintf("%s (%s)", plural(max(1, causes), "cause"), strings.Join(classes, ", ")))
	}
	for _, k := range verdict.Kinds() {
		if n := found[k]; n > 0 {
			out = append(out, plural(n, strings.ReplaceAll(k, "-", " ")))
		}
	}
	return out
}

// tally counts what does not accuse.
type tally struct {
	passed              map[verdict.Class]int
	backs               []time.Duration // of the recovered
	judged, unknown, na int
}

func (r Report) tally() tally {
	t := tally{passed: make(map[verdict.Class]int)}
	for _, v := range r.Verdicts {
		switch {
		case v.Result == verdict.NotApplicable:
			t.na++
			continue
		case !v.Result.Judged():
			t.unknown++
			continue
		}
		t.judged++
		if r.FailOn.Failed(v) {
			continue
		}
		t.passed[v.Result]++
		if v.Result == verdict.Recovered {
			t.backs = append(t.backs, v.BackAfter)
		}
	}
	slices.Sort(t.backs)
	return t
}

// good says what passed, in a few words.
func (t tally) good() []string {
	var out []string
	for _, c := range verdict.Classes() {
		n := t.passed[c]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, c)
		if c == verdict.Recovered {
			text += fmt.Sprintf(" (median %s)", verdict.Span(t.backs[len(t.backs)/2]))
		}
		out = append(out, text)
	}
	if t.na > 0 {
		out = append(out, fmt.Sprintf("%d not applicable", t.na))
	}
	return out
}

// short says it in fewer words still.
func (t tally) short() []string {
	var out []string
	for _, c := range verdict.Classes() {
		if n := t.passed[c]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, c))
		}
	}
	if t.na > 0 {
		out = append(out, fmt.Sprintf("%d n/a", t.na))
	}
	return out
}

// plurals are the words that take no plain s.
var plurals = map[string]string{
	"crossed reply":        "crossed replies",
	"bystander harmed":     "bystanders harmed",
	"two live instances":   "times two live instances",
	"orphan process":       "orphan processes",
	"secret leaked":        "secrets leaked",
	"write to dead server": "writes to dead servers",
	"resource growth":      "resource growths",
}

func plural(n int, what string) string {
	switch many, odd := plurals[what]; {
	case n == 1:
		return "1 " + what
	case odd:
		return fmt.Sprintf("%d %s", n, many)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// again is the command line that runs just this verdict's scenario again.
func (r Report) again(v verdict.Verdict) string {
	if v.Again != "" {
		return v.Again
	}
	cmd := "unwedge certify --run " + v.Scenario
	if v.Era != "" {
		cmd += " --era " + v.Era
	}
	return fmt.Sprintf("%s --target %s --seed %x", cmd, r.Target, r.Seed)
}
