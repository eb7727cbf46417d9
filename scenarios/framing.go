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
