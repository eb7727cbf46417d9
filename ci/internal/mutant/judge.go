package mutant

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/unwedge/unwedge/ci/internal/blackbox"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/verdict"
)

// Judgement is what became of a mutant.
type Judgement struct {
	Clean  string // "passes" when the scenario passes without the mutant, as it must
	Caught string // "yes" when the scenario failed with it, for its own reason
	Reason string // what was seen
}

// OK says whether the scenario has teeth: it passes without the mutant, and fails with it for the mutant's reason.
func (j Judgement) OK() bool { return j.Clean == passes && j.Caught == caught }

const (
	passes  = "passes"
	caught  = "yes"
	neither = "-"
	broken  = "error"
)

// Judge runs the mutant's scenario on the clean program and on the mutated one, which is built from root in dir. With all, the whole
// list is run on the mutated one, and nothing else may fail.
func (m Mutant) Judge(ctx context.Context, clean blackbox.Program, root, dir string, all bool) Judgement {
	r, err := m.certify(ctx, clean, m.Scenario)
	switch {
	case err != nil:
		return Judgement{broken, neither, err.Error()}
	case len(failing(r)) > 0:
		return Judgement{"FAILS", neither, blackbox.Describe(failing(r)[0])}
	}
	overlay, err := m.Overlay(root, dir)
	if err != nil {
		return Judgement{passes, broken, err.Error()}
	}
	mutated, err := blackbox.Build(ctx, root, filepath.Join(dir, m.Name), overlay)
	if err != nil {
		return Judgement{passes, broken, err.Error()}
	}
	glob := m.Scenario
	if all {
		glob = ""
	}
	if r, err = m.certify(ctx, mutated, glob); err != nil {
		return Judgement{passes, broken, err.Error()}
	}
	return m.weigh(r)
}

// weigh says whether what failed under the mutant is what must fail, and for its reason.
func (m Mutant) weigh(r report.Report) Judgement {
	j := Judgement{passes, "NO", "it survived"}
	for _, v := range failing(r) {
		switch {
		case v.Scenario == m.Scenario && m.Reason.fits(v):
			if j.Caught == "NO" {
				j.Caught, j.Reason = caught, blackbox.Describe(v)
			}
		case v.Scenario == m.Scenario:
			j.Caught, j.Reason = "OTHER REASON", blackbox.Describe(v)
		case !m.may(v.Scenario):
			j.Caught, j.Reason = "TOO MUCH", v.Scenario+" failed as well: "+blackbox.Describe(v)
		}
	}
	return j
}

// certify runs the scenarios that match the glob on the built-in supervisor.
func (m Mutant) certify(ctx context.Context, p blackbox.Program, glob string) (report.Report, error) {
	out, err := os.MkdirTemp(p.Dir, "out-")
	if err != nil {
		return report.Report{}, err
	}
	return p.Judge(ctx, out, "certify", "--target", "builtin", "--era", m.era(), "--run", glob)
}

func (m Mutant) era() string {
	if m.Era == "" {
		return "legacy"
	}
	return m.Era
}

// fits says whether a failing verdict failed for this reason.
func (r Reason) fits(v verdict.Verdict) bool {
	text := blackbox.Describe(v)
	for _, l := range v.Story {
		text += "\n" + l.Text
	}
	found := r.Finding == ""
	for _, f := range v.Findings {
		if f.Kind == r.Finding {
			found = true
		}
		text += "\n" + f.Note
	}
	return found && (r.Result == "" || string(v.Result) == r.Result) && strings.Contains(text, r.Text)
}

// failing are the verdicts that are not good, those that prove nothing included.
func failing(r report.Report) []verdict.Verdict {
	var out []verdict.Verdict
	for _, v := range r.Verdicts {
		if !v.Pass {
			out = append(out, v)
		}
	}
	return out
}
