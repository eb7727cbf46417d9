package faults

import (
	"context"
	"fmt"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// childKilledMidCall is a server process that ends between reading a call and answering it: before the tool's effect, so that a
// repeat would be harmless, and after it, where a repeat doubles the effect. Whoever calls cannot tell the two apart.
func childKilledMidCall() []Fault {
	zero, one := 0, 1
	ends := []struct {
		name, how string
		action    script.Action
	}{
		{"exit0", "exits with status 0", script.Action{Exit: &zero}},
		{"exit1", "exits with status 1", script.Action{Exit: &one}},
		{"sigkill", "dies by SIGKILL", script.Action{Signal: "KILL"}},
		{"segv", "dies by SIGSEGV", script.Action{Signal: "SEGV"}},
	}
	var fs []Fault
	for _, e := range ends {
		fs = append(fs,
			dieMidCall{e.name + "-before-effect", e.how, "before", []script.Action{e.action}},
			dieMidCall{e.name + "-after-effect", e.how, "after", []script.Action{{Effect: true}, e.action}},
		)
	}
	return fs
}

type dieMidCall struct {
	variant   string
	how, when string
	do        []script.Action
}

func (f dieMidCall) What() Info {
	id := "child-killed-mid-call/" + f.variant
	return Info{
		ID:        id,
		Class:     "child-killed-mid-call",
		Group:     "A",
		Transport: Stdio,
		Title:     fmt.Sprintf("the server process %s in a call, %s its effect", f.how, f.when),
		Recovery:  "fail every call in flight at once, resend none that may have had an effect, start the server again",
		Reports: []string{
			"mark3labs/mcp-go#714", "PrefectHQ/fastmcp#499", "MoonshotAI/kimi-code#2109",
			"NousResearch/hermes-agent#81995", "strands-agents/harness-sdk#951",
		},
		NeedsCall: true,
		Loud:      true,
		OneLife:   true,
		// Only the life that served the baseline: whatever life a call is resent to must be healthy, or nothing could recover.
		Rules: []script.Rule{{
			Name: id,
			When: script.When{Method: "tools/call", Life: script.Serving, Phase: script.Faulty},
			Do:   f.do,
		}},
	}
}

func (dieMidCall) Inject(ctx context.Context, s Site) error { return phaseOn(ctx, s) }

func (f dieMidCall) Observed(ctx context.Context, s Site) (string, error) {
	e, err := ruleFiredAndGone(ctx, s, f.What().ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s in %s, %s its effect", lifeOf(e), f.how, inCall(e), f.when), nil
}

func (dieMidCall) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: Lift returned when every live process was healthy.
func (dieMidCall) Lifted(context.Context, Site) error { return nil }
