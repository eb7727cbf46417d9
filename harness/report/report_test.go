package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/reporters"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

func line(at float64, text string) verdict.Line {
	return verdict.Line{At: time.Duration(at * float64(time.Second)), Text: text}
}

const (
	budgetSum = "(cooldown 60 + connect 3 + backoff 1) x 1.3"
	budget    = 83200 * time.Millisecond
)

// sample is a report on a gateway with most things that can be in one.
func sample() Report {
	wedged := func(id, note string) verdict.Verdict {
		return verdict.Verdict{
			Scenario: id, Class: id, Era: "legacy", Target: "mygw", Result: verdict.Wedged, Budget: budget, BudgetSum: budgetSum,
			Slack: 1.3, Runs: 2, Agreed: 2, Note: note, Symptom: "restart|respawned=false|eof", Took: 212 * time.Second,
			Reports:  []string{"NousResearch/hermes-agent#16788", "openai/codex#18977", "PrefectHQ/fastmcp#1908"},
			Expected: "a 2nd spawn and a good call within 83 s = " + budgetSum,
			Again:    "unwedge run out/" + id + ".yaml --target mine.yaml --seed 7f3a91",
			Folder:   id + "-legacy",
			Story: []verdict.Line{
				line(0, `server "srv": life 1 (pid 4711) killed with SIGKILL while idle; spawns so far: 1`),
				line(0.4, "calls 1-3 failed, error text empty, the last at 122 s"),
				line(205, "still failing, spawns now 1; the target is restarted"),
				line(205.6, "back 0.6 s after a restart"),
				line(206, "a plain client starts and calls the same server in 12 ms"),
			},
		}
	}
	r := Report{
		Version: "0.1.0", Title: "mine.yaml", Target: "mygw", TargetVersion: "0.11.0", Seed: 0x7f3a91,
		Started: time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC), Took: 6 * time.Minute, Jobs: 8, Eras: []string{"legacy"},
		Healthy: Healthy{Servers: 2, Calls: 8, OK: 8, Median: 4 * time.Millisecond, Slack: 1.3},
		Out:     "out",
	}
	for n := range 19 {
		r.Verdicts = append(r.Verdicts, verdict.Verdict{
			Scenario: fmt.Sprintf("good-%02d", n), Class: "good", Era: "legacy", Result: verdict.Recovered, Pass: true,
			BackAfter: time.Duration(n) * 45 * time.Millisecond, Budget: budget, BudgetSum: budgetSum, Runs: 1, Agreed: 1,
		})
	}
	r.Verdicts = append(r.Verdicts,
		wedged("child-dies-idle", "back 0.6 s after a restart"),
		wedged("child-killed-mid-call", "back 0.7 s after a restart"),
		verdict.Verdict{
			Scenario: "http-5xx", Class: "http-5xx", Era: "legacy", Result: verdict.Recovered, BackAfter: 1200 * time.Millisecond,
			Budget: 10 * time.Second, BudgetSum: "(connect 3 + call 5) x 1.3", Runs: 1, Agreed: 1,
			Findings: []verdict.Finding{{
				Kind: verdict.FindingHungCall, Server: "srv", Note: "error came after 300 s", Expected: "the error within 0.5 s of the fault",
				Evidence: []verdict.Line{line(0.1, "call to srv.echo begins"), line(300.1, `it failed: "503 | Service Unavailable"`)},
			}},
		},
		verdict.Verdict{
			Scenario: "stdout-noise", Class: "stdout-noise", Era: "legacy", Result: verdict.Inconclusive, Runs: 2, Agreed: 2,
			Reason: `fault stdout-noise on "srv" was never seen to take effect`,
			Story:  []verdict.Line{line(0, `server "srv": writes a banner; spawns so far: 1`)},
		},
		verdict.Verdict{Scenario: "http-401-window", Era: "legacy", Result: verdict.NotApplicable, Reason: "the target speaks no http"},
		verdict.Verdict{Scenario: "http-idle-silent-drop", Era: "legacy", Result: verdict.NotApplicable, Reason: "the target speaks no http"},
	)
	r.Causes = verdict.Causes(r.Verdicts)
	return r
}

// passing is the sample without what is wrong with it.
func passing() Report {
	r := sample()
	r.Verdicts = append(r.Verdicts[:19:19], r.Verdicts[len(r.Verdicts)-1])
	r.Causes = nil
	return r
}

func text(r Report, o Opts) string {
	var b bytes.Buffer
	if err := Text(&b, r, o); err != nil {
		panic(err)
	}
	return b.String()
}

// golden compares with a file under testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Expect(got).To(Equal(string(want)), "look at it, then: go test ./harness/report -update")
}

func TestTextGolden(t *testing.T) {
	golden(t, "text.golden", text(sample(), Opts{}))
	golden(t, "text-verbose.golden", text(sample(), Opts{Verbose: true, NoHeader: true}))
	golden(t, "text-pass.golden", text(passing(), Opts{}))
}

func TestFilesGolden(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	g.Expect(Write(dir, sample())).To(Succeed())
	for _, name := range []string{VerdictsFile, JUnitFile, SummaryFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		g.Expect(err).NotTo(HaveOccurred())
		golden(t, name+".golden", string(b))
	}
}

func TestTextFitsItsWidth(t *testing.T) {
	g := NewWithT(t)
	for _, width := range []int{80, 100, 140} {
		for n, l := range strings.Split(text(sample(), Opts{Verbose: true, Width: width}), "\n") {
			long := strings.HasPrefix(l, "unwedge ") || strings.HasPrefix(l, "FAIL ") // facts that are never cut
			g.Expect(len(l) <= width || long).To(BeTrue(), "line %d of %d columns at width %d: %s", n+1, len(l), width, l)
		}
	}
}

func TestColourOnlyWhenAsked(t *testing.T) {
	g := NewWithT(t)
	g.Expect(text(sample(), Opts{})).NotTo(ContainSubstring("\x1b"))
	colored := text(sample(), Opts{Color: true})
	g.Expect(colored).To(ContainSubstring(red + "WEDGED"))
	g.Expect(colored).To(ContainSubstring(yellow + "inconclusive"))
	g.Expect(colored).To(ContainSubstring(red + "FAIL 1 cause"))
	g.Expect(text(passing(), Opts{Color: true})).To(ContainSubstring(green + "PASS"))
	for _, code := range []string{red, green, yellow, plain} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	g.Expect(strings.Fields(colored)).To(Equal(strings.Fields(text(sample(), Opts{}))), "colours change nothing else")
}

func TestConclusions(t *testing.T) {
	g := NewWithT(t)
	last := func(r Report) string {
		lines := strings.Split(strings.TrimSpace(text(r, Opts{})), "\n")
		return lines[len(lines)-1]
	}
	g.Expect(last(sample())).To(Equal("FAIL 1 cause (2 faults wedged), 1 hung call, 1 inconclusive; " +
		"19 recovered, 2 n/a - out/summary.md - exit 1"))
	r := sample()
	r.FailOn, _ = verdict.ParseFailOn("slow")
	r.Verdicts = r.Verdicts[19:22]
	g.Expect(last(r)).To(HaveSuffix("exit 0"), "what is not on the list does not fail")
	g.Expect(last(r)).To(Equal("PASS 1 recovered, 2 wedged - out/summary.md - exit 0"))
	r = passing()
	r.Interrupted, r.Out = true, ""
	g.Expect(last(r)).To(Equal("INCONCLUSIVE interrupted: a partial report; 19 recovered, 1 n/a - exit 3"))
	r.Interrupted, r.Verdicts = false, r.Verdicts[19:]
	g.Expect(last(r)).To(Equal("INCONCLUSIVE nothing was applicable; 1 n/a - exit 3"))
	g.Expect(last(Report{})).To(Equal("INCONCLUSIVE nothing was applicable - exit 3"))
}

func TestTwoErasAreNamed(t *testing.T) {
	g := NewWithT(t)
	r := sample()
	r.Eras = []string{"legacy", "modern"}
	more := r.Verdicts[19]
	more.Era = "modern"
	r.Verdicts = append(r.Verdicts, more)
	r.Causes = verdict.Causes(r.Verdicts)
	out := text(r, Opts{Width: 140})
	g.Expect(out).To(ContainSubstring("25 faults, legacy and modern eras"))
	g.Expect(out).To(MatchRegexp(`(?m)^child-dies-idle \(modern\) +WEDGED.*same cause as child-dies-idle \(legacy\)`))
}

func TestWhatWasVoidedIsSaid(t *testing.T) {
	g := NewWithT(t)
	v := verdict.Verdict{Result: verdict.Recovered, Voided: []string{verdict.FindingUselessError}}
	g.Expect(Report{}.note(v)).To(Equal("not judged, since it is so without the fault too: useless-error"))
}

func TestHeaderBeforeARun(t *testing.T) {
	g := NewWithT(t)
	r := sample()
	r.Verdicts, r.Took, r.Chosen, r.Estimate = nil, 0, 22, 6*time.Minute
	g.Expect(Header(r)).To(Equal("unwedge 0.1.0 - mine.yaml (mygw 0.11.0) - 22 faults, legacy era, 8 jobs, seed 7f3a91 - about 6 min"))
	r.Healthy.Reason = "srv: refused"
	g.Expect(text(r, Opts{NoHeader: true})).To(HavePrefix("not healthy first: srv: refused\n"))
}

func TestAgainWithoutACommandOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sample().again(sample().Verdicts[21])).To(Equal("unwedge certify --run http-5xx --era legacy --target mygw --seed 7f3a91"))
}

func TestJUnitIsReadBack(t *testing.T) {
	g := NewWithT(t)
	r := sample()
	r.Verdicts[19].Story[0].Text = "odd bytes: \x00 \x1b[31m ]]> &"
	b, err := JUnit(r)
	g.Expect(err).NotTo(HaveOccurred())
	var s reporters.JUnitTestSuites
	g.Expect(xml.Unmarshal(b, &s)).To(Succeed())
	g.Expect([]int{s.Tests, s.Failures, s.Errors, s.Disabled}).To(Equal([]int{25, 3, 1, 2}))
	cases := s.TestSuites[0].TestCases
	g.Expect(cases).To(HaveLen(25))
	g.Expect(cases[0].Name).To(Equal("child-dies-idle (legacy)"))
	g.Expect(cases[0].Classname).To(Equal("unwedge.child-dies-idle"))
	g.Expect(cases[0].Failure.Type).To(Equal("wedged"))
	g.Expect(cases[0].Failure.Message).To(Equal("WEDGED: 2 of 2 runs; back 0.6 s after a restart"))
	g.Expect(cases[0].Failure.Description).To(ContainSubstring("again: unwedge run out/child-dies-idle.yaml"))
	g.Expect(cases[0].Properties.WithName("budget_s")).To(Equal("83.200"))
	g.Expect(cases[2].Failure.Type).To(Equal("hung-call"))
	g.Expect(cases[3].Error.Type).To(Equal("inconclusive"))
	g.Expect(cases[24].Skipped.Message).To(Equal("not-applicable: the target speaks no http"))
}

func TestImportingGinkgosElementsAddsNoFlags(t *testing.T) {
	flag.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "ginkgo") {
			t.Errorf("flag -%s would show up in every command that writes a report", f.Name)
		}
	})
}

func TestVerdictsAreReadBack(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	r := sample()
	g.Expect(Write(dir, r)).To(Succeed())
	back, err := Read(filepath.Join(dir, VerdictsFile))
	g.Expect(err).NotTo(HaveOccurred())
	r.Out = ""
	g.Expect(back).To(Equal(r))

	file := filepath.Join(dir, "later.json")
	g.Expect(os.WriteFile(file, []byte(`{"schema": 2}`), 0o600)).To(Succeed())
	_, err = Read(file)
	g.Expect(err).To(MatchError(ContainSubstring("schema 2, this version knows 1")))
	_, err = Read(filepath.Join(dir, "none.json"))
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

func TestMarkdownSurvivesWhatTargetsSay(t *testing.T) {
	g := NewWithT(t)
	r := sample()
	r.Verdicts[21].Findings[0].Note = "a | b ```\n# not a heading <script>"
	out := Markdown(r)
	g.Expect(out).To(ContainSubstring(`a \| b ''' # not a heading &lt;script>`))
	g.Expect(strings.Count(out, "```")%2).To(BeZero(), "every fence is closed")
	g.Expect(out).NotTo(MatchRegexp(`(?m)^# not`))
}
