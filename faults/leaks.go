package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// The faults of this file make a client open and lose sessions again and again. Each cycle costs little; what a client forgets to close
// in one of them it forgets in all of them, and that shows in its descriptors and processes.

// leakOnFailedConnect is a handshake that fails again and again.
func leakOnFailedConnect() []Fault {
	info := Info{
		Recovery: "close everything that an attempt has opened before the next one begins",
		Reports: []string{
			"modelcontextprotocol/go-sdk#1158", "mark3labs/mcp-go#789", "punkpeye/mcp-proxy#104",
			"NousResearch/hermes-agent#59349", "kubestellar/console#4729",
		},
	}
	variant := func(id, title string, loud bool, rules []script.Rule) Fault {
		i := info
		i.ID, i.Title, i.Loud = "leak-on-failed-connect/"+id, "the server "+title, loud
		return scripted{Info: i, rules: rules, replace: true, how: title}
	}
	nonsense := script.Action{Reply: &script.Reply{Raw: `{"jsonrpc":"2.0","id":{{id}},"result":{"protocolVersion":12}}`}}
	return []Fault{
		variant("exits", "exits at every start", true, atSpawn(exits(1))),
		variant("wrong-reply", "answers every handshake with nonsense", true, atFirst(nonsense)),
		// One that goes when its stdin ends would clean up after a client that forgets it.
		variant("silent", "never answers a handshake, and does not exit when its stdin ends", false, atFirst(ignoreEOF, drop)),
	}
}

// leakPerSession is a session that ends and is followed by another one, many times over.
func leakPerSession() []Fault {
	info := Info{
		Recovery: "give back all that a session held when it ends",
		Reports: []string{
			"modelcontextprotocol/go-sdk#1073", "agentgateway/agentgateway#684", "supercorp-ai/supergateway#108",
			"metatool-ai/metamcp#128", "Cocoanetics/SwiftMCP#56",
		},
		Loud: true,
	}
	dirty, clean := info, info
	dirty.ID, dirty.NeedsCall = "leak-per-session/dirty", true
	dirty.Title = "the server is killed after every call, dozens of times"
	clean.ID, clean.OneLife = "leak-per-session/clean", true
	clean.Title = "the session is closed and opened anew, dozens of times"
	return []Fault{
		scripted{Info: dirty, rules: afterEachCall(script.Action{Signal: "KILL"}), ends: true, how: "was killed after a good call, as every life of it is"},
		// Nothing is wrong with this server; that it heard the end of its stdin shows that there was a cycle.
		scripted{Info: clean, ends: true, how: "was told to go, and went", rules: []script.Rule{{
			When: script.When{On: script.OnEOF}, Do: []script.Action{pause(script.Duration(time.Millisecond))},
		}}},
	}
}
