package scenarios

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// Groups A and D: servers that do not start as they should.

// cannotStart: who calls meanwhile is told at once, and told why.
func cannotStart(f faults.Info, s *scenario.Scenario) {
	call := scenario.Step{Call: "srv.echo", Times: 3, Expect: scenario.ExpectError, Fast: true}
	if f.ID == "exits-after-initialize/after-list" {
		// A call may get in between the list and the end, or wait for the next session that was ready for a moment.
		call = scenario.Step{Call: "srv.echo", Times: 3, Expect: scenario.ExpectAny}
	}
	s.Steps = []scenario.Step{inject(f), observed(), call}
}

// neverSpeaks: the handshake has a bound of its own, and whoever waits for it is told when it is over.
func neverSpeaks(f faults.Info, s *scenario.Scenario) {
	s.Settings = map[string]int64{"connect_timeout_ms": 500}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo", Expect: scenario.ExpectError, Timeout: script.Duration(2 * time.Second)},
		{Call: "srv.echo", Parallel: 2, Expect: scenario.ExpectAny, Timeout: brief},
	}
}

// slowStart: the connect timeout is set so that the fault's name is true of it.
func slowStart(f faults.Info, s *scenario.Scenario) {
	connect := map[string]int64{
		"slow-initialize/half": 1000, "slow-initialize/nearly": 2000, "slow-initialize/too-slow": 600,
	}[f.ID]
	s.Settings = map[string]int64{"connect_timeout_ms": connect}
	s.Steps = []scenario.Step{
		inject(f),
		observed(),
		{Call: "srv.echo"},
	}
	if f.OneLife {
		s.Spawns = 2 // the baseline's, and the slow one
		return
	}
	s.Steps[2] = scenario.Step{Call: "srv.echo", Expect: scenario.ExpectError, Timeout: script.Duration(2 * time.Second)}
}

// askedForEra: the server is usable again while it still reacts badly to the question; where it reacts so only once, or has changed,
// it is too.
func askedForEra(f faults.Info, s *scenario.Scenario) {
	// Long enough for a question of half of it that is not answered, and for the other handshake after it.
	s.Settings = map[string]int64{"connect_timeout_ms": 1200}
	metAtStart(f, s)
}
