package faults

import (
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// slowInitialize is a server that takes its time for the first answer. Its scenarios set the connect timeout beside it: what is slow
// within it must not be given up on, what is slower must not be waited for. The serving life is killed to set it off.
func slowInitialize() []Fault {
	fault := func(variant string, d time.Duration, recovery string, oneLife bool) Fault {
		how := fmt.Sprintf("takes %v for its first answer", d)
		return scripted{
			Info: Info{
				ID: "slow-initialize/" + variant, Title: "the server " + how, Recovery: recovery,
				Reports: []string{
					"openai/codex#2905", "openai/codex#14627", "zed-industries/zed#38252", "NousResearch/hermes-agent#43676",
				},
				OneLife: oneLife,
			},
			rules: atFirst(pause(script.Duration(d))), replace: true, how: how,
		}
	}
	const within = "wait for it, have it join when it is ready, restart nothing meanwhile; other servers are usable at once"
	return []Fault{
		fault("half", 500*time.Millisecond, within, true),    // of a connect timeout of 1 s
		fault("nearly", 1800*time.Millisecond, within, true), // of 2 s: nine tenths, the rest is for a busy machine
		fault("too-slow", 900*time.Millisecond, // of 600 ms: one and a half times
			"give up when the time is over, try again, join when it has become fast enough", false),
	}
}
