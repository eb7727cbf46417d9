package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// hungStarts finds processes that were started, never answered a handshake, and were left at it for longer than the declared connect
// timeout (SUP-6): a handshake needs a bound of its own, since no call's deadline covers it. Whoever declares none promised none.
func hungStarts(v *view) []verdict.Finding {
	t := v.profile.Timings
	if t == nil || t.Connect <= 0 {
		return nil
	}
	var out []verdict.Finding
	for _, server := range v.faulted {
		if v.overHTTP(server) {
			continue
		}
		for _, e := range v.starts(server) {
			if e.T < v.zero || v.spoke(server, e.Life) {
				continue
			}
			end := v.letGo(server, e)
			bound := time.Duration(float64(t.Connect.D())*v.slackNear(e.T, end)) + budget.Fast(v.profile, v.slackNear(e.T, end))
			sign := v.lastSign(server, e.Life)
			if end.Sub(e.T) <= bound || sign <= e.T.Add(bound) { // it may have been killed, of which nothing tells
				continue
			}
			f := v.finding(verdict.FindingHungStart, server, e.T.Add(bound),
				"life %d of %q never answered the handshake, and was let be for %s", e.Life, server, verdict.Span(end.Sub(e.T)))
			f.Expected = "its end within " + verdict.Span(bound) + ", the connect timeout"
			f.Evidence = []verdict.Line{
				v.line(e.T, "life %d starts (pid %d)", e.Life, e.Pid),
				v.line(sign, "it is alive"),
			}
			out = append(out, f)
		}
	}
	return perServer(out)
}

// handshakes are the questions of which one must be answered before a client can do anything.
var handshakes = []string{"initialize", "server/discover"}

// spoke says whether a life ever answered a handshake.
func (v *view) spoke(server string, life int) bool {
	return slices.ContainsFunc(v.seen(server, journal.Replied), func(e journal.Entry) bool {
		return e.Life == life && slices.Contains(handshakes, e.Method)
	})
}

// lastSign is when a life journalled last.
func (v *view) lastSign(server string, life int) (t mono.Time) {
	for _, e := range v.entries {
		if e.Server == server && e.Role == "" && e.Life == life && e.Kind != journal.Late {
			t = max(t, e.T)
		}
	}
	return t
}

// letGo is when a life was given up, as far as it or its successor tells: the end of its stdin, a signal, its exit, the next start, or a
// close; else the end of the history.
func (v *view) letGo(server string, start journal.Entry) mono.Time {
	end := v.last
	for _, e := range v.entries {
		if e.Server != server || e.Role != "" || e.T <= start.T {
			continue
		}
		own := e.Life == start.Life && (e.Kind == journal.EOF || e.Kind == journal.Signal || e.Kind == journal.Exit)
		if own || e.Kind == journal.Spawn {
			end = min(end, e.T)
		}
	}
	for _, e := range v.all(history.CloseEnd) {
		if begun := e.T.Add(-time.Duration(e.D)); begun > start.T {
			end = min(end, begun)
		}
	}
	return end
}

// untoldReasons looks for servers that said why they could not start, and callers none of whom was told: neither the words nor
// the exit status. One caller is enough, since a breaker's rejection may be all that the others get.
func untoldReasons(v *view) []verdict.Finding {
	var out []verdict.Finding
	for _, server := range v.faulted {
		dead, words, ok := v.refusedToStart(server)
		if !ok {
			continue
		}
		lifted, _ := v.lifted(server)
		var asked, told int
		var last *call
		for _, c := range v.calls {
			if c.Server != server || c.Load != history.LoadStep || !c.done || c.res.Err == nil || c.end < dead.T || lifted > 0 && c.T > lifted {
				continue
			}
			asked, last = asked+1, c
			text := c.res.Err.Message
			if strings.Contains(text, words) || tells(text, fmt.Sprintf("exit %d", dead.Code)) {
				told++
			}
		}
		if asked == 0 || told > 0 {
			continue
		}
		f := v.finding(verdict.FindingUselessError, server, last.end, "no error says why %q does not start", server)
		f.Expected = fmt.Sprintf("the exit status %d, or what it wrote to stderr: %q", dead.Code, words)
		f.Evidence = []verdict.Line{
			v.line(dead.T, "life %d exits with status %d before any handshake", dead.Life, dead.Code),
			v.line(last.end, "a call %s", v.outcome(last)),
		}
		out = append(out, f)
	}
	return out
}

// refusedToStart finds the first life after the injection that wrote its last words to stderr and exited before it had answered a handshake.
func (v *view) refusedToStart(server string) (exit journal.Entry, words string, ok bool) {
	for _, f := range v.faultsOn(server) {
		for _, r := range f.Rules {
			for _, a := range r.Do {
				if a.WriteStderr != "" {
					words = strings.TrimSpace(a.WriteStderr)
				}
			}
		}
	}
	if words == "" {
		return journal.Entry{}, "", false
	}
	for _, e := range v.seen(server, journal.Exit) {
		if e.T >= v.zero && !v.spoke(server, e.Life) {
			return e, words, true
		}
	}
	return journal.Entry{}, "", false
}

// needlessStops finds processes that were told to end though nothing called for it, where the scenario says that its fault is no reason.
// A restart shows as a new life already; this finds the process that was ended and not replaced.
func needlessStops(v *view) []verdict.Finding {
	if !v.Scenario.NoRespawn || v.profile.Spawns == perRequest || v.profile.Spawns == perSession {
		return nil
	}
	var out []verdict.Finding
	for _, server := range v.faulted {
		serving := 0
		for _, e := range v.starts(server) {
			if e.T < v.zero {
				serving = e.Life
			}
		}
		for _, kind := range []journal.Kind{journal.EOF, journal.Signal} {
			for _, e := range v.seen(server, kind) {
				end, restarted := v.restarted()
				if e.T < v.zero || e.Life != serving || v.pokes(server) > 0 || v.inClose(e.T) || restarted && e.T >= end || v.afterTarget(e.T) {
					continue
				}
				f := v.finding(verdict.FindingNeedlessRestart, server, e.T, "life %d of %q was told to end though nothing called for it", e.Life, server)
				f.Expected = "the process of the baseline serves to the end"
				f.Evidence = []verdict.Line{v.line(e.T, "life %d (pid %d) journals: %s %s", e.Life, e.Pid, e.Kind, e.Detail)}
				out = append(out, f)
			}
		}
	}
	return perServer(out)
}

// afterTarget says whether the target had ended, or somebody had begun to end it, by t: what its servers see then is no decision of its own.
func (v *view) afterTarget(t mono.Time) bool {
	for _, k := range []history.Kind{history.TargetExit, history.TargetHit} {
		for _, e := range v.all(k) {
			if e.T <= t.Add(exitNews) {
				return true
			}
		}
	}
	for _, e := range v.all(history.CloseEnd) {
		if e.T.Add(-time.Duration(e.D)) <= t {
			return true
		}
	}
	return false
}
