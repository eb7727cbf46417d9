package faults

import (
	"context"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// The faults of this file stand in the way of a close, of one session or of the whole client.

// childIgnoresStop is a server that does not go when it is told to.
func childIgnoresStop() []Fault {
	info := Info{
		Recovery: "close stdin, wait, SIGTERM, wait, SIGKILL: each within its bound",
		Reports: []string{
			"mark3labs/mcp-go#94", "mark3labs/mcp-go#783", "modelcontextprotocol/typescript-sdk#579", "campfirein/byterover-cli#664",
			"incident-io/incidentio-mcp-golang#27", "mcpjungle/MCPJungle#207", "modelcontextprotocol/csharp-sdk#1836",
		},
		Loud: true, OneLife: true,
	}
	variant := func(id, title string, rules ...script.Rule) Fault {
		i := info
		i.ID, i.Title = "child-ignores-stop/"+id, "the server "+title
		return scripted{Info: i, rules: rules, how: title}
	}
	hangs := info
	hangs.ID, hangs.Title = "child-ignores-stop/hangs-as-well", "the server hangs in a call and does not go when it is to be replaced"
	hangs.NeedsCall, hangs.OfLife, hangs.Loud = true, true, false
	return []Fault{
		variant("eof", "does not exit when its stdin ends", fromNowOn(ignoreEOF)...),
		variant("eof-and-term", "does not exit when its stdin ends, nor on SIGTERM", fromNowOn(ignoreEOF, ignoreTERM)...),
		variant("deaf", "reads nothing any more and ignores SIGTERM", fromNowOn(ignoreTERM, script.Action{Deaf: true})...),
		variant("late", "exits some time after its stdin ended, well within the grace",
			script.Rule{When: script.When{On: script.OnEOF}, Do: []script.Action{pause(lateExit)}}),
		scripted{
			Info: hangs, how: "hangs, and ignores every request to stop", stays: true,
			rules: []script.Rule{{
				When: script.When{Method: "tools/call", Life: script.Serving}, Do: []script.Action{ignoreEOF, ignoreTERM, hang},
			}},
		},
	}
}

// lateExit is well within the grace that targets are given after EOF.
const lateExit = script.Duration(80 * time.Millisecond)

// fromNowOn is what the live process does when the fault begins, and every later one at its start.
func fromNowOn(do ...script.Action) []script.Rule {
	return append(atOnce(do...), atSpawn(do...)...)
}

// atOnce is what the live process does when the fault begins.
func atOnce(do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{On: script.OnPhase}, Do: do}}
}

// closeWithPending is work that is under way when the client closes.
func closeWithPending() []Fault {
	info := Info{
		Recovery: "tell every pending call at once that the client was closed, and do not wait for their answers",
		Reports: []string{
			"modelcontextprotocol/go-sdk#1166", "modelcontextprotocol/kotlin-sdk#514", "BaseIntelligence/bounty-challenge#9024",
		},
	}
	calls, writes, connects := info, info, info
	calls.ID, calls.Title = "close-with-pending/calls", "the server answers no call, and several are in flight"
	calls.NeedsCall = true
	writes.ID, writes.Title = "close-with-pending/writes", "the server reads nothing any more, and calls are being written to it"
	writes.OfLife, writes.OneLife = true, true
	connects.ID, connects.Title = "close-with-pending/connects", "the server never answers a handshake, and one is under way"
	return []Fault{
		scripted{Info: calls, rules: inEachCall(drop), how: "swallows every call"},
		scripted{Info: writes, rules: atOnce(script.Action{Deaf: true}), how: "reads nothing any more"},
		scripted{Info: connects, rules: atFirst(drop), replace: true, how: "never answers a handshake"},
	}
}

// hostCannotExit is a server in a bad state when its host has done its work and wants to exit.
func hostCannotExit() []Fault {
	info := Info{
		Recovery: "exit when the work is done, whatever the servers are doing, and leave none of them behind",
		Reports: []string{
			"mark3labs/mcphost#130", "strands-agents/harness-sdk#1732", "CodingWithCalvin/VS-MCPServer#99",
			"CommandCodeAI/command-code#515", "grll/mcpadapt#34",
		},
	}
	dead, silent := info, info
	dead.ID, dead.Title, dead.Loud = "host-cannot-exit/dead", "the server is dead and cannot be started again when the host exits", true
	silent.ID, silent.Title = "host-cannot-exit/silent", "the server answers nothing any more when the host exits"
	silent.OfLife, silent.OneLife = true, true
	return []Fault{
		scripted{Info: dead, rules: atSpawn(exits(1)), replace: true, how: "exits with status 1 at every start"},
		scripted{Info: silent, rules: atOnce(hang), how: "answers nothing any more"},
		frozenAtExit{},
	}
}

// frozenAtExit is a stopped server at the exit of its host.
type frozenAtExit struct{ freeze }

func (frozenAtExit) What() Info {
	i := hostCannotExit()[0].What()
	i.ID, i.Title = "host-cannot-exit/frozen", "the server process is stopped (SIGSTOP) when the host exits"
	i.Rules, i.Loud, i.OfLife, i.OneLife = nil, false, true, true
	return i
}

func (frozenAtExit) Lift(ctx context.Context, s Site) error {
	return freeze{forGood: true}.Lift(ctx, s)
}
func (frozenAtExit) Lifted(ctx context.Context, s Site) error {
	return freeze{forGood: true}.Lifted(ctx, s)
}
