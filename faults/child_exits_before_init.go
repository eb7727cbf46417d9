package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// lastWords is what a server that cannot start says about it: whoever asks why must be told.
const lastWords = "fatal: cannot open the data base (E4711)\n"

// childExitsBeforeInit is a server that says why on stderr and exits before it has answered the first question. The serving life is
// killed to set it off.
func childExitsBeforeInit() []Fault {
	says := script.Action{WriteStderr: lastWords}
	fault := func(variant, how string, rules []script.Rule) Fault {
		return scripted{
			Info: Info{
				ID:       "child-exits-before-init/" + variant,
				Title:    "the server " + how,
				Recovery: "fail the connect at once with exit status and stderr, outlive it, try again ever more slowly",
				Reports: []string{
					"modelcontextprotocol/kotlin-sdk#107", "modelcontextprotocol/typescript-sdk#1049", "mark3labs/mcp-go#463",
					"supercorp-ai/supergateway#139", "aaif-goose/goose#12266", "zed-industries/zed#52076",
				},
				Loud: true,
			},
			rules: rules, replace: true, how: how,
		}
	}
	return []Fault{
		fault("at-once", "says why on stderr and exits with status 1 as soon as it is started", atSpawn(says, exits(1))),
		fault("after-50ms", "says why on stderr and exits with status 3 before it reads anything",
			atSpawn(pause(script.Duration(50*time.Millisecond)), says, exits(3))),
		fault("first-question-read", "says why on stderr and exits with status 1 when it has read the first question",
			atFirst(says, exits(1))),
		fault("exit0", "says why on stderr and exits with status 0 when it has read the first question",
			atFirst(says, exits(0))),
	}
}
