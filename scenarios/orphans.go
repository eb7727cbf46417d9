package scenarios

import (
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// orphaned: the target ends in several ways, one after the other, and nothing that it started may be left each time.
func orphaned(f faults.Info, s *scenario.Scenario) {
	ends := []string{scenario.TargetHangup, scenario.TargetTerm, scenario.TargetClose}
	// A target that is killed can do nothing more: what heeds the end of stdin ends by itself, the rest is nobody's fault.
	switch f.ID {
	case "orphan-after-client-death/heeds-eof", "orphan-after-client-death/floods-stdout":
		ends = []string{scenario.TargetKill, scenario.TargetHangup, scenario.TargetClose}
	}
	s.Steps = []scenario.Step{inject(f), observed()}
	for _, end := range ends {
		s.Steps = append(s.Steps,
			scenario.Step{Call: "srv.echo"},
			scenario.Step{Target: end},
			scenario.Step{Target: scenario.TargetRestart},
		)
	}
	s.Steps = append(s.Steps, scenario.Step{Call: "srv.echo"})
}
