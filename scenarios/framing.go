package scenarios

import (
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group B: faults of what a stdio server writes.

// noise: lines that are no frames cost nothing at all: no call, no restart. Only what is glued to a frame may cost that one
// call; it is given up on by the caller.
func noise(f faults.Info, s *scenario.Scenario) {
	switch f.ID {
	case "stdout-noise/banner":
		metAtStart(f, s)
		return
	case "stdout-noise/bom", "stdout-noise/glued":
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium},
			observed(),
		}
	default:
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Times: 2},
			observed(),
		}
	}
	s.NoRespawn = true
}

// stderrFull: a server that is read all the time answers as ever.
func stderrFull(f faults.Info, s *scenario.Scenario) {
	if f.ID == "stderr-pipe-full/before-init" {
		metAtStart(f, s)
		return
	}
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo"},
		observed(),
	}
}

// metAtStart is for faults that every new life meets before its handshake, and that are harmless for who reads well: the
// server is usable again while they are still on.
func metAtStart(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Expect: scenario.ExpectAny}, // may meet the death that brings the new life about
		observed(),
		{Wait: scenario.WaitCooldown}, // for targets whose breaker that call has opened
		{Call: "srv.echo"},
	}
}

// invalidText: a line that cannot be read costs nothing; an answer that cannot be read costs that call at most.
func invalidText(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Times: 2},
		observed(),
	}
	if !f.Loud {
		s.Steps[1] = scenario.Step{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium}
	}
}

// hugeLine: what fits arrives whole; what does not costs that call.
func hugeLine(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = f.Loud
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo"},
		observed(),
	}
	if !f.Loud {
		s.Steps[1] = scenario.Step{Call: "srv.echo", Expect: scenario.ExpectError}
	}
}

// brokenLine: the call ends, at once where the server does, and nothing that came before spoils what comes after.
func brokenLine(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.effect", Expect: scenario.ExpectAny, Timeout: medium, Fast: f.Loud},
		observed(),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny, Timeout: medium},
	}
}

// brokenStdin: the write that fails costs its request. In a call, that is the notification of its cancellation.
func brokenStdin(f faults.Info, s *scenario.Scenario) {
	if f.NeedsCall {
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.effect", Expect: scenario.ExpectAny, Timeout: brief},
			observed(),
			{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny},
		}
		return
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Fast: true},
		{Call: "srv.effect", Expect: scenario.ExpectAny, Fast: true},
	}
}
