package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// orphanAfterClientDeath is a server whose client ends, in whatever way its scenario says. What differs is how the server can be ended.
// All its lives are alike.
func orphanAfterClientDeath() []Fault {
	fault := func(variant, how string, orders []script.Action, more ...script.Rule) Fault {
		return scripted{
			Info: Info{
				ID:       "orphan-after-client-death/" + variant,
				Title:    "the client ends while a server " + how,
				Recovery: "an orderly end takes every process along; after SIGKILL the end of stdin does, for servers that heed it",
				Reports: []string{
					"modelcontextprotocol/csharp-sdk#155", "modelcontextprotocol/kotlin-sdk#708", "modelcontextprotocol/python-sdk#2231",
					"anthropics/claude-code#1935", "anthropics/claude-code#15211", "aaif-goose/goose#2205", "aaif-goose/goose#8229",
				},
				Loud: true, OneLife: true, // nothing is lost that would have to be found out
			},
			rules: append(atSpawn(orders...), more...), orders: orders, how: how,
		}
	}
	return []Fault{
		fault("heeds-eof", "heeds the end of its stdin and no SIGTERM", []script.Action{ignoreTERM}),
		fault("ignores-eof", "heeds SIGTERM and not the end of its stdin", []script.Action{ignoreEOF}),
		fault("ends-by-force", "ends by SIGKILL only", []script.Action{ignoreEOF, ignoreTERM}),
		// It does not end before it has written everything, and nobody reads any more.
		fault("floods-stdout", "writes without end at the end of its stdin", []script.Action{ignoreTERM}, script.Rule{
			When: script.When{On: script.OnEOF}, Do: []script.Action{{Fill: &script.Fill{To: "stdout", Bytes: 1 << 30, Lines: true}}},
		}),
	}
}
