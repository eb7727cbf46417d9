package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/journal"
)

// errNotProxied is a fault of the wire on a server without one. It is a mistake of whoever built the site.
var errNotProxied = errors.New("the server is not behind a proxy")

// httpIdleSilentDrop is a middlebox that forgets an idle flow: whatever is written on it vanishes, nobody is told by a FIN or a
// RST, and new connections work.
func httpIdleSilentDrop() []Fault { return []Fault{silentDrop{}} }

type silentDrop struct{}

func (silentDrop) What() Info {
	return Info{
		ID:        "http-idle-silent-drop",
		Class:     "http-idle-silent-drop",
		Group:     "C",
		Transport: HTTP,
		Title:     "the idle connection vanishes: no FIN, no RST, what is written is swallowed",
		Recovery:  "find it within a bound and go on over a new connection, not the pooled one",
		Reports: []string{
			"NousResearch/hermes-agent#17003", "NousResearch/hermes-agent#17016", "github/copilot-cli#3257",
			"google/adk-python#3085", "logicleai/logicle#1014",
		},
		NeedsCall: true,
		// It stays on the flows that it hit, as other faults stay on a life.
		OfLife:  true,
		OneLife: true,
		Proxied: true,
	}
}

func (silentDrop) Inject(ctx context.Context, s Site) error {
	if s.Wire() == nil {
		return errNotProxied
	}
	return s.Wire().Vanish(ctx)
}

func (silentDrop) Observed(ctx context.Context, s Site) (string, error) {
	e, err := s.AwaitEntry(ctx, func(e journal.Entry) bool {
		return e.Kind == journal.Wire && e.Bytes > 0
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d bytes were swallowed on a flow that had vanished", e.Bytes), nil
}

// Lift leaves the vanished flows as they are: to cut them would tell the target what it has to find out. New flows were healthy
// all along.
func (silentDrop) Lift(context.Context, Site) error { return nil }

func (silentDrop) Lifted(context.Context, Site) error { return nil }
