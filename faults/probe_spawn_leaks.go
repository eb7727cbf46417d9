package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// probeSpawnLeaks is a server of which every process ends by nothing but SIGKILL. Whoever starts one more to list tools or to look
// after its health, and ends it as one ends a friendly process, has left it behind.
func probeSpawnLeaks() []Fault {
	return []Fault{scripted{
		Info: Info{
			ID:       "probe-spawn-leaks",
			Title:    "every process of the server ends by nothing but SIGKILL, while its tools are asked for",
			Recovery: "answer from the session that runs, or end the extra process for certain; the one that runs is not disturbed",
			Reports:  []string{"anthropics/claude-code#11778"},
			Loud:     true, OneLife: true, // nothing is lost that would have to be found out
		},
		rules:  atSpawn(ignoreEOF, ignoreTERM),
		orders: []script.Action{ignoreEOF, ignoreTERM},
		how:    "and every later life ends by SIGKILL only",
	}}
}
