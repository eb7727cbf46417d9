package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// childDiesAgain are deaths of an idle server that are not over with the first new process.
func childDiesAgain() []Fault {
	fault := func(variant, how string, rules []script.Rule) Fault {
		for i := range rules {
			rules[i].Once = true
		}
		return scripted{
			Info: Info{
				ID:       "child-dies-idle/" + variant,
				Title:    "an idle server is killed by SIGKILL and " + how,
				Recovery: "try again when the first retry has failed too",
				Reports:  []string{"openai/codex#18977", "PrefectHQ/fastmcp#1908", "NousResearch/hermes-agent#96510"},
				Loud:     true,
			},
			rules: rules, replace: true, how: how,
		}
	}
	three := append(append(atSpawn(exits(1)), atSpawn(exits(1))...), atSpawn(exits(1))...)
	return []Fault{
		fault("again-in-recovery", "dies once more in the handshake", atFirst(exits(1))),
		fault("down-for-three-starts", "cannot start three times", three),
	}
}
