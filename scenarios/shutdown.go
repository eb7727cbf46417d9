package scenarios

import (
	"strings"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group H: the close of one session, and of the whole client. The target is closed while the fault is on; it must end in time and leave
// nothing behind. Then it is started again, and must find everything in order.

// ignoresStop: a result that is there already is delivered before the close; then the server does not go.
func ignoresStop(f faults.Info, s *scenario.Scenario) {
	if f.NeedsCall { // it must be replaced, not closed
		s.Settings = map[string]int64{"call_timeout_ms": shortCall}
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny},
			observed(),
		}
		return
	}
	s.Steps = []scenario.Step{inject(f)}
	if !strings.HasSuffix(f.ID, "/late") {
		s.Steps = append(s.Steps, observed())
	}
	if !strings.HasSuffix(f.ID, "/deaf") {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.echo"})
	} else {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief})
	}
	s.Steps = append(s.Steps, scenario.Step{Target: scenario.TargetClose}, observed())
}

// pending: calls are in flight, are being written, or wait for a session, when the target is closed.
func pending(f faults.Info, s *scenario.Scenario) {
	call := scenario.Step{Call: "srv.echo", Parallel: 3, Expect: scenario.ExpectAny, Async: true}
	switch {
	case f.NeedsCall:
		s.Steps = []scenario.Step{inject(f), call, observed()}
	case strings.HasSuffix(f.ID, "/writes"):
		call.Pad = 1 << 20 // larger than any pipe
		s.Steps = []scenario.Step{inject(f), observed(), call}
	default:
		s.Steps = []scenario.Step{inject(f), observed(), call}
	}
	s.Steps = append(s.Steps, scenario.Step{Wait: "100ms"}, scenario.Step{Target: scenario.TargetClose})
}

// cannotExit: the host has done its work and leaves. A service manager asks it by a signal, anybody else closes it.
func cannotExit(f faults.Info, s *scenario.Scenario) {
	leave := scenario.TargetClose
	if strings.HasSuffix(f.ID, "/dead") {
		leave = scenario.TargetTerm
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief},
		{Target: leave},
	}
}
