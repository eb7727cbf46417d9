package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// crashLoop is a server that dies again after every start, until it is lifted. The serving life is killed to set it off.
func crashLoop() []Fault {
	die, end := []script.Action{exits(1)}, []script.Action{exits(0)}
	return []Fault{
		loop{"at-start", "exits with status 1 at every start", []script.Rule{
			{When: script.When{On: script.OnSpawn, Phase: script.Faulty}, Do: die},
		}},
		// The handshake of either era is answered and the first message after it is fatal: the legacy client's notification, or any request.
		// Retry budgets that are restored by a mere handshake never run out here.
		loop{"after-initialize", "answers the handshake and then exits, at every start", []script.Rule{
			{When: script.When{Method: "notifications/initialized", Phase: script.Faulty}, Do: die},
			{When: script.When{Method: "tools/list", Phase: script.Faulty}, Do: die},
			{When: script.When{Method: "tools/call", Phase: script.Faulty}, Do: die},
		}},
		loop{"at-start-exit0", "exits with status 0 at every start", []script.Rule{
			{When: script.When{On: script.OnSpawn, Phase: script.Faulty}, Do: end},
		}},
		// Whoever takes a session of some age for a good one fills up the budget of retries each time.
		loop{"after-a-second", "exits a second after every start", []script.Rule{
			{When: script.When{On: script.OnSpawn, Phase: script.Faulty, After: script.Duration(time.Second)}, Do: die},
		}},
		// Each session has proved itself: it is not parked, and it must not become a storm of starts either.
		loop{"after-a-good-call", "answers one call and then exits, in every life", []script.Rule{
			{When: script.When{On: script.OnReplied, Method: "tools/call", Phase: script.Faulty}, Do: end},
		}},
	}
}

type loop struct {
	variant, how string
	rules        []script.Rule
}

func (f loop) What() Info {
	id := "crash-loop/" + f.variant
	rules := make([]script.Rule, len(f.rules))
	for i, r := range f.rules {
		r.Name = id
		rules[i] = r
	}
	return Info{
		ID:        id,
		Class:     "crash-loop",
		Group:     "A",
		Transport: Stdio,
		Title:     "the server " + f.how,
		Recovery:  "retry ever more slowly, never give up for good, serve again soon after a start succeeds",
		Reports: []string{
			"stacklok/toolhive#6634", "openai/codex#32148", "bobmatnyc/trusty-tools#3631",
			"getpaseo/paseo#1258", "NousResearch/hermes-agent#53599",
		},
		Loud:  true,
		Rules: rules,
	}
}

func (loop) Inject(ctx context.Context, s Site) error { return replaceServing(ctx, s) }

// Observed waits for the death of the serving life only: every later life is doomed, but a target that never starts one has
// met the fault all the same.
func (f loop) Observed(ctx context.Context, s Site) (string, error) {
	p, err := s.Serving(ctx)
	if err != nil {
		return "", err
	}
	if err := s.AwaitGone(ctx, p); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is dead; from now on the server %s", p, f.how), nil
}

func (loop) Lift(ctx context.Context, s Site) error { return phaseOff(ctx, s) }

// Lifted has nothing to wait for: Lift returned when every doomed process was dead or told.
func (loop) Lifted(context.Context, Site) error { return nil }
