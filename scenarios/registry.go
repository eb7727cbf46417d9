package scenarios

import (
	"strings"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group I: faults that the list of tools must follow.

// quickPark makes a target use up its retries in a moment where each costs a whole connect timeout.
var quickPark = map[string]int64{"connect_timeout_ms": 400, "retries": 1}

func listed(words string) scenario.Step { return scenario.Step{ListTools: srv, Tools: words} }

// revival: whatever kept the tools away, they are on offer again when the server is back.
func revival(f faults.Info, s *scenario.Scenario) {
	switch {
	case strings.HasSuffix(f.ID, "/long-outage"):
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Wait: scenario.WaitBudget},
			listed(scenario.ToolsNone),
			{Lift: f.ID, On: srv},
			{Call: "srv.echo", Expect: scenario.ExpectAny},
		}
	case strings.HasSuffix(f.ID, "/list-hangs"):
		s.Settings = quickPark
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief},
			{Lift: f.ID, On: srv},
			{Call: "srv.echo", Expect: scenario.ExpectAny},
		}
	default: // the server is back while the fault is on
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Expect: scenario.ExpectAny}, // may meet the death that brings the new life about
			observed(),
			{Wait: scenario.WaitCooldown},
			listed(scenario.ToolsAll),
			{Call: "srv.echo"},
		}
	}
}

// phantoms: the tools of a parked server are withdrawn, and whoever listens is told, once.
func phantoms(f faults.Info, s *scenario.Scenario) {
	if strings.HasSuffix(f.ID, "/silent-server") {
		s.Settings = quickPark
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief},
		{Wait: scenario.WaitBudget},
		listed(scenario.ToolsNone),
		{Call: "srv.echo", Expect: scenario.ExpectError, Timeout: medium},
	}
}

// staleTools: what the server has now is on offer and can be called; what it has no more is refused.
func staleTools(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Expect: scenario.ExpectAny},
		observed(),
		{Wait: scenario.WaitCooldown},
		listed(scenario.ToolsAll),
	}
	if !strings.HasSuffix(f.ID, "/removed") {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.extra-1"})
	}
	if !strings.HasSuffix(f.ID, "/added") {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.big", Expect: scenario.ExpectError, Fast: true})
	}
}

// listStorm: a storm of notifications costs a few lists and no call.
func listStorm(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	most := 2 // one at once, one for all that followed
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Times: 3, Timeout: brief},
		observed(),
		{Wait: "1500ms"},
		{Call: "srv.echo", Times: 3, Timeout: brief},
	}
	if !strings.HasSuffix(f.ID, "/burst") {
		most = 20 // ten a second would be a list for nearly every notification
	}
	s.Steps = append(s.Steps, scenario.Step{Seen: srv, Method: "tools/list", Least: 1, Most: &most})
}
