package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// healthyChildKilled is no fault at all: a healthy server with signs that have been taken for death. Nothing may be done to it.
func healthyChildKilled() []Fault {
	fault := func(variant, how string, f scripted) Fault {
		f.Info.ID = "healthy-child-killed/" + variant
		f.Info.Title = "a healthy server " + how
		f.Info.Recovery = "leave it alone: only evidence is death, a probe that failed is none"
		f.Info.Reports = []string{
			"anthropics/claude-code#30147", "stacklok/toolhive#3936", "NousResearch/hermes-agent#95395",
			"NousResearch/hermes-agent#95752", "Dicklesworthstone/mcp_agent_mail_rust#145",
		}
		f.Info.Loud, f.Info.OneLife = true, true // nothing is lost that would have to be found out
		f.how = how
		return f
	}
	return []Fault{
		fault("children-come-and-go", "behind a wrapper starts processes in its calls, which end", scripted{
			Info:  Info{Launcher: script.Wrapper, NeedsCall: true},
			rules: inEachCall(script.Action{HoldPipes: script.Duration(20 * time.Millisecond)}),
		}),
		// Longer than two liveness intervals of the built-in target, shorter than the three misses that are its evidence.
		fault("answers-probes-late", "answers pings and discoveries late", scripted{
			calm: true, // not every client asks
			rules: []script.Rule{
				{When: script.When{Method: "ping"}, Do: []script.Action{pause(script.Duration(550 * time.Millisecond))}},
				{When: script.When{Method: "server/discover"}, Do: []script.Action{pause(script.Duration(550 * time.Millisecond))}},
			},
		}),
	}
}
