package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// The faults of this file are aimed at circuit breakers. What they do to the server is simple; it is the scenarios that bring the calls, the
// cooldown and the half-open probe together with it.

// breakerStuckOpen is a server that fails call after call until a breaker opens, and is healthy some time later. Pings that fail
// meanwhile must not push the half-open probe away.
func breakerStuckOpen() []Fault {
	const recovery = "count the cooldown from the opening, whatever background pings do, then let one call try"
	reports := []string{"NousResearch/hermes-agent#13474", "NousResearch/hermes-agent#17016", "marc-shade/world-intel-mcp#7"}
	broken := script.Reply{Error: &script.RPCError{Code: -32603, Message: "the backend is down"}}
	refuses := script.Action{Reply: &broken}
	return []Fault{
		scripted{
			Info: Info{
				ID: "breaker-stuck-open/calls-time-out", Title: "the server answers no call, though it answers pings",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: inEachCall(drop), how: "swallows every call",
		},
		scripted{
			Info: Info{
				ID: "breaker-stuck-open/pings-fail-too", Title: "the server answers neither calls nor pings",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: append(inEachCall(drop), onPing(drop)...), how: "swallows every call and every ping",
		},
		scripted{
			Info: Info{
				ID: "breaker-stuck-open/pings-get-errors", Title: "the server answers no call, and every ping with an error",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: append(inEachCall(drop), onPing(refuses)...), how: "swallows every call and answers pings with an error",
		},
	}
}

// onPing is what a server does with whatever a client asks only to see whether it is alive, in either era.
func onPing(do ...script.Action) []script.Rule {
	return []script.Rule{
		{When: script.When{Method: "ping"}, Do: do},
		{When: script.When{Method: "server/discover", Nth: "2+"}, Do: do}, // the first one of a life is the handshake
	}
}

// breakerProbeDeadTransport is a death that opens the breaker: the half-open probe must go to a new process, not down the old one's pipe.
func breakerProbeDeadTransport() []Fault {
	const recovery = "give the half-open probe a live session: start the server again first"
	reports := []string{"NousResearch/hermes-agent#16788", "NousResearch/hermes-agent#21006"}
	return []Fault{
		scripted{
			Info: Info{
				ID: "breaker-probe-dead-transport/dies-in-every-call", Title: "every call kills the server, until the breaker is open",
				Recovery: recovery, Reports: reports, NeedsCall: true, Loud: true,
			},
			rules: inEachCall(exits(1)), ends: true, how: "died of a call, as every life of it does",
		},
		scripted{
			Info: Info{
				ID: "breaker-probe-dead-transport/pipes-outlive-it", Title: "the server is killed, and other processes keep its pipes open",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			rules: []script.Rule{{
				When: script.When{On: script.OnPhase},
				Do:   []script.Action{{HoldStdin: true}, {HoldPipes: script.Duration(pipesHeld)}, {Signal: "KILL"}},
			}},
			ends: true, how: "killed itself; its pipes are held open",
		},
	}
}

// pipesHeld is longer than any recovery that is waited for.
const pipesHeld = 10 * time.Minute

// breakerProbeAbandoned is a half-open probe that never comes back with a verdict: its caller gives up, or the server hangs or dies in it.
// The first three calls of a life are swallowed, which opens the breaker; the next one is the probe.
func breakerProbeAbandoned() []Fault {
	const recovery = "end every probe: in success, in failure, or in the expiry of its slot"
	reports := []string{"decocms/studio#5322", "NousResearch/hermes-agent#17016"}
	probe := func(do ...script.Action) []script.Rule {
		return []script.Rule{
			{When: script.When{Method: "tools/call", Nth: "1-3"}, Do: []script.Action{drop}},
			{When: script.When{Method: "tools/call", Nth: "4+"}, Do: do},
		}
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "breaker-probe-abandoned/caller-gives-up", Title: "the caller of the half-open probe gives up before it is answered",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: inEachCall(drop), how: "swallows every call",
		},
		scripted{
			Info: Info{
				ID: "breaker-probe-abandoned/server-hangs", Title: "the server hangs for good in the half-open probe",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: probe(hang), how: "swallows three calls and hangs in the fourth",
		},
		scripted{
			Info: Info{
				ID: "breaker-probe-abandoned/server-dies", Title: "the server dies in the half-open probe",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: probe(exits(1)), how: "swallows three calls and dies in the fourth",
		},
	}
}

// breakerCountsToolErrors is a tool that answers with errors: the server is up and answers, so other tools must stay in reach.
func breakerCountsToolErrors() []Fault {
	info := Info{
		Recovery:  "pass the error on; a completed round trip says that the server is well",
		Reports:   []string{"NousResearch/hermes-agent#11113", "NousResearch/hermes-agent#61555"},
		NeedsCall: true, Loud: true, OneLife: true,
	}
	variant := func(id, title string, reply script.Reply) Fault {
		i := info
		i.ID, i.Title = "breaker-counts-tool-errors/"+id, title
		return scripted{Info: i, how: title, rules: []script.Rule{{
			When: script.When{Method: "tools/call", Tool: "effect"}, Do: []script.Action{{Reply: &reply}},
		}}}
	}
	return []Fault{
		variant("is-error", "answers every call of one tool with isError", script.Reply{IsError: "no such record"}),
		variant("rpc-error", "answers every call of one tool with a JSON-RPC error",
			script.Reply{Error: &script.RPCError{Code: -32603, Message: "no such record"}}),
	}
}

// oneTimeoutKillsServer is one call that takes longer than its timeout. Only that call may fail.
func oneTimeoutKillsServer() []Fault {
	info := Info{
		Recovery:  "fail that call and cancel it; keep the session and its tools",
		Reports:   []string{"NousResearch/hermes-agent#88661", "Erodenn/godot-mcp-runtime#30"},
		NeedsCall: true, OneLife: true,
	}
	variant := func(id, title string, do ...script.Action) Fault {
		i := info
		i.ID, i.Title = "one-timeout-kills-server/"+id, title
		return scripted{Info: i, how: title, rules: []script.Rule{{
			When: script.When{Method: "tools/call", Tool: "sleep", Nth: "1"}, Do: do,
		}}}
	}
	return []Fault{
		variant("never-answered", "never answers one call, and goes on with all others", drop),
		variant("answered-late", "answers one call after its timeout, and goes on with all others", pause(lateAnswer)),
	}
}

// lateAnswer is some time after the call timeout that the scenarios of this class set.
const lateAnswer = script.Duration(1100 * time.Millisecond)
