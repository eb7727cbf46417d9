package scenarios_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/lab"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/scenarios"
)

// The suite runs what `unwedge certify` runs, one spec for each scenario and era:
//
//	go test ./scenarios                              the built-in supervisor
//	UNWEDGE_TARGET=my.yaml ginkgo -p ./scenarios     any target, side by side
//	ginkgo --label-filter 'class: containsAny crash-loop && legacy' ./scenarios

// targetVariable names the environment variable with the target: a profile's file, or the name of one of our own.
const targetVariable = "UNWEDGE_TARGET"

// specTimeout is far beyond what a scenario takes on a machine that does other work as well, a wedge that is run twice included.
const specTimeout = 4 * time.Minute

// tableName begins the name of every scenario's spec.
const tableName = "the target survives"

func TestScenarios(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "scenarios")
}

var (
	programs target.Programs // what the labs start, built once for all parallel processes of the suite
	subject  target.Profile  // the target
	working  *ahead
)

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	bin, err := os.MkdirTemp("", "unwedge-suite-")
	Expect(err).NotTo(HaveOccurred())
	// Built as a user has them: a race detector would make the targets slow enough to break the timings that they declare. The
	// supervisor's own tests look for its races.
	build(ctx, bin, "github.com/unwedge/unwedge/cmd/unwedge", "github.com/unwedge/unwedge/cmd/unwedge-helper")
	return []byte(bin)
}, func(ctx SpecContext, bin []byte) {
	var err error
	exe := ""
	if os.PathSeparator == '\\' {
		exe = ".exe"
	}
	programs, err = target.FindPrograms(ctx,
		filepath.Join(string(bin), "unwedge"+exe), filepath.Join(string(bin), "unwedge-helper"+exe))
	Expect(err).NotTo(HaveOccurred())
	subject, err = target.Resolve(os.Getenv(targetVariable))
	Expect(err).NotTo(HaveOccurred(), "%s=%s", targetVariable, os.Getenv(targetVariable))
	working = workAhead(subject, cases())
}, NodeTimeout(5*time.Minute)) // a cold build, beside other ones

var _ = SynchronizedAfterSuite(func() {
	if working != nil {
		Expect(working.stop()).To(Succeed())
	}
}, func() {
	if programs.Unwedge != "" {
		Expect(os.RemoveAll(filepath.Dir(programs.Unwedge))).To(Succeed())
	}
})

// build builds a program into a folder.
func build(ctx SpecContext, into string, args ...string) {
	GinkgoHelper()
	args = append([]string{"build", "-o", into + string(filepath.Separator)}, args...)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "go %s\n%s", strings.Join(args, " "), out)
}

// oneCase is one spec of the table.
type oneCase struct {
	scenario scenario.Scenario
	era      script.Era
}

func (c oneCase) String() string { return fmt.Sprintf("%s (%s)", c.scenario.ID, c.era) }

// cases are every scenario in every era that it exists in.
func cases() (all []oneCase) {
	for _, s := range scenarios.All() {
		for _, era := range s.InEras() {
			all = append(all, oneCase{s, era})
		}
	}
	return all
}

// table is the body of the table and an entry for each case.
func table(body func(SpecContext, oneCase)) []any {
	all := []any{body}
	for _, c := range cases() {
		all = append(all, Entry(c.String(), labels(c), SpecTimeout(specTimeout), c))
	}
	return all
}

func labels(c oneCase) Labels {
	all := Labels{"class: " + c.scenario.FaultClass(), string(c.era)}
	for _, srv := range c.scenario.Servers {
		if !slices.Contains(all, srv.Transport) {
			all = append(all, srv.Transport)
		}
	}
	if c.scenario.File != "" {
		all = append(all, "field")
	}
	return all
}

var _ = DescribeTable(tableName, table(func(ctx SpecContext, c oneCase) {
	v := judge(ctx, subject, c)
	switch {
	case v.Result == verdict.NotApplicable:
		Skip("not applicable: " + v.Reason) // which is no pass
	case v.Result == verdict.Inconclusive:
		Fail("inconclusive: " + v.Reason + "\n" + story(v))
	case verdict.FailOn{}.Failed(v):
		Fail(story(v))
	}
})...)

// A suite that passes proves nothing until it has been seen to fail: a client without any supervision does not survive.
var _ = Describe("a bare client", Label("teeth"), func() {
	It("is wedged by the death of an idle server", Label("class: child-dies-idle", "legacy", "stdio"), func(ctx SpecContext) {
		s, ok := scenarios.ByID("child-dies-idle/sigkill")
		Expect(ok).To(BeTrue())
		v := judge(ctx, target.Bare(), oneCase{s, script.Legacy})
		Expect(v.Result).To(Equal(verdict.Wedged), story(v))
		Expect(verdict.FailOn{}.Failed(v)).To(BeTrue())
		Expect(v.Runs).To(BeNumerically(">=", 2), "nothing is called wedged on the evidence of one run")
		Expect(v.Agreed).To(Equal(v.Runs))
		Expect(story(v)).To(And(
			ContainSubstring("WEDGED child-dies-idle/sigkill"),
			ContainSubstring("killed with SIGKILL while idle"),
			ContainSubstring("again: unwedge run"),
		))
	}, SpecTimeout(specTimeout))
})

// judge has a scenario run. Its histories are kept when the spec fails, and tell a progress report where it stands.
func judge(ctx SpecContext, on target.Profile, c oneCase) verdict.Verdict {
	GinkgoHelper()
	j := working.take(c)
	if j == nil || j.on.Name != on.Name {
		j = newJob(on, c, GinkgoRandomSeed())
		go j.run(ctx)
	}
	DeferCleanup(func() error {
		if CurrentSpecReport().Failed() {
			AddReportEntry("histories", j.folder())
			return nil
		}
		return os.RemoveAll(j.folder())
	})
	defer ctx.AttachProgressReporter(func() string { return latest(j.folder()) })()
	select {
	case <-j.done:
	case <-ctx.Done():
		j.abandon()
		<-j.done
	}
	fmt.Fprint(GinkgoWriter, strings.Join(j.notes, "\n"))
	Expect(j.err).NotTo(HaveOccurred())
	AddReportEntry("verdict", j.verdict, ReportEntryVisibilityNever) // for machines: it stands in the JSON report
	return j.verdict
}

// story is what the report prints about one verdict.
func story(v verdict.Verdict) string {
	GinkgoHelper()
	var b bytes.Buffer
	r := report.Report{Target: v.Target, Verdicts: []verdict.Verdict{v}, Seed: uint64(GinkgoRandomSeed())}
	Expect(report.Text(&b, r, report.Opts{NoHeader: true, Verbose: true})).To(Succeed())
	_, rest, _ := strings.Cut(b.String(), "\n") // the first line is about the baseline of a whole run
	return rest
}

// latestLines is how much of a history a progress report shows.
const latestLines = 8

// latest is where the runs below a folder stand: the last steps, faults and rungs of each history.
func latest(out string) string {
	var b strings.Builder
	_ = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error { // what cannot be read is not shown
		if err == nil && d.Name() == lab.HistoryFile {
			fmt.Fprintf(&b, "%s\n%s", path, tail(path))
		}
		return nil
	})
	return b.String()
}

func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var lines []string
	for line := range bytes.Lines(data) {
		var e history.Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch e.Kind {
		case history.StepBegin, history.StepEnd, history.Inject, history.Observed, history.Lift, history.Lifted,
			history.FaultError, history.Rung, history.Good, history.TargetExit, history.CloseEnd:
			lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s %s%s %s", e.Kind, e.Server, e.Rung, e.Detail), " ")+"\n")
		}
	}
	return strings.Join(lines[max(0, len(lines)-latestLines):], "")
}
