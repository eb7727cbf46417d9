package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// holdFor is how long the grandchild keeps the pipes: longer than any run waits, so that nothing recovers by its end.
const holdFor = script.Duration(10 * time.Minute)

// grandchildHoldsPipe is a server that ends in a call while a process that it started keeps its stdout and stderr open: the pipe
// never reaches end of file, so the death can be seen only from the process itself.
func grandchildHoldsPipe() []Fault { return []Fault{holdPipe{}} }

type holdPipe struct{}

func (holdPipe) What() Info {
	const id = "grandchild-holds-pipe"
	zero := 0
	return Info{
		ID:        id,
		Class:     "grandchild-holds-pipe",
		Group:     "A",
		Transport: Stdio,
		Title:     "the server exits in a call while a grandchild keeps its stdout and stderr open",
		Recovery:  "take the death from the wait status, fail the call at once, end the whole process group, start again",
		Reports:   []string{"mattapperson/noetic#97"},
		NeedsCall: true,
		OfLife:    true,
		Loud:      true, // the exit status shows at once, only the pipe does not
		OneLife:   true,
		Rules: []script.Rule{{
			Name: id,
			When: script.When{Method: "tools/call", Life: script.Serving, Phase: script.Faulty},
			Do:   []script.Action{{HoldPipes: holdFor}, {Exit: &zero}},
		}},
	}
}

func (holdPipe) Inject(ctx context.Context, s Site) error { return phaseOn(ctx, s) }

func (f holdPipe) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFiredAndGone(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s exited in %s; a grandchild holds its stdout and stderr", lifeOf(e), inCall(e)), nil
}

func (holdPipe) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: the pipe stays held, but the next life is healthy.
func (holdPipe) Lifted(context.Context, Site) error { return nil }
