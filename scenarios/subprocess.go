package scenarios

import (
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group A: faults of the server's process.

// Deadlines that callers set themselves where the target's call timeout would only cost time: an answer cannot come.
const (
	brief  = script.Duration(400 * time.Millisecond)
	medium = script.Duration(1500 * time.Millisecond)
)

// diesIdle: the calls after the death may be lost, the server may not. The effect is there for clients that resend.
func diesIdle(f faults.Info, s *scenario.Scenario) {
	if len(f.Rules) > 0 { // it is not over with the first new process
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Call: "srv.echo", Times: 3, Expect: scenario.ExpectAny, Timeout: medium},
			{Call: "srv.effect", Expect: scenario.ExpectAny, Timeout: medium},
		}
		return
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Times: 3, Expect: scenario.ExpectAny},
		{Call: "srv.effect", Expect: scenario.ExpectAny},
	}
}

// killedMidCall: three calls are in flight when a fourth one kills the server. All four must end at once, and none that
// may have had an effect may be run again.
func killedMidCall(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		{Call: "srv.sleep", Args: map[string]any{"ms": 4000}, Parallel: 3, Expect: scenario.ExpectAny, Fast: true, Async: true},
		inject(f),
		{Call: "srv.effect", Expect: scenario.ExpectAny, Fast: true},
		observed(),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny},
	}
}

// crashLoop: callers keep asking while the server dies again and again, until the target has used up its quick retries.
// Neither they nor time may turn that into a storm of starts.
func crashLoop(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Times: 3, Expect: scenario.ExpectAny, Timeout: brief},
		{Wait: scenario.WaitBudget},
		{Call: "srv.echo", Parallel: 4, Expect: scenario.ExpectAny, Timeout: brief},
	}
}

// holdsPipe: the call that kills the server must end at once although the pipe never does.
func holdsPipe(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.effect", Expect: scenario.ExpectAny, Fast: true},
		observed(),
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny},
	}
}

// stopsReading: two calls are larger than any pipe, so writing them blocks; two small ones must not have to wait behind them
// for longer than their own deadline.
func stopsReading(f faults.Info, s *scenario.Scenario) {
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Parallel: 2, Pad: 1 << 20, Expect: scenario.ExpectAny, Timeout: medium, Async: true},
		{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: brief},
	}
}

// stopped: a process that is frozen for good must be replaced; one that thaws well within a call's deadline must not,
// and the call must be answered. Liveness probes are off there: how soon they give up is a matter of policy.
func stopped(f faults.Info, s *scenario.Scenario) {
	if strings.HasSuffix(f.ID, "/for-good") {
		s.Steps = []scenario.Step{
			inject(f),
			observed(),
			{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: medium},
		}
		return
	}
	s.NoRespawn = true
	s.Settings = map[string]int64{"liveness_ms": -1}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Async: true},
		{Wait: "300ms"},
		{Lift: f.ID, On: srv},
		{Call: "srv.echo"},
	}
}
