package faults

import (
	"context"
	"fmt"
	"os"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// childDiesIdle is a server process that ends while nothing is in flight. It has no rules and leaves the phase alone, so that it
// can be combined with another fault on the same server; the life after it is healthy.
func childDiesIdle() []Fault {
	zero, one := 0, 1
	return []Fault{
		dieIdle{"sigkill", nil, "is killed by SIGKILL"},
		dieIdle{"exit0", &zero, "exits with status 0"},
		dieIdle{"exit1", &one, "exits with status 1"},
	}
}

type dieIdle struct {
	variant string
	exit    *int // nil is SIGKILL
	how     string
}

func (f dieIdle) What() Info {
	return Info{
		ID:        "child-dies-idle/" + f.variant,
		Class:     "child-dies-idle",
		Group:     "A",
		Transport: Stdio,
		Title:     "an idle server process " + f.how,
		Recovery:  "notice the death without waiting for a call, start the server again, serve the next call",
		Reports: []string{
			"NousResearch/hermes-agent#16788", "openai/codex#18977", "PrefectHQ/fastmcp#1908",
			"sparfenyuk/mcp-proxy#208", "NousResearch/hermes-agent#96510",
		},
		Loud:    true,
		OneLife: true,
	}
}

func (f dieIdle) Inject(ctx context.Context, s Site) error {
	if f.exit != nil {
		return s.Do(ctx, script.Action{Exit: f.exit})
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return signal(s, p, os.Kill)
}

func (f dieIdle) Observed(ctx context.Context, s Site) (string, error) {
	p, err := s.Serving(ctx)
	if err != nil {
		return "", err
	}
	if f.exit != nil {
		if _, err := s.AwaitEntry(ctx, func(e journal.Entry) bool {
			return e.Kind == journal.Exit && e.Life == p.Life && e.Code == *f.exit
		}); err != nil {
			return "", err
		}
	}
	if err := s.AwaitGone(ctx, p); err != nil {
		return "", err
	}
	if f.exit != nil {
		return fmt.Sprintf("%s exited with status %d while idle", p, *f.exit), nil
	}
	return fmt.Sprintf("%s killed with SIGKILL while idle", p), nil
}

// Lift has nothing to do: the fault ended with the life that it hit.
func (dieIdle) Lift(context.Context, Site) error { return nil }

func (dieIdle) Lifted(ctx context.Context, s Site) error {
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return s.AwaitGone(ctx, p)
}
