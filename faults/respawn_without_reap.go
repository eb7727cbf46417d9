package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// respawnWithoutReap is a server that can run only once, since it owns a data base, and whose session breaks while the process lives
// on with the lock. Only SIGKILL ends it, and a new one cannot start before.
func respawnWithoutReap() []Fault {
	fault := func(variant, how string, loud bool, breaks script.Action) Fault {
		return scripted{
			Info: Info{
				ID:       "respawn-without-reap/" + variant,
				Title:    "the server " + how + ", lives on, and holds the lock that the next one needs",
				Recovery: "end the old process and reap it before the new one starts",
				Reports: []string{
					"NousResearch/hermes-agent#11202", "garrytan/gbrain#413", "openclaw/openclaw#92569", "zai-org/feedback#89",
				},
				OfLife: true, OneLife: true, Loud: loud,
			},
			rules:  atSpawn(script.Action{Lock: true}),
			orders: []script.Action{{Lock: true}, ignoreEOF, ignoreTERM, breaks},
			stays:  true,
			how:    how + ", holds the lock and ends by SIGKILL only",
		}
	}
	return []Fault{
		fault("stdout-closed", "closes its stdout", true, script.Action{CloseStdout: true}),
		fault("stdin-closed", "closes its stdin", true, script.Action{CloseStdin: true}),
		fault("hung", "answers nothing more", false, hang),
	}
}
