package oracle

import (
	"fmt"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

const (
	// spareFDs is how many more descriptors than at its baseline a target may hold after a recovery: pools, timers, a log file. A leak
	// of one for each of the dozens of cycles of a leak scenario is far beyond it.
	spareFDs = 12
	// spareProcs is how many more processes than before, and than servers, a target may have: one may just be on its way out.
	spareProcs = 1
	// spareRSS is how much a process may have grown. A garbage collector keeps what one burst of large messages needed; what grows
	// beyond this has no bound.
	spareRSS = 256 << 20
)

// resourceGrowth compares what a target holds after everything has recovered with what it held at its baseline.
func resourceGrowth(v *view) []verdict.Finding {
	var before *history.Event
	var out []verdict.Finding
	for _, e := range v.all(history.Resources) {
		if before == nil || before.Pid != e.Pid {
			before = &e
			continue
		}
		for _, g := range []struct {
			what            string
			from, to, spare int64
		}{
			{"descriptors", int64(before.FDs), int64(e.FDs), spareFDs},
			{"processes", max(int64(before.Procs), int64(len(v.Scenario.Servers))), int64(e.Procs), spareProcs},
			{"MiB of memory", before.RSS >> 20, e.RSS >> 20, spareRSS >> 20},
		} {
			if g.to <= g.from+g.spare {
				continue
			}
			f := v.finding(verdict.FindingLeak, "", e.T, "the target holds %d %s, %d before the fault", g.to, g.what, g.from)
			f.Expected = fmt.Sprintf("at most %d once everything has recovered", g.from+g.spare)
			f.Evidence = []verdict.Line{
				v.line(before.T, "%s: %d", g.what, g.from),
				v.line(e.T, "%s: %d, after %d starts of servers with a fault", g.what, g.to, v.startsOfFaulted()),
			}
			out = append(out, f)
		}
	}
	return out
}

func (v *view) startsOfFaulted() int {
	n := 0
	for _, s := range v.faulted {
		n += len(v.starts(s))
	}
	return n
}
