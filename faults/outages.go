package faults

import (
	"context"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// The faults of this file are outages of whole servers: longer than a retry budget, from the very start, of many servers or with many
// callers at once, and short ones again and again.

// retryBudgetThenDead is an outage that outlasts every quick retry, and many short ones that must not add up to one.
func retryBudgetThenDead() []Fault {
	reports := []string{
		"NousResearch/hermes-agent#53599", "NousResearch/hermes-agent#57129", "anthropics/claude-code#81595",
		"samanhappy/mcphub#1111", "anomalyco/opencode#33012", "IBM/mcp-context-forge#159",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "retry-budget-then-dead/outage", Title: "the server is down for three times as long as the retry budget lasts",
				Recovery: "probe slowly for ever; serve again soon after it is back, with nobody's help", Reports: reports, Loud: true,
			},
			rules: atSpawn(exits(1)), replace: true, how: "exits with status 1 at every start",
		},
		scripted{
			Info: Info{
				ID: "retry-budget-then-dead/blips", Title: "the server dies after every good call, more often than the retry budget allows in a row",
				Recovery: "restore the retry budget once a session has proved itself", Reports: reports, NeedsCall: true, Loud: true,
			},
			rules: afterEachCall(exits(0)), ends: true, how: "exited after a good call, as every life of it does",
		},
	}
}

// afterEachCall is what a server does when it has answered a call.
func afterEachCall(do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{On: script.OnReplied, Method: "tools/call"}, Do: do}}
}

// serverDownAtStartup is a server that is not there when the client starts, and appears later.
func serverDownAtStartup() []Fault {
	info := Info{
		Recovery: "start without it, go on trying in the background, offer its tools once it is there",
		Reports: []string{
			"anthropics/claude-code#90494", "samanhappy/mcphub#970", "open-webui/mcpo#193", "NousResearch/hermes-agent#19559",
			"can1357/oh-my-pi#10478", "moltis-org/moltis#1271",
		},
	}
	variant := func(id, title string, loud bool, rules []script.Rule) Fault {
		i := info
		i.ID, i.Title, i.Loud = "server-down-at-startup/"+id, title, loud
		return scripted{Info: i, rules: rules, how: title}
	}
	return []Fault{
		variant("exits", "exits with status 1 at every start, from the first on", true, atSpawn(exits(1))),
		variant("silent", "never answers the handshake, from the first start on", false, atFirst(drop)),
		variant("refuses", "refuses the handshake with an error, from the first start on", true,
			atFirst(script.Action{Reply: &script.Reply{Error: &script.RPCError{Code: -32603, Message: "not ready"}}})),
	}
}

// reconnectStorm is an outage that many callers meet at once.
func reconnectStorm() []Fault {
	info := Info{
		Recovery: "one attempt at a time for each server, whoever asks; ever longer pauses between them",
		Reports:  []string{"danny-avila/LibreChat#12162", "NousResearch/hermes-agent#18165", "bug-ops/zeph#4574"},
		Loud:     true,
	}
	starts, calls, many := info, info, info
	starts.ID, starts.Title = "reconnect-storm/many-callers", "the server cannot be started, and many callers want it"
	many.ID, many.Title = "reconnect-storm/many-servers", "several servers cannot be started, and many callers want each"
	calls.ID, calls.Title, calls.NeedsCall = "reconnect-storm/dies-in-every-call", "every call kills the server, and many callers go on calling", true
	return []Fault{
		scripted{Info: starts, rules: atSpawn(exits(1)), replace: true, how: "exits with status 1 at every start"},
		scripted{Info: many, rules: atSpawn(exits(1)), replace: true, how: "exits with status 1 at every start"},
		scripted{Info: calls, rules: inEachCall(exits(1)), ends: true, how: "died of a call, as every life of it does"},
	}
}

// allLinksDropTogether is one moment in which the links to all servers are gone: a laptop that slept, a host that was frozen.
func allLinksDropTogether() []Fault {
	return []Fault{
		together{"killed", "is killed at the same moment as all others"},
		together{"target-asleep", "is killed while the client itself is frozen"},
	}
}

// together is an idle death that hits several servers. It has no rules, so that the next lives are healthy.
type together struct{ variant, how string }

func (f together) What() Info {
	return Info{
		ID:        "all-links-drop-together/" + f.variant,
		Class:     "all-links-drop-together",
		Group:     "G",
		Transport: Stdio,
		Title:     "the server " + f.how,
		Recovery:  "find every lost link when it wakes, bring all servers back, none of them last for ever",
		Reports:   []string{"anthropics/claude-code#91470", "NousResearch/hermes-agent#30268"},
		Loud:      true,
		OneLife:   true,
	}
}

func (together) Inject(ctx context.Context, s Site) error { return dieIdle{}.Inject(ctx, s) }
func (together) Observed(ctx context.Context, s Site) (string, error) {
	return dieIdle{}.Observed(ctx, s)
}
func (together) Lift(context.Context, Site) error         { return nil } // the next life is healthy
func (together) Lifted(ctx context.Context, s Site) error { return dieIdle{}.Lifted(ctx, s) }
