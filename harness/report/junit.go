package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2/reporters"

	"github.com/unwedge/unwedge/harness/verdict"
)

// JUnit is the report as JUnit XML, one test case a verdict, in the elements of Ginkgo's own reporter. A failing verdict is a failure, an
// inconclusive one an error (nothing is known, which is not the same as skipped), one that does not apply is skipped.
func JUnit(r Report) ([]byte, error) {
	suite := reporters.JUnitTestSuite{
		Name:      strings.TrimSpace(fmt.Sprintf("unwedge %s: %s %s", r.Title, r.Target, r.TargetVersion)),
		Package:   "unwedge",
		Tests:     len(r.Verdicts),
		Time:      r.Took.Seconds(),
		Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"),
		Properties: reporters.JUnitProperties{Properties: []reporters.JUnitProperty{
			{Name: "unwedge", Value: r.Version},
			{Name: "seed", Value: fmt.Sprintf("%x", r.Seed)},
			{Name: "jobs", Value: fmt.Sprint(r.Jobs)},
			{Name: "eras", Value: strings.Join(r.Eras, ",")},
			{Name: "interrupted", Value: fmt.Sprint(r.Interrupted)},
		}},
	}
	for _, w := range r.rows() {
		c := testCase(r, w)
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.TestCases = append(suite.TestCases, c)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	err := e.Encode(reporters.JUnitTestSuites{
		Tests: suite.Tests, Disabled: suite.Skipped, Errors: suite.Errors, Failures: suite.Failures, Time: suite.Time,
		TestSuites: []reporters.JUnitTestSuite{suite},
	})
	b.WriteByte('\n')
	return b.Bytes(), err
}

// testCase is one verdict. Its class name is the fault's class, so that viewers group variants and eras.
func testCase(r Report, w row) reporters.JUnitTestCase {
	v := w.v
	class := "unwedge"
	if v.Class != "" {
		class += "." + v.Class
	}
	c := reporters.JUnitTestCase{Name: v.Name(), Classname: class, Status: "passed", Time: v.Took.Seconds(), Properties: properties(v)}
	message := w.verdict
	if w.note != "" {
		message += ": " + w.note
	}
	switch {
	case w.failed:
		c.Status = "failed"
		c.Failure = &reporters.JUnitFailure{Message: message, Type: failureType(r, v), Description: plainStory(r, w)}
	case v.Result == verdict.NotApplicable:
		c.Status = "skipped"
		c.Skipped = &reporters.JUnitSkipped{Message: message}
	case !v.Result.Judged():
		c.Status = string(verdict.Inconclusive)
		c.Error = &reporters.JUnitError{Message: message, Type: string(verdict.Inconclusive), Description: plainStory(r, w)}
	}
	return c
}

// failureType is the class that failed, or the first finding that did.
func failureType(r Report, v verdict.Verdict) string {
	if !r.FailOn.ClassFails(v) {
		for _, f := range v.Findings {
			if r.FailOn.FindingFails(f.Kind) {
				return f.Kind
			}
		}
	}
	return string(v.Result)
}

func properties(v verdict.Verdict) *reporters.JUnitProperties {
	p := &reporters.JUnitProperties{}
	add := func(name, value string) {
		if value != "" {
			p.Properties = append(p.Properties, reporters.JUnitProperty{Name: name, Value: value})
		}
	}
	add("verdict", string(v.Result))
	add("fault_class", v.Class)
	add("era", v.Era)
	if v.BackAfter > 0 {
		add("back_after_s", fmt.Sprintf("%.3f", v.BackAfter.Seconds()))
	}
	if v.Budget > 0 {
		add("budget_s", fmt.Sprintf("%.3f", v.Budget.Seconds()))
	}
	add("reports", strings.Join(v.Reports, " "))
	add("history", v.Folder)
	return p
}

// plainStory is a story as text, for viewers that show one block.
func plainStory(r Report, w row) string {
	var b strings.Builder
	for _, l := range storyOf(r, w) {
		if l.timed {
			fmt.Fprintf(&b, "%9s  ", since(l.at))
		}
		fmt.Fprintln(&b, l.text)
	}
	if b.Len() == 0 {
		for _, l := range w.v.Story {
			fmt.Fprintf(&b, "%9s  %s\n", since(l.At), l.Text)
		}
	}
	return b.String()
}
