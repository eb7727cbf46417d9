package oracle

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// deathNotice is how long a death may go unnoticed: a hundred times what it takes to hear of it on a quiet machine.
const deathNotice = 100 * time.Millisecond

// deadPipeWrites reads what the stdin holder caught. Bytes that were on their way when the process died prove nothing; later
// ones do: a dead process's pipe is no place to send a request to (NousResearch/hermes-agent#21006).
func deadPipeWrites(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, e := range v.entries {
		if e.Kind != journal.Late || e.Role != "" || e.Bytes == 0 || e.Detail == journal.LateUnread {
			continue
		}
		died := v.diedBefore(e)
		grace := time.Duration(float64(deathNotice) * v.slackNear(died, e.T))
		if e.T.Sub(died) <= grace {
			continue
		}
		f := v.finding(verdict.FindingDeadPipeWrite, e.Server, e.T,
			"%d bytes were written to a process that had been dead for %s", e.Bytes, verdict.Span(e.T.Sub(died)))
		f.Expected = "no byte later than " + verdict.Span(grace) + " after the death"
		f.Evidence = []verdict.Line{
			v.line(died, "last sign of life %d of %q", e.Life, e.Server),
			v.line(e.T, "%d bytes arrive on its stdin", e.Bytes),
		}
		out = append(out, f)
	}
	return perServer(out)
}

// diedBefore is when the life whose pipe was written to died, as far as the history tells: its last own entry, or the
// injection that hit it, whichever is later.
func (v *view) diedBefore(late journal.Entry) mono.Time {
	died := v.first
	for _, e := range v.entries {
		if e.Server == late.Server && e.Life == late.Life && e.Kind != journal.Late && e.T <= late.T {
			died = max(died, e.T)
		}
	}
	for _, e := range v.all(history.Inject, on(late.Server)) {
		if e.T <= late.T {
			died = max(died, e.T)
		}
	}
	return died
}
