package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// exitsAfterInitialize is a server that answers the handshake and is gone before it was of any use: such a start has failed, and the
// server was never connected. The serving life is killed to set it off.
func exitsAfterInitialize() []Fault {
	fault := func(variant, how string, rules []script.Rule) Fault {
		return scripted{
			Info: Info{
				ID:       "exits-after-initialize/" + variant,
				Title:    "the server " + how,
				Recovery: "count it as a failed start, never as connected; retry with backoff",
				Reports:  []string{"can1357/oh-my-pi#1710", "JingxuanC/causal-memory#5"},
				Loud:     true,
			},
			rules: rules, replace: true, how: how,
		}
	}
	return []Fault{
		fault("before-next-message", "answers the handshake and exits at once", atFirst(healthy, exits(1))),
		fault("before-list", "answers the handshake and exits when it is asked for its tools",
			[]script.Rule{{When: script.When{Method: "tools/list"}, Do: []script.Action{exits(1)}}}),
		fault("after-list", "lists its tools and exits",
			[]script.Rule{{When: script.When{On: script.OnReplied, Method: "tools/list"}, Do: []script.Action{exits(0)}}}),
	}
}
