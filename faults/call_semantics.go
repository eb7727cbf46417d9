package faults

import (
	"slices"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// Group J: faults of what a server answers to a call, and when; and the calls that meet one of them together (group G).

const codeNoMethod = -32601

// inCallsOf is what a server does when one of its tools is called; life may be empty.
func inCallsOf(tool string, life script.Range, do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{Method: "tools/call", Tool: tool, Life: life}, Do: do}}
}

// onCancel is what a server does with a cancellation instead of heeding it.
func onCancel(do ...script.Action) script.Rule {
	return script.Rule{When: script.When{Method: "notifications/cancelled"}, Do: do}
}

// writes is a line that is no answer to the request at hand.
func writes(line string) script.Action { return script.Action{Write: line + "\n"} }

// serverHangsMidCall is a server that accepts a call and never answers it.
func serverHangsMidCall() []Fault {
	const recovery = "end the call at its deadline, tell the server that it is cancelled, go on with the others"
	reports := []string{
		"modelcontextprotocol/csharp-sdk#1578", "openai/openai-agents-python#434", "anthropics/claude-code#69593",
		"HKUDS/nanobot#950", "kirodotdev/Kiro#8111",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "server-hangs-mid-call/one-tool", Title: "calls of one tool have their effect and are never answered",
				Recovery: recovery, Reports: reports, NeedsCall: true, OneLife: true,
			},
			rules: inCallsOf("effect", "", script.Action{Effect: true}, drop), how: "does not answer a call of effect",
		},
		scripted{
			Info: Info{
				ID: "server-hangs-mid-call/every-call", Title: "no call is answered, everything else is",
				Recovery: recovery, Reports: reports, NeedsCall: true,
			},
			rules: inEachCall(drop), how: "does not answer a call",
		},
		scripted{
			Info: Info{
				ID: "server-hangs-mid-call/after-some", Title: "after two good calls the process never answers anything again",
				Recovery: "end the call at its deadline, find the silence, replace the process", Reports: reports,
				NeedsCall: true, OfLife: true, OneLife: true,
			},
			rules: []script.Rule{{When: script.When{Method: "tools/call", Nth: "3+", Life: script.Serving}, Do: []script.Action{hang}}},
			how:   "never answers again", stays: true,
		},
	}
}

// Notifications that belong to no request of the client's.
const (
	strangeProgress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"no-such-token","progress":1,"total":9}}`
	strangeCancel   = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"no-such-request","reason":"no reason"}}`
)

// progressAndDeadline is a server whose progress says that it is alive, while the call has a deadline all the same.
func progressAndDeadline() []Fault {
	const recovery = "progress of any kind neither breaks a call nor lets it outlive its deadline for ever"
	reports := []string{
		"modelcontextprotocol/typescript-sdk#2816", "anomalyco/opencode#21701", "NousResearch/hermes-agent#94727",
		"bastani-inc/atomic#1840",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "progress-and-deadline/unknown-token", Title: "progress comes with a token that nobody gave, before and after the answer",
				Recovery: recovery, Reports: reports, NeedsCall: true, Loud: true, OneLife: true,
			},
			rules: inEachCall(writes(strangeProgress), healthy, writes(strangeProgress)), how: "reports progress of nothing",
		},
		scripted{
			Info: Info{
				ID: "progress-and-deadline/never-ends", Title: "a call reports progress and is never answered",
				Recovery: recovery, Reports: reports, NeedsCall: true, OneLife: true,
			},
			rules: inCallsOf("progress", "", script.Action{Effect: true}, drop), how: "reports progress and no result",
		},
	}
}

// cancelRace is a server whose answers cross the cancellation: late for a call that was given up on, or about one that never was.
func cancelRace() []Fault {
	const recovery = "drop what comes too late, quietly: no reconnect, no crash, nothing for the next call"
	reports := []string{
		"modelcontextprotocol/python-sdk#1152", "modelcontextprotocol/python-sdk#2416", "0x0pointer/agent-smith#40",
		"MarkusPfundstein/mcp-gsuite#21",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "cancel-race/late-result", Title: "the server does not heed a cancellation and answers the call later",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			rules: []script.Rule{onCancel(drop)}, how: "heeds no cancellation",
			calm: true, // a client that ends the session instead need not cancel
		},
		scripted{
			Info: Info{
				ID: "cancel-race/late-error", Title: "the server answers a call that was cancelled with an error, later",
				Recovery: recovery, Reports: reports, NeedsCall: true, OneLife: true,
			},
			rules: append(inCallsOf("sleep", "", pause(ms(700)), script.Action{Reply: &script.Reply{
				Error: &script.RPCError{Code: -32800, Message: "request cancelled"},
			}}), onCancel(drop)),
			how: "did not heed a cancellation",
		},
		scripted{
			Info: Info{
				ID: "cancel-race/unknown-request", Title: "the server cancels a request that it was never sent, before every answer",
				Recovery: recovery, Reports: reports, NeedsCall: true, Loud: true, OneLife: true,
			},
			rules: inEachCall(writes(strangeCancel), healthy), how: "cancels what nobody asked for",
		},
	}
}

// underID is an answer that does not belong to the call under which id it comes.
func underID(id string) script.Action {
	return script.Action{Reply: &script.Reply{
		Raw: `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"an answer under a wrong id"}],"resultType":"complete"}}`,
	}}
}

// wrongOrDuplicateID is a server that answers under an id that is not the request's.
func wrongOrDuplicateID() []Fault {
	reports := []string{
		"modelcontextprotocol/python-sdk#1720", "modelcontextprotocol/typescript-sdk#2433", "DeusData/codebase-memory-mcp#253",
		"helidon-io/helidon-mcp#65", "radareorg/radare2-mcp#68",
	}
	variant := func(name, title string, loud bool, do ...script.Action) Fault {
		return scripted{
			Info: Info{
				ID: "wrong-or-duplicate-id/" + name, Title: title,
				Recovery: "drop an answer that belongs to no request; the call ends at its deadline, the session lives",
				Reports:  reports, NeedsCall: true, Loud: loud, OneLife: true,
			},
			rules: inCallsOf("effect", "", do...), how: "answers under a wrong id, or twice",
		}
	}
	return []Fault{
		variant("string", "a call is answered under its id written as a string", false, underID(`"{{id}}"`)),
		variant("zero", "a call is answered under id 0", false, underID("0")),
		variant("null", "a call is answered under id null", false, underID("null")),
		variant("unknown", "a call is answered under an id that was never used", false, underID("987654321")),
		variant("twice", "a call is answered twice", true, healthy, underID("{{id}}")),
	}
}

// pingTrouble is a healthy server with unhealthy answers to whoever asks whether it is alive: ping in the legacy era, server/discover in
// the modern one.
func pingTrouble() []Fault {
	reports := []string{
		"modelcontextprotocol/go-sdk#900", "modelcontextprotocol/java-sdk#267", "modelcontextprotocol/kotlin-sdk#564",
		"microsoft/playwright-mcp#1293", "jasonjgardner/blockbench-mcp-plugin#38",
	}
	asked := func(do ...script.Action) []script.Rule {
		return []script.Rule{
			{When: script.When{Method: "ping"}, Do: do}, {When: script.When{Method: "server/discover"}, Do: do},
		}
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "ping-trouble/method-not-found", Title: "the server does not know the method by which it is asked whether it is alive",
				Recovery: "any answer is a sign of life", Reports: reports, Loud: true, OneLife: true,
			},
			rules: asked(script.Action{Reply: &script.Reply{Error: &script.RPCError{Code: codeNoMethod, Message: "method not found"}}}),
			how:   "does not know ping", calm: true,
		},
		scripted{
			Info: Info{
				ID: "ping-trouble/never-answered", Title: "probes are never answered, calls are",
				Recovery: "leave a session alone whose calls work", Reports: reports, OneLife: true,
			},
			rules: asked(drop), how: "does not answer a probe", calm: true,
		},
		scripted{
			Info: Info{
				ID: "ping-trouble/busy", Title: "a server that is busy with one long call answers nothing else meanwhile",
				Recovery: "a server that works on a call may be silent until that call's deadline", Reports: reports, Loud: true, OneLife: true,
			},
			rules: asked(pause(ms(1500))), how: "answers a probe late", calm: true,
		},
		scripted{
			Info: Info{
				ID: "ping-trouble/asked-by-the-server", Eras: []script.Era{script.Legacy},
				Title:    "the server pings the client in the middle of a call",
				Recovery: "answer at once, also while a call is under way", Reports: reports, NeedsCall: true, Loud: true, OneLife: true,
			},
			rules: inEachCall(writes(`{"jsonrpc":"2.0","id":"from-the-server","method":"ping"}`)), how: "pings the client",
		},
	}
}

// replayNonIdempotent is a server that dies of a call, after its effect, in whatever life the call is sent to: each repeat is one effect
// more.
func replayNonIdempotent() []Fault {
	const recovery = "reconnect, and do not send the call again: its outcome is unknown, and the error says so"
	reports := []string{
		"QwenLM/qwen-code#8387", "smg-project/smg#2441", "mcheemaa/mistri#26", "zavora-ai/adk-rust#504", "xxynet/KiraAI#195",
	}
	variant := func(name, title, how string, life script.Range, oneLife bool, do ...script.Action) Fault {
		return scripted{
			Info: Info{
				ID: "replay-non-idempotent/" + name, Title: title, Recovery: recovery, Reports: reports,
				NeedsCall: true, Loud: true, OneLife: oneLife,
			},
			rules: inCallsOf("effect", life, slices.Concat([]script.Action{{Effect: true}}, do)...), how: how, ends: true,
		}
	}
	kill := script.Action{Signal: "KILL"}
	return []Fault{
		variant("every-life", "a call has its effect and kills the process, in every life", "dies after the effect", "", false, kill),
		variant("half-an-answer", "the process dies in the middle of writing the answer, after the effect", "dies in its answer", script.Serving, true,
			script.Action{Write: `{"jsonrpc":"2.0","id":`}, exits(1)),
		variant("hint-withdrawn", "a tool that called itself harmless dies after its effect and comes back without that hint",
			"dies after the effect", script.Serving, true, kill),
	}
}

// concurrentCallersWedge is what many callers meet together.
func concurrentCallersWedge() []Fault {
	reports := []string{
		"PrefectHQ/fastmcp#1051", "mastra-ai/mastra#20526", "get-convex/convex-backend#561", "jaseci-labs/jac#5723",
		"langgenius/dify#42658",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "concurrent-callers-wedge/death", Title: "the process dies with many calls in flight",
				Recovery: "fail each of them once and at once, serve the next ones", Reports: reports, NeedsCall: true, Loud: true, OneLife: true,
			},
			rules: inCallsOf("effect", script.Serving, exits(1)), how: "exits in a call", ends: true,
		},
		scripted{
			Info: Info{
				ID: "concurrent-callers-wedge/death-after-death", Title: "every life dies of a call, while many callers wait for the next",
				Recovery: "each caller gets an answer or an error in time, none is forgotten", Reports: reports, NeedsCall: true, Loud: true,
			},
			rules: inCallsOf("effect", "", exits(1)), how: "exits in a call", ends: true,
		},
		scripted{
			Info: Info{
				ID: "concurrent-callers-wedge/one-never-answered", Title: "one call is never answered while many others are made",
				Recovery: "nobody waits for somebody else's call", Reports: reports, NeedsCall: true, OneLife: true,
			},
			rules: inCallsOf("effect", "", drop), how: "does not answer a call",
		},
	}
}
