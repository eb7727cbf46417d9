package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// healthyID names the run before any fault.
const healthyID = "healthy-first"

// healthyFirst runs the target with healthy servers, once in each era, before anything is done to it. What does not work then is not
// tried with faults: an era that the target does not speak is not applicable, a transport over which it has no good call is
// inconclusive.
func (r *runner) healthyFirst(ctx context.Context, cases []*oneCase, rep *report.Report) {
	looks := map[script.Era]*healthy{}
	var wg sync.WaitGroup
	for _, era := range rep.Eras {
		used := transportsOf(cases, script.Era(era))
		if len(used) == 0 {
			continue
		}
		h := &healthy{era: script.Era(era), transports: used}
		looks[h.era] = h
		wg.Go(func() { r.lookHealthy(ctx, h) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	if rep.TargetVersion == "" {
		rep.TargetVersion = r.info.version
	}
	r.mu.Unlock()
	rep.Healthy = summary(looks)
	for _, c := range cases {
		h := looks[c.era]
		if c.verdict != nil || h == nil {
			continue
		}
		if class, why := h.bars(c, r.elsewhere(looks, c.era)); why != "" {
			c.verdict = r.unrun(c, class, why)
			c.verdict.Runs = 2 // the look was repeated
			c.verdict.Agreed = 2
		} else if why := r.notApplicable(c); why != "" {
			c.verdict = r.unrun(c, verdict.NotApplicable, why)
		}
	}
}

// transportsOf are the transports that the cases of an era need.
func transportsOf(cases []*oneCase, era script.Era) []string {
	set := map[string]bool{}
	for _, c := range cases {
		if c.era == era && c.verdict == nil {
			for _, s := range c.scenario.Servers {
				set[s.Transport] = true
			}
		}
	}
	var out []string
	for t := range set {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// healthy is the look at one era.
type healthy struct {
	era        script.Era
	transports []string
	events     []history.Event
	err        error
}

// lookHealthy runs it, and again when it was not good: what is said of a whole run must not rest on one bad moment.
func (r *runner) lookHealthy(ctx context.Context, h *healthy) {
	s := scenario.Scenario{ID: healthyID, Servers: map[string]scenario.Server{}}
	for _, t := range h.transports {
		s.Servers[t] = scenario.Server{Transport: t}
		s.Steps = append(s.Steps, scenario.Step{Call: t + ".echo"})
	}
	c := &oneCase{scenario: s, era: h.era}
	for range 2 {
		c.runs++
		h.events, h.err = r.lab(ctx, c, filepath.Join(r.out, r.folder(c)), true)
		if h.err == nil && len(h.failed()) == 0 || ctx.Err() != nil {
			return
		}
	}
}

// failed are the transports without a good baseline, and why.
func (h *healthy) failed() map[string]string {
	out := map[string]string{}
	whole := "the target has no good call with healthy servers"
	found := false
	for _, e := range h.events {
		if e.Kind != history.Baseline {
			continue
		}
		found = true
		switch {
		case e.OK:
		case e.Server == "":
			whole = e.Detail // it did not even start
			found = false
		default:
			out[e.Server] = e.Detail
		}
	}
	if !found {
		for _, t := range h.transports {
			out[t] = whole
		}
	}
	return out
}

// worldFailed is a control that failed: then the target is not to blame.
func (h *healthy) worldFailed() string {
	for _, e := range h.events {
		if e.Kind == history.Control && !e.OK {
			return e.Detail
		}
	}
	return ""
}

// elsewhere says whether the target is good in another era, and declares nothing about eras by itself.
func (r *runner) elsewhere(looks map[script.Era]*healthy, era script.Era) bool {
	if len(r.profile.Eras) > 0 || r.profile.BuiltIn {
		return false
	}
	for other, h := range looks {
		if other != era && h.err == nil && len(h.failed()) == 0 {
			return true
		}
	}
	return false
}

// bars says why a case is not worth running.
func (h *healthy) bars(c *oneCase, goodElsewhere bool) (verdict.Class, string) {
	if h.err != nil {
		return verdict.Inconclusive, "before any fault: " + h.err.Error()
	}
	failed := h.failed()
	if len(failed) == 0 {
		return "", ""
	}
	if why := h.worldFailed(); why != "" {
		return verdict.Inconclusive, "before any fault: a plain client could not call: " + why
	}
	if len(failed) == len(h.transports) && goodElsewhere {
		return verdict.NotApplicable, fmt.Sprintf("the target does not speak the %s era", c.era)
	}
	for _, s := range c.scenario.Servers {
		if why, bad := failed[s.Transport]; bad {
			return verdict.Inconclusive, fmt.Sprintf("before any fault, over %s: %s", s.Transport, why)
		}
	}
	return "", ""
}

// summary is what the report's second line says.
func summary(looks map[script.Era]*healthy) report.Healthy {
	out := report.Healthy{Slack: 1}
	var took []time.Duration
	var reasons []string
	for _, h := range looks {
		out.Servers = max(out.Servers, len(h.transports))
		load := map[int64]bool{}
		for _, e := range h.events {
			switch {
			case e.Kind == history.CallBegin && e.Load == history.LoadBaseline:
				load[e.Call] = true
			case e.Kind == history.CallEnd && load[e.Call]:
				out.Calls++
				if e.OK && e.NonceOK {
					out.OK++
					took = append(took, time.Duration(e.D))
				}
			}
		}
		if h.err != nil {
			reasons = append(reasons, h.err.Error())
		}
		for t, why := range h.failed() {
			reasons = append(reasons, fmt.Sprintf("%s over %s: %s", h.era, t, why))
		}
		out.Slack = max(out.Slack, budget.Slack(h.events))
	}
	if len(took) > 0 {
		slices.Sort(took)
		out.Median = took[len(took)/2]
	}
	slices.Sort(reasons)
	out.Reason = strings.Join(reasons, "; ")
	return out
}
