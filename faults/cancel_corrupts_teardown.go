package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// cancelCorruptsTeardown is a caller who gives up, or a server that dies, at the moment at which a client takes things apart or puts
// them together.
func cancelCorruptsTeardown() []Fault {
	fault := func(variant, title, how string, f scripted) Fault {
		f.Info.ID = "cancel-corrupts-teardown/" + variant
		f.Info.Title = title
		f.Info.Recovery = "keep the cancellation to the call that was cancelled; stop the process for certain, or keep it on purpose"
		f.Info.Reports = []string{
			"microsoft/semantic-kernel#12627", "mpfaffenberger/code_puppy#466", "pydantic/pydantic-ai#4514", "pydantic/pydantic-ai#8548",
		}
		f.how = how
		return f
	}
	segv := script.Action{Signal: "SEGV"}
	const slow = script.Duration(400 * time.Millisecond)
	return []Fault{
		fault("in-connect", "callers give up while the server is being started", "takes 400ms for its first answer", scripted{
			Info: Info{OneLife: true}, rules: atFirst(pause(slow)), replace: true,
		}),
		fault("dies-of-cancel", "the server dies of a cancellation", "dies by SIGSEGV when it is told of a cancellation", scripted{
			Info: Info{NeedsCall: true, OneLife: true, Loud: true},
			rules: []script.Rule{{
				When: script.When{Method: "notifications/cancelled", Life: script.Serving}, Do: []script.Action{segv},
			}},
			ends: true,
		}),
		fault("dies-in-teardown", "the server answers nothing more, and dies by SIGSEGV while it is being stopped",
			"answers nothing more, and dies by SIGSEGV at the end of its stdin", scripted{
				Info:   Info{OneLife: true, OfLife: true},
				rules:  []script.Rule{{When: script.When{On: script.OnEOF, Life: script.Serving}, Do: []script.Action{segv}}},
				orders: []script.Action{hang},
			}),
	}
}
