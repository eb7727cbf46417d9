// Package run takes a list of scenarios through the whole way: lab, history, oracles, verdict; twins, reruns and the
// schedule. It is the one piece of code behind `unwedge certify`, `unwedge run` and the Ginkgo suites.
//
//	cases.go    which scenario runs in which era, and which do not apply
//	healthy.go  the baseline before any fault
//	attempt.go  one scenario once: lab, judge, twin
//	out.go      the folder with histories and scenario copies
//
// It imports the lab and the oracles; it starts nothing by itself. A newcomer most often changes what makes a scenario not
// applicable (cases.go).
package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// Options are a run's settings.
type Options struct {
	Title     string // for the report: "certify", or the file
	Target    target.Profile
	Scenarios []scenario.Scenario
	Eras      []script.Era // empty = both, as far as scenario and target allow
	Jobs      int          // labs side by side; 0 = a default from the cores
	Seed      uint64       // 0 = a fresh one, always shown
	// Out is the folder for histories; empty = a temporary one that is removed, unless something failed.
	Out         string
	MaxRecovery time.Duration // cap of every budget; 0 = 10 min
	// NoRerun reports on the evidence of one run. For suites that only ask whether a client known to be bad is caught; an accusation
	// needs two.
	NoRerun bool
	// Unwedge is the program that is started for HTTP fakes, proxies and the built-in targets; Helper the small one for stdio fakes
	// and the keeper. Empty = found by target.FindPrograms.
	Unwedge, Helper string
	// Progress is told of every verdict as it falls, from one goroutine at a time; nil is quiet.
	Progress func(Progress)
}

// Progress is one piece of news.
type Progress struct {
	Done, Total int
	Verdict     *verdict.Verdict // nil at the start and for Note
	Note        string
	// Report is set once, before the first verdict: what the head of the report will say (target, seed, jobs, eras, estimate, healthy).
	Report *report.Report
}

const (
	// jobsPerCore is how many labs run side by side for each core: most of a run is waiting.
	jobsPerCore = 4
	// coresAlone is how many cores a run has for itself when it is repeated "alone". Few machines have that many twice; on those that
	// do, repeats run side by side and still have nothing beside them on their cores.
	coresAlone = 4
	// maxJobs bounds the default: more labs than this disturb each other's clocks more than they save time.
	maxJobs = 8
)

// Certify runs all scenarios of the options on the target. The report is returned as far as it came, also with an error; when ctx ended
// it is marked as interrupted and there is no error. Errors are the caller's mistakes: a scenario that is not valid, no program, a
// folder that cannot be written. What the target does is never an error.
func Certify(ctx context.Context, o Options) (report.Report, error) {
	r, err := open(ctx, o)
	if err != nil {
		return report.Report{}, err
	}
	cases := r.cases(o.Scenarios)
	rep := report.Report{
		Version: buildinfo.Version, Title: o.Title, Target: o.Target.Name, TargetVersion: o.Target.Version,
		Seed: r.seed, Started: time.Now(), Jobs: r.jobs, Eras: erasOf(cases), Out: r.out,
		Chosen: len(o.Scenarios),
	}
	r.healthyFirst(ctx, cases, &rep)
	rep.Estimate = r.estimate(cases)
	r.total = len(cases)
	r.tell(Progress{Report: &rep})
	r.sideBySide(ctx, cases)
	r.alone(ctx, cases)
	for _, c := range cases {
		if c.verdict != nil {
			rep.Verdicts = append(rep.Verdicts, *c.verdict)
		}
	}
	rep.Interrupted = ctx.Err() != nil
	rep.Causes = verdict.Causes(rep.Verdicts)
	rep.Took = time.Since(rep.Started)
	err = r.close(rep)
	rep.Out = r.out // empty by now when there is nothing worth a look
	return rep, err
}

// One runs one scenario in one era, again where the verdict needs it, without a baseline of its own. For suites that bring their
// own schedule.
func One(ctx context.Context, o Options, s scenario.Scenario, era script.Era) (verdict.Verdict, error) {
	o.Scenarios, o.Eras, o.Jobs = []scenario.Scenario{s}, []script.Era{era}, 1
	r, err := open(ctx, o)
	if err != nil {
		return verdict.Verdict{}, err
	}
	cases := r.cases(o.Scenarios)
	r.total = len(cases)
	r.sideBySide(ctx, cases)
	r.alone(ctx, cases)
	c := cases[0]
	if c.verdict == nil {
		return verdict.Verdict{}, ctx.Err()
	}
	return *c.verdict, r.close(report.Report{Verdicts: []verdict.Verdict{*c.verdict}})
}

// runner is a run while it goes on.
type runner struct {
	options  Options
	programs target.Programs
	profile  target.Profile
	seed     uint64
	jobs     int
	out      string
	keepOut  bool   // the caller named the folder
	secret   string // the canary of this run
	total    int

	mu    sync.Mutex // progress and everything below
	done  int
	info  targetInfo
	twins map[string]*twin
	names map[string]string // folder names in use, and whose they are
}

// targetInfo is what the target says of itself, once it has been up.
type targetInfo struct {
	known    bool
	version  string
	supports []string
}

func open(ctx context.Context, o Options) (*runner, error) {
	seen := map[string]bool{}
	for _, s := range o.Scenarios {
		if err := scenario.Validate(s); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
		}
		if seen[s.ID] {
			return nil, fmt.Errorf("scenario %s: there are two of that id", s.ID)
		}
		seen[s.ID] = true
	}
	r := &runner{
		options: o, profile: o.Target, seed: o.Seed, jobs: o.Jobs, out: o.Out, keepOut: o.Out != "",
		secret: newSecret(), twins: map[string]*twin{}, names: map[string]string{},
	}
	if r.seed == 0 {
		r.seed = rand.Uint64() | 1 // never 0, which asks for a fresh one
	}
	if r.jobs <= 0 {
		r.jobs = min(maxJobs, jobsPerCore*runtime.NumCPU())
	}
	var err error
	if r.programs, err = target.FindPrograms(ctx, o.Unwedge, o.Helper); err != nil {
		return nil, err
	}
	return r, r.makeOut()
}

// sideBySide runs every case once, several at a time.
func (r *runner) sideBySide(ctx context.Context, cases []*oneCase) {
	r.each(ctx, cases, r.jobs, r.first)
}

// each does f for all cases, so many at a time, and begins no more once ctx has ended.
func (r *runner) each(ctx context.Context, cases []*oneCase, jobs int, f func(context.Context, *oneCase)) {
	queue := make(chan *oneCase)
	var wg sync.WaitGroup
	for range min(jobs, max(1, len(cases))) {
		wg.Go(func() {
			for c := range queue {
				f(ctx, c)
			}
		})
	}
	for _, c := range cases {
		select {
		case queue <- c:
		case <-ctx.Done():
		}
	}
	close(queue)
	wg.Wait()
}

// first runs a case for the first time, unless its verdict is known already.
func (r *runner) first(ctx context.Context, c *oneCase) {
	if c.verdict == nil {
		if v, err := r.attempt(ctx, c); err == nil {
			c.verdict = &v
		}
	}
	if c.verdict == nil || ctx.Err() != nil {
		return
	}
	if r.rerun(c) {
		r.tell(Progress{Note: fmt.Sprintf("%s: %s; it will be run again, alone", c.name(), c.verdict.Result)})
		return
	}
	r.settled(c)
}

// alone runs once more, with nothing beside it, what must not be reported on the evidence of one run.
func (r *runner) alone(ctx context.Context, cases []*oneCase) {
	again := slices.DeleteFunc(slices.Clone(cases), func(c *oneCase) bool {
		return c.verdict == nil || !r.rerun(c)
	})
	r.each(ctx, again, max(1, runtime.NumCPU()/coresAlone), r.repeat)
	for _, c := range again {
		if r.rerun(c) && ctx.Err() != nil {
			unsure(c.verdict)
			r.settled(c)
		}
	}
}

func (r *runner) rerun(c *oneCase) bool { return !r.options.NoRerun && verdict.Rerun(*c.verdict) }

// repeat runs a case until its verdict stands.
func (r *runner) repeat(ctx context.Context, c *oneCase) {
	for r.rerun(c) {
		v, err := r.attempt(ctx, c)
		if err != nil {
			return
		}
		merged := verdict.Merge(*c.verdict, v)
		c.verdict = &merged
	}
	r.settled(c)
}

// unsure takes back an accusation that could not be checked any more.
func unsure(v *verdict.Verdict) {
	if v.Result != verdict.Inconclusive {
		v.Reason = fmt.Sprintf("%s in one run; interrupted before it could be run again, alone", v.Result)
	}
	v.Result, v.Pass = verdict.Inconclusive, false
	v.Findings = slices.DeleteFunc(v.Findings, func(f verdict.Finding) bool { return !verdict.Hard(f.Kind) })
}

func (r *runner) settled(c *oneCase) {
	r.mu.Lock()
	r.done++
	r.mu.Unlock()
	if !c.verdict.Pass && c.verdict.Result.Judged() {
		c.verdict.Again = r.again(c)
	}
	v := *c.verdict
	r.tell(Progress{Verdict: &v})
}

// tell fills in the counts and passes the news on.
func (r *runner) tell(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Done, p.Total = r.done, r.total
	if r.options.Progress != nil {
		r.options.Progress(p)
	}
}

var errInterrupted = errors.New("interrupted")
