package scenarios

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group A: more processes than one, and the ways in which they end.

// behindLauncher: what the target starts is not the server. It must be gone all the same before the next one starts, and at the end.
func behindLauncher(f faults.Info, s *scenario.Scenario) {
	if !f.OneLife { // it cannot start
		s.Settings = map[string]int64{"connect_timeout_ms": 500}
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny, Timeout: medium},
	}
}

// leftAlone: every call is answered, before and after a time in which nothing is heard of the server.
func leftAlone(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Times: 2},
		{Wait: scenario.WaitLiveness},
		observed(),
		{Call: "srv.echo", Times: 2},
	}
}

// locked: the new process is refused as long as the old one lives.
func locked(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny, Timeout: medium},
	}
}

// probed: whatever is done to answer the question for tools, it leaves nothing behind and disturbs nothing.
func probed(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{ListTools: srv, Tools: scenario.ToolsAll},
		{Call: "srv.echo"},
		{ListTools: srv, Tools: scenario.ToolsAll},
		{ListTools: srv, Tools: scenario.ToolsAll},
		{Wait: scenario.WaitLiveness},
		{Call: "srv.echo"},
	}
}

// cancelled: a caller who gives up costs nobody but himself.
func cancelled(f faults.Info, s *scenario.Scenario) {
	const impatient = script.Duration(100 * time.Millisecond)
	switch f.ID {
	case "cancel-corrupts-teardown/in-connect":
		s.Spawns = 2 // the baseline's, and the slow one, which nobody's impatience ends
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Call: "srv.echo", Parallel: 4, Expect: scenario.ExpectAny, Timeout: impatient},
			{Call: "srv.echo"},
		}
	case "cancel-corrupts-teardown/dies-of-cancel":
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.sleep", Args: map[string]any{"ms": 4000}, Expect: scenario.ExpectAny, Async: true},
			{Call: "srv.sleep", Args: map[string]any{"ms": 3000}, Expect: scenario.ExpectError, Timeout: impatient},
			observed(),
			{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny},
		}
	default:
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: medium},
		}
	}
}
