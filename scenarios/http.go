package scenarios

import (
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Groups C and E: faults of HTTP.

// silentDrop: the call that meets the vanished flow may be lost, within its own deadline; the ones after it must find a new
// connection.
func silentDrop(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium},
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium},
	}
}

// window401: a refused call fails, and at once: it must not hang for its whole timeout.
func window401(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectError, Fast: true},
		observed(),
	}
}
