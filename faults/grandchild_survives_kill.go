package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// grandchildSurvivesKill is a server behind a wrapper (npx, uvx, sh -c). Whoever ends only the process that he started leaves the real
// server behind, which here ends by nothing but SIGKILL.
func grandchildSurvivesKill() []Fault {
	fault := func(variant, how string, f scripted) Fault {
		f.Info.ID = "grandchild-survives-kill/" + variant
		f.Info.Title = how
		f.Info.Recovery = "end the whole process group, also after a failed start"
		f.Info.Reports = []string{
			"modelcontextprotocol/java-sdk#966", "modelcontextprotocol/typescript-sdk#379", "anomalyco/opencode#34525",
			"MoonshotAI/kimi-code#1038",
		}
		f.Info.Launcher = script.Wrapper
		return f
	}
	return []Fault{
		fault("wrapper-killed", "the wrapper of a server is killed, the server itself lives on with its pipes", scripted{
			Info:   Info{OfLife: true, OneLife: true, Loud: true},
			orders: []script.Action{ignoreEOF, ignoreTERM, {KillLauncher: true}},
			how:    "has lost its wrapper and lives on; it ends by SIGKILL only",
		}),
		fault("hung", "a server behind a wrapper answers nothing more and ends by nothing but SIGKILL", scripted{
			Info:   Info{OfLife: true, OneLife: true},
			orders: []script.Action{ignoreEOF, ignoreTERM, hang},
			how:    "answers nothing more and ends by SIGKILL only",
		}),
		fault("failed-start", "a server behind a wrapper never answers the handshake and ends by nothing but SIGKILL", scripted{
			rules:   append(atSpawn(ignoreEOF, ignoreTERM), atFirst(drop)...),
			replace: true,
			how:     "never answers the handshake and ends by SIGKILL only",
		}),
	}
}
