package scenarios

import (
	"strings"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Group G: many callers, many servers, many cycles.

// more are the servers beside srv that are hit as well, in scenarios that need several.
var more = []string{"srv2", "srv3", "srv4"}

// alike adds more servers like srv, and says which there are.
func alike(s *scenario.Scenario) []string {
	for _, name := range more {
		s.Servers[name] = s.Servers[srv]
	}
	return append([]string{srv}, more...)
}

const (
	// callers is how many want a server at once.
	callers = 12
	// stormStarts is how many starts of one server are enough in the two seconds that a storm is looked at, whatever a target's schedule is:
	// a client that starts a server whenever somebody asks makes dozens.
	stormStarts = 24
)

// storm: callers ask again as soon as they were refused. The number of starts must follow the schedule, not the callers.
func storm(f faults.Info, s *scenario.Scenario) {
	servers := []string{srv}
	if strings.HasSuffix(f.ID, "/many-servers") {
		servers = alike(s)
	}
	s.Spawns = stormStarts
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{Inject: f.ID, On: name})
	}
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{
			Call: name + ".echo", Parallel: callers / len(servers), Times: 3, Expect: scenario.ExpectAny, Timeout: brief, Async: true,
		})
	}
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{Await: scenario.AwaitObserved, On: name})
	}
	s.Steps = append(s.Steps, scenario.Step{Wait: "1500ms"})
}

// dropTogether: all servers but the bystander die in one moment; every one of them must come back. Where the target is frozen meanwhile, it
// finds all of that when it wakes.
func dropTogether(f faults.Info, s *scenario.Scenario) {
	asleep := strings.HasSuffix(f.ID, "/target-asleep")
	servers := alike(s)
	if asleep {
		s.Steps = append(s.Steps, scenario.Step{Target: scenario.TargetStop})
	}
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{Inject: f.ID, On: name})
	}
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{Await: scenario.AwaitObserved, On: name})
	}
	if asleep {
		s.Steps = append(s.Steps, scenario.Step{Wait: "800ms"}, scenario.Step{Target: scenario.TargetCont})
	}
	for _, name := range servers {
		s.Steps = append(s.Steps, scenario.Step{
			Call: name + ".echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: medium, Async: true,
		})
	}
}

// failedConnects: pauses so short that there are dozens of attempts in the time that the scenario takes.
func failedConnects(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"retries": 10_000, "backoff_min_ms": 5, "backoff_max_ms": 10}
	if !f.Loud {
		s.Settings["connect_timeout_ms"], s.Settings["stop_grace_ms"] = 250, 100 // each attempt waits for both
	}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectAny, Timeout: brief},
		{Wait: "1500ms"},
	}
}

// cycles is how often a session is replaced: a leak of one descriptor each is far beyond what is spared.
const cycles = 30

// sessions: cycle after cycle of one call and one end of the session.
func sessions(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"backoff_min_ms": 5, "backoff_max_ms": 10}
	s.Steps = []scenario.Step{inject(f)}
	if f.NeedsCall {
		s.Steps = append(s.Steps, scenario.Step{Call: "srv.echo", Times: cycles, Expect: scenario.ExpectAny, Timeout: medium}, observed())
		return
	}
	for range cycles {
		s.Steps = append(s.Steps, scenario.Step{Reconnect: srv}, scenario.Step{Call: "srv.echo"})
	}
	s.Steps = append(s.Steps, observed())
}
