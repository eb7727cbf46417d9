package faults

import (
	"context"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// childStopsReadingStdin is a server that lives on and never reads its stdin again: small requests vanish in the pipe, and
// whoever writes more than the pipe holds blocks.
func childStopsReadingStdin() []Fault { return []Fault{deaf{}} }

type deaf struct{}

func (deaf) What() Info {
	const id = "child-stops-reading-stdin"
	return Info{
		ID:        id,
		Class:     "child-stops-reading-stdin",
		Group:     "A",
		Transport: Stdio,
		Title:     "the server lives on but never reads its stdin again",
		Recovery:  "bound every write, keep other callers free of it, replace the process",
		Reports:   []string{"topcheer/ggcode#717"},
		OfLife:    true,
		OneLife:   true,
		Rules: []script.Rule{{
			Name: id,
			When: script.When{On: script.OnPhase, Life: script.Serving, Phase: script.Faulty},
			Do:   []script.Action{{Deaf: true}},
		}},
	}
}

func (deaf) Inject(ctx context.Context, s Site) error { return phaseOn(ctx, s) }

func (f deaf) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFired(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s reads its stdin no more", lifeOf(e)), nil
}

func (deaf) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: the life stays deaf, the next one is healthy.
func (deaf) Lifted(context.Context, Site) error { return nil }
