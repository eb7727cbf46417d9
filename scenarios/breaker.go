package scenarios

import (
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group F: faults aimed at circuit breakers and retry budgets.

const (
	// shortCall is a call timeout that can be waited for a few times in a row. A busy machine still answers within it.
	shortCall = 700
	// strikes is how many failed calls open any breaker that a profile declares; more than that do no harm.
	strikes = 3
)

// failingCall is one that is allowed to fail, and mostly does.
func failingCall(n int) scenario.Step {
	return scenario.Step{Call: "srv.echo", Parallel: n, Expect: scenario.ExpectAny}
}

// stuckOpen: enough calls time out together to open the breaker. The half-open probe after a cooldown fails as well and opens it again; the one
// after the lift must close it.
func stuckOpen(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"call_timeout_ms": shortCall}
	s.Steps = []scenario.Step{
		inject(f),
		failingCall(strikes),
		observed(),
		{Wait: scenario.WaitCooldown},
		failingCall(1),
	}
}

// probeDead: the calls after the death open the breaker of a client that does not start the server again by itself. Liveness probes are off,
// so that nothing but the next call, or the half-open probe, can bring it back.
func probeDead(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"liveness_ms": -1}
	s.Steps = []scenario.Step{inject(f)}
	if !f.NeedsCall {
		s.Steps = append(s.Steps, observed())
	}
	s.Steps = append(s.Steps,
		scenario.Step{Call: "srv.echo", Times: strikes, Expect: scenario.ExpectAny, Timeout: medium},
		observed(),
		scenario.Step{Wait: scenario.WaitCooldown},
		scenario.Step{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: medium},
	)
}

// probeAbandoned: as stuckOpen, but the probe never comes back with a verdict. Where its caller gives up, it does so long before the call
// timeout.
func probeAbandoned(f faults.Info, s *scenario.Scenario) {
	stuckOpen(f, s)
	if strings.HasSuffix(f.ID, "/caller-gives-up") {
		s.Steps[len(s.Steps)-1].Timeout = hasty
	}
}

// hasty is a caller's deadline that says nothing about the server.
const hasty = script.Duration(150 * time.Millisecond)

// toolErrors: one tool fails more often than any breaker forgives. The others must stay in reach, on the same session.
func toolErrors(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.effect", Times: 2 * strikes, Expect: scenario.ExpectError, Fast: true},
		observed(),
		{Call: "srv.echo", Times: 2},
	}
}

// oneTimeout: only the slow call fails. The next ones are answered at once, over the same session, and no tool is missing.
func oneTimeout(f faults.Info, s *scenario.Scenario) {
	s.NoRespawn = true
	s.Settings = map[string]int64{"call_timeout_ms": shortCall}
	s.Steps = []scenario.Step{
		inject(f),
		{Call: "srv.sleep", Expect: scenario.ExpectError},
		observed(),
		{Call: "srv.echo", Times: 2},
		{ListTools: srv, Tools: scenario.ToolsAll},
		{Wait: "600ms"}, // the late answer has come by now
		{Call: "srv.echo", Times: 2},
	}
}

// budgetGone: an outage that lasts three retry budgets, and blips of which there are more than the budget allows in a row.
func budgetGone(f faults.Info, s *scenario.Scenario) {
	if f.NeedsCall {
		s.Settings = map[string]int64{"retries": 3}
		s.Steps = []scenario.Step{
			inject(f),
			{Call: "srv.echo", Times: 12, Expect: scenario.ExpectAny, Timeout: medium},
			observed(),
		}
		return
	}
	s.Settings = map[string]int64{"retries": 2}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief},
		{Wait: scenario.WaitBudget},
		{ListTools: srv, Tools: scenario.ToolsAny},
		{Wait: scenario.WaitBudget},
		{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: brief},
		{Wait: scenario.WaitBudget},
	}
}

// downAtStartup: the target starts without the server, serves the other one, and has this one's tools soon after it has appeared.
func downAtStartup(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"connect_timeout_ms": 1000}
	s.Steps = []scenario.Step{
		{Inject: f.ID, On: srv, Before: scenario.BeforeStart},
		{Call: "srv.echo", Times: 2, Expect: scenario.ExpectAny, Timeout: brief},
		observed(),
		{Wait: "300ms"},
		{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: brief},
	}
}
