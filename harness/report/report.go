// Package report writes what a run found: the text a person reads, verdicts.json, junit.xml, summary.md. It computes nothing that
// is not in the Report. It imports harness/verdict and nothing else of the harness.
//
// text.go and story.go are what the terminal shows, rows.go the words of a table's row, which text and Markdown share. A newcomer
// most often changes a word there, and then the golden files: go test ./harness/report -update.
package report

import (
	"time"

	"github.com/unwedge/unwedge/harness/verdict"
)

// Report is one run of unwedge over a list of scenarios on one target.
type Report struct {
	Version       string            `json:"unwedge_version"`
	Title         string            `json:"title"` // what was run: "certify", or the file
	Target        string            `json:"target"`
	TargetVersion string            `json:"target_version,omitempty"`
	Seed          uint64            `json:"seed"`
	Started       time.Time         `json:"started"`
	Took          time.Duration     `json:"took_ns"`
	Jobs          int               `json:"jobs"`
	Eras          []string          `json:"eras"`
	Estimate      time.Duration     `json:"estimate_ns,omitempty"`
	Healthy       Healthy           `json:"healthy"`
	Verdicts      []verdict.Verdict `json:"verdicts"`
	Causes        []verdict.Cause   `json:"causes,omitempty"`
	Interrupted   bool              `json:"interrupted,omitempty"` // cut short by the user: a partial report
	Out           string            `json:"-"`                     // the --out folder
	// Chosen is how many scenarios were to run; Verdicts hold fewer when the run was interrupted. 0 = as many as there are.
	Chosen int `json:"chosen,omitempty"`
	// FailOn is what makes the run fail; the zero value is the default.
	FailOn verdict.FailOn `json:"-"`
}

// ExitCode is the exit code that the report stands for.
func (r Report) ExitCode() int { return verdict.ExitCode(r.Verdicts, r.Interrupted, r.FailOn) }

// Healthy is what the baseline before any fault showed.
type Healthy struct {
	Servers int           `json:"servers"`
	Calls   int           `json:"calls"`
	OK      int           `json:"ok"`
	Median  time.Duration `json:"median_ns"`
	Slack   float64       `json:"slack"` // this machine against the reference, "x1.3"
	Reason  string        `json:"reason,omitempty"`
}
