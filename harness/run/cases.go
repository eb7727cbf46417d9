package run

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// oneCase is one scenario in one era.
type oneCase struct {
	scenario scenario.Scenario
	era      script.Era
	runs     int              // how often it was run so far
	verdict  *verdict.Verdict // nil until there is one
}

func (c *oneCase) name() string { return fmt.Sprintf("%s (%s)", c.scenario.ID, c.era) }

// cases are all pairs of scenario and era, in the order of the scenarios. Those that do not apply have their verdict already.
func (r *runner) cases(all []scenario.Scenario) []*oneCase {
	wanted := r.options.Eras
	if len(wanted) == 0 {
		wanted = []script.Era{script.Legacy, script.Modern}
	}
	var out []*oneCase
	for _, s := range all {
		if !budget.FastOK(r.profile) && r.profile.Timings == nil {
			s = withoutFast(s)
		}
		in := s.InEras()
		any := false
		for _, era := range wanted {
			if !slices.Contains(in, era) {
				continue
			}
			any = true
			c := &oneCase{scenario: s, era: era}
			if why := r.notApplicable(c); why != "" {
				c.verdict = r.unrun(c, verdict.NotApplicable, why)
			}
			out = append(out, c)
		}
		if !any {
			c := &oneCase{scenario: s, era: wanted[0]}
			c.verdict = r.unrun(c, verdict.NotApplicable, "it does not exist in the eras asked for")
			out = append(out, c)
		}
	}
	return out
}

// withoutFast drops what cannot be asked of a target that declares no timings: that some errors come faster than others.
func withoutFast(s scenario.Scenario) scenario.Scenario {
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Fast = false
	}
	return s
}

// notApplicable says why a case cannot be run on this target; "" when it can. What a target says of itself is known only once it has
// been up, so this is asked again then.
func (r *runner) notApplicable(c *oneCase) string {
	p := budget.With(r.profile, c.scenario.Settings)
	if len(p.Eras) > 0 && !slices.Contains(p.Eras, c.era) {
		return fmt.Sprintf("the target does not speak the %s era", c.era)
	}
	for _, need := range c.scenario.Requires() {
		switch need {
		case faults.Stdio, faults.HTTP:
			if len(p.Transports) > 0 && !slices.Contains(p.Transports, need) {
				return fmt.Sprintf("the target does not connect over %s", need)
			}
		default:
			if !r.supports(need) {
				return fmt.Sprintf("the target does not support %q", need)
			}
		}
	}
	if asksForSpeed(c.scenario) && !budget.FastOK(p) {
		return fmt.Sprintf("its call timeout of %v is too short to tell an error that came fast from one that did not",
			p.CallTimeout())
	}
	return ""
}

func asksForSpeed(s scenario.Scenario) bool {
	return slices.ContainsFunc(s.Steps, func(st scenario.Step) bool { return st.Fast })
}

// supports says whether the target does something optional, as far as is known.
func (r *runner) supports(what string) bool {
	if len(r.profile.Supports) > 0 {
		return slices.Contains(r.profile.Supports, what)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.info.known || slices.Contains(r.info.supports, what)
}

// unrun is the verdict of a case that is not run.
func (r *runner) unrun(c *oneCase, class verdict.Class, why string) *verdict.Verdict {
	return &verdict.Verdict{
		Scenario: c.scenario.ID, Class: c.scenario.FaultClass(), Era: string(c.era), Target: r.profile.Name,
		Result: class, Reason: why, Reports: c.scenario.Reports, Expect: c.scenario.Expect,
	}
}

func erasOf(cases []*oneCase) []string {
	var out []string
	for _, c := range cases {
		if !slices.Contains(out, string(c.era)) {
			out = append(out, string(c.era))
		}
	}
	slices.Sort(out)
	return out
}

const (
	// caseCost is what a lab costs besides waiting: starting and stopping ten processes, controls, three good calls in a row.
	caseCost = 1500 * time.Millisecond
	// healthyShare is the part of its budget that a target usually needs to come back.
	healthyShare = 0.25
)

// estimate says roughly how long the run will take.
func (r *runner) estimate(cases []*oneCase) time.Duration {
	var sum time.Duration
	for _, c := range cases {
		if c.verdict != nil {
			continue
		}
		sum += caseCost
		p := budget.With(r.profile, c.scenario.Settings)
		for _, st := range c.scenario.Steps {
			if d, ok := st.WaitFor(); ok {
				sum += d
			}
		}
		var infos []faults.Info
		for _, in := range c.scenario.Injections() {
			infos = append(infos, in.Fault.What())
		}
		b := budget.For(p, infos, 1, r.options.MaxRecovery)
		sum += time.Duration(float64(b.Total) * healthyShare)
	}
	return sum / time.Duration(r.jobs)
}

// seedOf is the seed of one run of one case, from the run's own: the same seed repeats the same run.
func (r *runner) seedOf(c *oneCase) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", r.seed, c.name(), c.runs)
	return h.Sum64()
}

// fileName makes a scenario's id a plain file name.
func fileName(id string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_':
			return c
		}
		return '-'
	}, id)
}
