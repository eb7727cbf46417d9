package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// childNeverSpeaks is a server that starts, lives, and never answers the handshake. The serving life is killed to set it off.
func childNeverSpeaks() []Fault {
	fault := func(variant, how string, rules []script.Rule) Fault {
		return scripted{
			Info: Info{
				ID:       "child-never-speaks/" + variant,
				Title:    "the server " + how,
				Recovery: "bound the handshake by itself, end the silent process, back off, leave other servers alone",
				Reports: []string{
					"DeusData/codebase-memory-mcp#1539", "kirodotdev/KiroCrew#4509", "odysseus-dev/odysseus#242",
				},
			},
			rules: rules, replace: true, how: how,
		}
	}
	return []Fault{
		fault("sleeps", "starts, reads nothing and says nothing", atSpawn(script.Action{Deaf: true})),
		fault("answers-ping-only", "reads everything and never answers the handshake", atFirst(drop)),
	}
}
