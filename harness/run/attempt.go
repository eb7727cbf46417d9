package run

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/lab"
	"github.com/unwedge/unwedge/harness/oracle"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// newSecret is a canary: nothing else looks like it.
func newSecret() string { return "unwedge-canary-" + rand.Text() }

// attempt runs a case once and judges it. The error is errInterrupted; a world that could not be built is an inconclusive verdict.
func (r *runner) attempt(ctx context.Context, c *oneCase) (verdict.Verdict, error) {
	if why := r.notApplicable(c); why != "" { // what the target supports may be known only by now
		return *r.unrun(c, verdict.NotApplicable, why), nil
	}
	c.runs++
	dir := r.folder(c)
	events, err := r.lab(ctx, c, filepath.Join(r.out, dir), false)
	if ctx.Err() != nil {
		return verdict.Verdict{}, errInterrupted
	}
	if err != nil {
		v := r.unrun(c, verdict.Inconclusive, err.Error())
		v.Runs, v.Agreed, v.Folder = 1, 1, dir
		return *v, nil
	}
	run := r.judged(c, events)
	v := oracle.Judge(run, nil)
	if len(v.Findings) > 0 {
		// Only findings can be voided by a twin, so it is run when there are some.
		if t := r.twinOf(ctx, c); t != nil {
			v = oracle.Judge(run, t)
		}
	}
	v.Folder, v.Load = dir, loadAverage()
	return v, nil
}

func (r *runner) lab(ctx context.Context, c *oneCase, dir string, twin bool) ([]history.Event, error) {
	return lab.Run(ctx, lab.Plan{
		Scenario: c.scenario, Era: c.era, Profile: r.profile, Programs: r.programs, Dir: dir, Twin: twin,
		Seed: r.seedOf(c), Secret: r.secret, MaxRecovery: r.options.MaxRecovery, Up: r.up,
	})
}

// up remembers what the target says of itself.
func (r *runner) up(i driver.Info) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info = targetInfo{known: true, version: i.Version, supports: i.Supports}
}

func (r *runner) judged(c *oneCase, events []history.Event) oracle.Run {
	infos := map[string]faults.Info{}
	for _, in := range c.scenario.Injections() {
		infos[in.Fault.What().ID] = in.Fault.What()
	}
	return oracle.Run{
		Scenario: c.scenario, Profile: r.profile, Era: string(c.era), Faults: infos, Events: events,
		Secrets: []string{r.secret}, MaxRecovery: int64(r.options.MaxRecovery),
	}
}

// twin is the history of a scenario without its fault. Scenarios that differ only in their faults share it.
type twin struct {
	once sync.Once
	run  *oracle.Run // nil: it could not be run
}

// twinOf runs the twin of a case, unless another case has done so.
func (r *runner) twinOf(ctx context.Context, c *oneCase) *oracle.Run {
	key := twinKey(c)
	r.mu.Lock()
	t := r.twins[key]
	if t == nil {
		t = &twin{}
		r.twins[key] = t
	}
	r.mu.Unlock()
	t.once.Do(func() {
		dir := filepath.Join(r.out, historyDir, "twin-of-"+r.unique(fileName(c.scenario.ID)+"-"+string(c.era), "twin "+key))
		events, err := r.lab(ctx, c, dir, true)
		if err != nil {
			r.tell(Progress{Note: fmt.Sprintf("the twin of %s could not be run: %v", c.name(), err)})
			return
		}
		run := r.judged(c, events)
		t.run = &run
	})
	return t.run
}

// twinKey is what twins of different scenarios must have in common: era, servers, workload, settings.
func twinKey(c *oneCase) string {
	s := c.scenario
	servers := map[string]scenario.Server{}
	for name, srv := range s.Servers {
		srv.Script.Rules = nil
		servers[name] = srv
	}
	var steps []scenario.Step
	for _, st := range s.Steps {
		if st.Inject == "" && st.Kill == "" && st.Lift == "" && st.Await == "" && st.Target == "" {
			steps = append(steps, st)
		}
	}
	b, err := json.Marshal([]any{c.era, servers, steps, s.Settings, s.Faulted()})
	if err != nil { // scenarios are plain data
		return c.name()
	}
	return string(b)
}
