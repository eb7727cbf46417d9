package oracle

import (
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

// orphans finds processes of the target's tree that outlived its close.
func orphans(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, e := range v.all(history.Leftover, func(e history.Event) bool { return !e.Expected }) {
		server := e.Server
		for _, j := range v.entries {
			if j.Kind == journal.Spawn && j.Pid == e.Pid && server == "" {
				server = j.Server
			}
		}
		f := v.finding(verdict.FindingOrphan, server, e.T, "process %d is alive after the close", e.Pid)
		f.Expected = "nothing that the target started is alive after it closed"
		if c, ok := v.firstOf(history.CloseEnd); ok {
			f.Evidence = append(f.Evidence, v.line(c.T, "the target has closed"))
		}
		f.Evidence = append(f.Evidence, v.line(e.T, "pid %d is alive: %s", e.Pid, v.quote(e.Detail)))
		out = append(out, f)
	}
	return perServer(out)
}
