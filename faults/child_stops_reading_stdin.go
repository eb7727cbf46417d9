package faults

import (
	"context"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// childStopsReadingStdin is a server that lives on and never reads its stdin again: small requests vanish in the pipe, and
// whoever writes more than the pipe holds blocks. It is ordered, not scripted: the acknowledgement says that nothing is read from
// there on.
func childStopsReadingStdin() []Fault { return []Fault{deaf{}} }

type deaf struct{}

func (deaf) What() Info {
	return Info{
		ID:        "child-stops-reading-stdin",
		Class:     "child-stops-reading-stdin",
		Group:     "A",
		Transport: Stdio,
		Title:     "the server lives on but never reads its stdin again",
		Recovery:  "bound every write, keep other callers free of it, replace the process",
		Reports:   []string{"topcheer/ggcode#717"},
		OfLife:    true,
		OneLife:   true,
	}
}

func (deaf) Inject(ctx context.Context, s Site) error { return s.Do(ctx, turnDeaf) }

// turnDeaf is the order.
var turnDeaf = script.Action{Deaf: true}

func (deaf) Observed(ctx context.Context, s Site) (string, error) {
	p, err := s.Serving(ctx)
	if err != nil {
		return "", err
	}
	e, err := s.AwaitEntry(ctx, func(e journal.Entry) bool {
		return e.Kind == journal.Ack && e.Life == p.Life && e.Detail == turnDeaf.String()
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s reads its stdin no more", lifeOf(e)), nil
}

// Lift has nothing to do: the life stays deaf, the next one is healthy.
func (deaf) Lift(context.Context, Site) error { return nil }

func (deaf) Lifted(context.Context, Site) error { return nil }
