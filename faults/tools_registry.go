package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// Group I: faults that a client's list of tools must follow.

const (
	listChanged  = "notifications/tools/list_changed"
	codeInternal = -32603
)

// noTools is an empty list in the words of both eras.
const noTools = `{"jsonrpc":"2.0","id":{{id}},"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"public"}}`

func ms(n int) script.Duration { return script.Duration(time.Duration(n) * time.Millisecond) }

// inEachList is what a server does when it is asked for its tools; nth "1" is the first time in each life.
func inEachList(nth script.Range, do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{Method: "tools/list", Nth: nth}, Do: do}}
}

// toolsMissingAfterRevival is a server that is away for so long that its tools are withdrawn, and one that comes back but does not get its
// tools across at the first try: in each case they must be on offer again.
func toolsMissingAfterRevival() []Fault {
	const recovery = "list the tools anew after every reconnect, and again when that failed; never settle for none"
	reports := []string{
		"NousResearch/hermes-agent#67187", "NousResearch/hermes-agent#50170", "anthropics/claude-code#38043",
		"IBM/mcp-context-forge#4499", "QwenLM/qwen-code#9944",
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "tools-missing-after-revival/long-outage", Title: "the server is away for so long that its tools are withdrawn",
				Recovery: recovery, Reports: reports, Loud: true,
			},
			replace: true, rules: atSpawn(exits(1)), how: "exits at every start",
		},
		scripted{
			Info: Info{
				ID: "tools-missing-after-revival/list-fails-first", Title: "the first tools/list after a restart is answered with an error",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			replace: true, how: "answers the first tools/list of each life with an error",
			rules: inEachList("1", script.Action{Reply: &script.Reply{
				Error: &script.RPCError{Code: codeInternal, Message: "tools are not loaded yet"},
			}}),
		},
		scripted{ // servers that load their tools in the background do this
			Info: Info{
				ID: "tools-missing-after-revival/empty-list-first", Title: "the first tools/list after a restart is empty; a list_changed follows",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			replace: true, how: "has no tools at first",
			rules: inEachList("1", script.Action{Reply: &script.Reply{Raw: noTools}}, pause(ms(200)), script.Action{Notify: listChanged}),
		},
		scripted{
			Info: Info{
				ID: "tools-missing-after-revival/list-hangs", Title: "tools/list is never answered after a restart",
				Recovery: recovery, Reports: reports,
			},
			replace: true, rules: inEachList("", drop), how: "answers no tools/list",
		},
	}
}

// phantomTools is a server that is dead for good: what cannot be called must not be on offer.
func phantomTools() []Fault {
	const recovery = "withdraw the tools once the quick retries are used up, and tell whoever listens; bring them back with the server"
	reports := []string{"NousResearch/hermes-agent#49255"}
	return []Fault{
		scripted{
			Info: Info{
				ID: "phantom-tools/dead-server", Title: "the server cannot be started any more", Recovery: recovery, Reports: reports, Loud: true,
			},
			replace: true, rules: atSpawn(exits(1)), how: "exits at every start",
		},
		scripted{
			Info: Info{
				ID: "phantom-tools/silent-server", Title: "the server starts and never answers a handshake any more",
				Recovery: recovery, Reports: reports,
			},
			replace: true, rules: atFirst(drop), how: "answers no handshake",
		},
	}
}

// staleTools is a server that comes back with other tools.
func staleTools() []Fault {
	variant := func(id, with string, change ...string) Fault {
		return scripted{
			Info: Info{
				ID: "stale-tools-after-restart/" + id, Title: "the server comes back with " + with,
				Recovery: "list the tools anew after every reconnect and offer what the server has now",
				Reports: []string{
					"anthropics/claude-code#40025", "anthropics/claude-code#88172", "anomalyco/opencode#40062", "obot-platform/obot#7918",
				},
				Loud: true, OneLife: true,
			},
			replace: true, rules: atSpawn(script.Action{SetTools: change}), how: "has " + with,
		}
	}
	return []Fault{
		variant("added", "one tool more", "+extra-1"),
		variant("removed", "one tool less", "-big"),
		variant("renamed", "a tool under another name", "-big", "+extra-1"),
	}
}

// listChangedStorm is a healthy server that says again and again that its tools have changed.
func listChangedStorm() []Fault {
	const recovery = "list once at the first notification and once more after the last: calls are as fast as ever"
	reports := []string{
		"NousResearch/hermes-agent#115502", "browseros-ai/BrowserOS#1005", "cline/cline#12619", "microsoft/aspire#14375",
	}
	tell := func(times int) script.Action { return script.Action{Notify: listChanged, NotifyTimes: times} }
	var steady []script.Action
	for range 8 {
		steady = append(steady, tell(1), pause(ms(150)))
	}
	return []Fault{
		scripted{
			Info: Info{
				ID: "list-changed-storm/burst", Title: "the server sends 200 list_changed at once",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			rules: []script.Rule{{When: script.When{On: script.OnPhase}, Do: []script.Action{tell(200)}}},
			how:   "sends 200 list_changed",
		},
		scripted{
			Info: Info{
				ID: "list-changed-storm/after-every-list", Title: "the server sends a list_changed after every tools/list",
				Recovery: recovery, Reports: reports, Loud: true, OneLife: true,
			},
			rules: []script.Rule{
				{When: script.When{On: script.OnPhase}, Do: []script.Action{tell(1)}},
				{When: script.When{On: script.OnReplied, Method: "tools/list"}, Do: []script.Action{tell(1)}},
			},
			how: "sends a list_changed, and one more after every tools/list",
		},
		scripted{
			Info: Info{
				ID: "list-changed-storm/steady", Title: "the server sends a list_changed every 150 ms",
				Recovery: recovery, Reports: reports, NeedsCall: true, Loud: true, OneLife: true,
			},
			rules: []script.Rule{{When: script.When{On: script.OnReplied, Method: "tools/call", Nth: "1"}, Do: steady}},
			how:   "sends a list_changed every 150 ms",
		},
	}
}
