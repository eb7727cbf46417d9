package oracle

import (
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

const (
	// spareStarts is how many more starts than scheduled are let pass: targets probe, and an era may be found out by a second start.
	spareStarts = 2
	// jitterShare is how much of a declared delay jitter may take away: one half, as in the usual "equal jitter".
	jitterShare = 2
	// perRequest is a profile that starts a server for every request, perSession one that does for every front session: their
	// start counts follow the load, not the faults.
	perRequest = "per-request"
	perSession = "per-session"
)

// spawnStorms counts the starts of the servers with a fault: processes on stdio, sessions on HTTP. The bound is the scenario's own,
// or else what the declared backoff schedule allows at its fastest.
func spawnStorms(v *view) []verdict.Finding {
	if v.profile.Spawns == perRequest {
		return nil
	}
	var out []verdict.Finding
	for _, server := range v.faulted {
		starts := v.starts(server)
		bound, why := v.startBound(server, starts)
		if bound == 0 || len(starts) <= bound {
			continue
		}
		f := v.finding(verdict.FindingSpawnStorm, server, starts[bound].T, "%d starts in %s, where %s allows %d",
			len(starts), verdict.Span(starts[len(starts)-1].T.Sub(v.first)), why, bound)
		f.Expected = "at most this many starts, also while every one of them fails"
		for i, e := range starts {
			f.Evidence = append(f.Evidence, v.line(e.T, "start %d of %q (pid %d)", i+1, server, e.Pid))
		}
		f.Evidence = evidence(f.Evidence)
		out = append(out, f)
	}
	return out
}

// starts are the processes (stdio) or sessions (HTTP) that the target began on a server before the harness restarted it.
func (v *view) starts(server string) []journal.Entry {
	end, restarted := v.restarted()
	kind := journal.Spawn
	if v.overHTTP(server) {
		kind = journal.Session
	}
	var out []journal.Entry
	for _, e := range v.seen(server, kind) {
		if (kind == journal.Spawn || e.Detail == "open") && (!restarted || e.T < end) {
			out = append(out, e)
		}
	}
	return out
}

func (v *view) overHTTP(server string) bool {
	return v.Scenario.Servers[server].Transport == faults.HTTP
}

// startBound is how many starts a server may have in the whole run, and who says so; 0 where nobody does.
func (v *view) startBound(server string, starts []journal.Entry) (bound int, why string) {
	if v.Scenario.Spawns > 0 {
		return v.Scenario.Spawns, "the scenario"
	}
	t := v.profile.Timings
	if t == nil || t.BackoffMin <= 0 && t.BackoffMax <= 0 {
		return 0, ""
	}
	before := 0
	for _, e := range starts {
		if e.T < v.zero {
			before++
		}
	}
	each := max(1, before) // a target that needed two processes for its baseline may need two again
	bound = before + each*(spareStarts+v.againStarted()) + v.pokes(server)
	from := v.zero
	for _, proven := range append(v.provenLives(server), v.last) {
		bound += each * attempts(t, proven.Sub(from))
		from = proven
	}
	return bound, "the declared schedule"
}

// attempts is how many starts the schedule allows within a span at its fastest: one at once, the next after the first delay, and so on;
// once the quick retries are used up, one each parked retry or demand interval. Jitter may shorten every delay.
func attempts(t *target.Timings, span time.Duration) int {
	low, high := t.BackoffMin.D(), t.BackoffMax.D()
	if low <= 0 {
		low = high
	}
	high = max(low, high)
	slow := high
	for _, d := range []time.Duration{t.ParkedRetry.D(), t.DemandInterval.D()} {
		if d > 0 && (slow == high || d < slow) {
			slow = d
		}
	}
	n, at, delay := 1, time.Duration(0), low
	for {
		d := delay
		if t.Retries > 0 && n > t.Retries {
			d = slow
		}
		if at += max(d/jitterShare, time.Millisecond); at > span {
			return n
		}
		n++
		delay = min(2*delay, high)
	}
}

// provenLives are the times at which a life first answered a call after the injection: such a session proves itself, and its
// successor starts with a fresh retry budget (SUP-3).
func (v *view) provenLives(server string) []mono.Time {
	seen := make(map[int]bool)
	var out []mono.Time
	for _, e := range v.seen(server, journal.Replied) {
		if e.Method == "tools/call" && e.T >= v.zero && !seen[e.Life] {
			seen[e.Life] = true
			out = append(out, e.T)
		}
	}
	return out
}

// pokes is how often somebody asked for a reconnect of a server, which may skip every wait.
func (v *view) pokes(server string) int {
	n := 0
	for _, s := range v.Scenario.Steps {
		if s.Reconnect == server {
			n++
		}
	}
	for _, e := range v.all(history.Rung) {
		if e.Rung == history.RungPoke && (e.Server == server || e.Server == "") {
			n++
		}
	}
	return n
}

// needlessRestarts finds starts that nothing called for: of servers without a fault, of any server when the scenario says that its fault
// is no reason, and of any server while the target is closing (huiliyi37/Tianshu-harness#148).
func needlessRestarts(v *view) []verdict.Finding {
	if v.profile.Spawns == perRequest || v.profile.Spawns == perSession {
		return nil
	}
	var out []verdict.Finding
	for _, server := range v.servers() {
		calm := v.Scenario.NoRespawn || !v.isFaulted(server) && !v.overHTTP(server)
		for _, e := range v.starts(server) {
			notice := time.Duration(float64(startNotice) * v.slackNear(e.T, e.T))
			closing := v.inClose(e.T) && v.inClose(e.T.Add(-notice))
			if !closing && (v.firstOfTarget(server, e) || !calm || e.T < v.zero || v.pokes(server) > 0) {
				continue
			}
			f := v.finding(verdict.FindingNeedlessRestart, server, e.T, "%q was started again (pid %d) though nothing called for it", server, e.Pid)
			f.Expected = "the process or session of the baseline serves to the end"
			if closing {
				f.Note = v.clean("\"" + server + "\" was started while the target was closing")
				f.Expected = "no start once the close has begun"
			}
			f.Evidence = []verdict.Line{v.line(e.T, "start of life %d of %q (pid %d)", e.Life, server, e.Pid)}
			out = append(out, f)
		}
	}
	return perServer(out)
}

// servers are the names of all servers of the scenario or the journal, sorted.
func (v *view) servers() []string {
	names := make(map[string]bool)
	for name := range v.Scenario.Servers {
		names[name] = true
	}
	for _, e := range v.entries {
		names[e.Server] = true
	}
	return sorted(names)
}

// startNotice is how long before its first journal entry a process may have been started by a target that had not yet read the
// request to close: two pipes and a process start.
const startNotice = 100 * time.Millisecond

// inClose says whether the target was closing at t.
func (v *view) inClose(t mono.Time) bool {
	for _, e := range v.all(history.CloseEnd) {
		if t > e.T.Add(-time.Duration(e.D)) && t <= e.T {
			return true
		}
	}
	return false
}
