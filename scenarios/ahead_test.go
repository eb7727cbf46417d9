package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/unwedge/unwedge/harness/run"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
)

// A scenario is mostly waiting. Where Ginkgo runs spec after spec in one process (go test), several labs work ahead of the
// specs; where it runs processes side by side (ginkgo -p), each does its own.

const (
	// aheadPerCore is how many labs work at once for each core; certify has a third more, but its programs are not slowed by a race detector.
	aheadPerCore = 3
	maxAhead     = 6
)

// job is one scenario on one target, run by whoever comes first.
type job struct {
	c    oneCase
	on   target.Profile
	seed uint64
	done chan struct{} // closed when the rest is there

	unwanted context.Context // over when its spec has given up
	abandon  context.CancelFunc

	out     string // folder with the histories, from the start of the run
	verdict verdict.Verdict
	err     error

	mu    sync.Mutex
	notes []string
}

func newJob(on target.Profile, c oneCase, seed int64) *job {
	j := &job{c: c, on: on, seed: uint64(seed), done: make(chan struct{})}
	j.unwanted, j.abandon = context.WithCancel(context.Background())
	return j
}

// run runs it. The histories are in j.folder() from now on.
func (j *job) run(ctx context.Context) {
	defer close(j.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(j.unwanted, cancel)()
	out, err := os.MkdirTemp("", "unwedge-spec-")
	if err != nil {
		j.err = err
		return
	}
	j.mu.Lock()
	j.out = out
	j.mu.Unlock()
	j.verdict, j.err = run.One(ctx, run.Options{
		Title: "scenarios", Target: j.on, Unwedge: programs.Unwedge, Helper: programs.Helper, Out: out, Seed: j.seed,
		Progress: func(p run.Progress) { j.note(p.Note) },
	}, j.c.scenario, j.c.era)
}

func (j *job) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if text != "" {
		j.notes = append(j.notes, text)
	}
}

func (j *job) folder() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out
}

// ahead are the jobs that are worked at before their specs come.
type ahead struct {
	jobs   map[string]*job
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// workAhead begins with the cases that the command line selects, in their order.
func workAhead(on target.Profile, cs []oneCase) *ahead {
	cfg, _ := GinkgoConfiguration()
	ctx, cancel := context.WithCancel(context.Background()) // not a node's: it lasts for the suite
	a := &ahead{jobs: map[string]*job{}, cancel: cancel}
	if cfg.ParallelTotal > 1 {
		return a
	}
	var queue []*job
	for _, c := range cs {
		if selected(cfg, c) {
			j := newJob(on, c, cfg.RandomSeed)
			a.jobs[c.String()] = j
			queue = append(queue, j)
		}
	}
	next := make(chan *job)
	for range min(maxAhead, aheadPerCore*runtime.NumCPU()) {
		a.all.Go(func() {
			for j := range next {
				j.run(ctx)
			}
		})
	}
	a.all.Go(func() {
		defer close(next)
		for _, j := range queue {
			next <- j // when ctx is over, what is left ends at once
		}
	})
	return a
}

// take hands a case's job over to its spec; nil when nobody works at it.
func (a *ahead) take(c oneCase) *job {
	j := a.jobs[c.String()]
	delete(a.jobs, c.String())
	return j
}

// stop ends what no spec has asked for.
func (a *ahead) stop() error {
	a.cancel()
	a.all.Wait()
	var err error
	for _, j := range a.jobs {
		if rerr := os.RemoveAll(j.folder()); err == nil {
			err = rerr
		}
	}
	return err
}

// selected says whether the command line lets a case's spec run. A mistake here costs time, nothing else: a spec without a job runs its own.
func selected(cfg types.SuiteConfig, c oneCase) bool {
	if cfg.LabelFilter != "" {
		f, err := types.ParseLabelFilter(cfg.LabelFilter)
		if err != nil || !f(labels(c)) {
			return false
		}
	}
	text := fmt.Sprintf("%s %s", tableName, c)
	matches := func(pattern string) bool {
		ok, err := regexp.MatchString(pattern, text)
		return ok && err == nil
	}
	if len(cfg.FocusStrings) > 0 && !slices.ContainsFunc(cfg.FocusStrings, matches) {
		return false
	}
	return !slices.ContainsFunc(cfg.SkipStrings, matches)
}
