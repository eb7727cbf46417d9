package faults

import (
	"context"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/script"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// stderrPipeFull is a server that writes more to stderr than a pipe holds (64 KiB on Linux) before it answers. Where nobody reads
// its stderr it blocks there for ever.
func stderrPipeFull() []Fault {
	return []Fault{
		// Exactly what a pipe holds still fits; with the first byte more it blocks. So "64k" is one byte over.
		flood{variant: "64k", bytes: 64*kib + 1, lines: true},
		flood{variant: "256k", bytes: 256 * kib, lines: true},
		flood{variant: "10m", bytes: 10 * mib, lines: true},
		// A progress bar never ends its line: whoever reads line by line reads for ever.
		flood{variant: "no-newline", bytes: 256 * kib},
		flood{variant: "before-init", bytes: 256 * kib, lines: true, atStart: true},
	}
}

type flood struct {
	variant string
	bytes   int
	lines   bool
	atStart bool
}

func (f flood) What() Info {
	id := "stderr-pipe-full/" + f.variant
	when := script.When{Method: "tools/call", Phase: script.Faulty}
	where := "before it answers a call"
	if f.atStart {
		when, where = script.When{On: script.OnSpawn, Phase: script.Faulty}, "before the handshake"
	}
	how := ""
	if !f.lines {
		how = " without a newline"
	}
	return Info{
		ID:        id,
		Class:     "stderr-pipe-full",
		Group:     "B",
		Transport: Stdio,
		Title:     fmt.Sprintf("the server writes %d KiB to stderr%s %s", f.bytes/kib, how, where),
		Recovery:  "read stderr always, keep a bounded tail of it",
		Reports: []string{
			"mark3labs/mcp-go#956", "kubestellar/console#7960", "simonx1/ruby-mcp-client#142",
			"anthropics/claude-agent-sdk-python#103", "activeing123/mcptoon#19",
		},
		NeedsCall: !f.atStart,
		Rules: []script.Rule{{
			Name: id,
			When: when,
			Do:   []script.Action{{Fill: &script.Fill{To: "stderr", Bytes: f.bytes, Lines: f.lines}}},
		}},
	}
}

func (f flood) Inject(ctx context.Context, s Site) error {
	if f.atStart {
		return replaceServing(ctx, s)
	}
	return phaseOn(ctx, s)
}

// Observed waits for the rule, not for the end of the flood: a server that blocks in it has met the fault in full.
func (f flood) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFired(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s writes %d bytes to stderr", lifeOf(e), f.bytes), nil
}

func (flood) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: Lift returned when every live process acted on it, one that is blocked in stderr included.
func (flood) Lifted(context.Context, Site) error { return nil }
