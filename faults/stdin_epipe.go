package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// stdinEPIPE is a server that lives on with its stdin closed: the next write of the client fails.
func stdinEPIPE() []Fault {
	fault := func(variant, how string, f scripted) Fault {
		f.Info.ID = "stdin-epipe/" + variant
		f.Info.Title = "the server " + how
		f.Info.Recovery = "fail that request, take the transport for dead, outlive it, replace the process"
		f.Info.Reports = []string{
			"modelcontextprotocol/typescript-sdk#1564", "aaif-goose/goose#4110", "Devolutions/devolutions-gateway#1544", "earendil-works/pi#2928",
		}
		f.Info.OfLife, f.Info.OneLife = true, true
		f.how = how
		return f
	}
	shut := script.Action{CloseStdin: true}
	return []Fault{
		fault("idle", "closes its stdin while nothing is in flight", scripted{
			Info: Info{Loud: true}, orders: []script.Action{shut},
		}),
		// The next that is written is the notification that the call was cancelled.
		fault("in-notification", "closes its stdin in a call that it never answers", scripted{
			Info: Info{NeedsCall: true}, rules: inServingCall(shut, drop),
		}),
	}
}
