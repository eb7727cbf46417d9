package faults

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// eraFallback is what goes wrong where a client that is not told the era asks for it: the question is server/discover, and a server
// of the other era may do anything with it; or the server has changed its era when it comes back. The serving life is killed to set
// it off. The client is not told the era.
func eraFallback() []Fault {
	fault := func(variant, how string, era script.Era, f scripted) Fault {
		f.Info.ID = "era-fallback/" + variant
		f.Info.Title = "a server of the " + string(era) + " era " + how
		f.Info.Recovery = "bound the question by itself, find the era that the server speaks, and ask again when the evidence changes"
		f.Info.Reports = []string{"NousResearch/hermes-agent#114350", "newo-ether/Agora#78"}
		f.Info.Eras = []script.Era{era}
		f.Info.AskEra = true
		f.replace, f.how = true, how
		return f
	}
	asked := func(once bool, do ...script.Action) []script.Rule {
		return []script.Rule{{When: script.When{Method: "server/discover"}, Do: do, Once: once}}
	}
	reply := func(raw string) script.Action { return script.Action{Reply: &script.Reply{Raw: raw}} }
	broken := script.Action{Reply: &script.Reply{Error: &script.RPCError{Code: -32603, Message: "internal error"}}}
	speak := func(e script.Era) scripted {
		return scripted{Info: Info{OneLife: true}, rules: atSpawn(script.Action{Speak: e}), stays: true}
	}
	return []Fault{
		fault("discover-silent", "never answers server/discover", script.Legacy, scripted{rules: asked(false, drop)}),
		fault("discover-exits", "exits when it reads server/discover", script.Legacy, scripted{rules: asked(false, exits(1))}),
		fault("discover-slow", "refuses server/discover after a second", script.Legacy,
			scripted{rules: asked(false, pause(script.Duration(time.Second)))}),
		fault("discover-malformed", "answers server/discover with a result that is none", script.Legacy,
			scripted{rules: asked(false, reply(`{"jsonrpc":"2.0","id":{{id}},"result":"welcome"}`))}),
		fault("discover-html", "answers server/discover with a line of HTML", script.Legacy,
			scripted{rules: asked(false, reply(`<html><body>405 Method Not Allowed</body></html>`))}),
		fault("broken-once", "fails server/discover once with an internal error", script.Modern, scripted{rules: asked(true, broken)}),
		fault("exits-once", "exits once when it reads server/discover", script.Modern, scripted{rules: asked(true, exits(1))}),
		fault("silent-once", "does not answer server/discover once", script.Modern, scripted{rules: asked(true, drop)}),
		// Longer than a question with a bound may take, not longer than a connect.
		fault("slow-start", "takes 800ms for every first answer", script.Modern,
			scripted{rules: atFirst(pause(script.Duration(800 * time.Millisecond)))}),
		fault("upgraded", "speaks the modern era when it comes back", script.Legacy, speak(script.Modern)),
		fault("downgraded", "speaks the legacy era when it comes back", script.Modern, speak(script.Legacy)),
		fault("downgraded-exits", "speaks the legacy era when it comes back, and exits when it reads server/discover", script.Modern,
			scripted{
				Info:  Info{OneLife: true},
				rules: append(atSpawn(script.Action{Speak: script.Legacy}), asked(false, exits(1))...), stays: true,
			}),
	}
}
