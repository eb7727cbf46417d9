package oracle

import (
	"maps"
	"slices"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/verdict"
)

// twoLives finds a life that still did something after the next one had started: two processes that may both hold a lock or
// both have effects. A process that only lies there, stopped, shows nothing here; it is found as an orphan later.
func twoLives(v *view) []verdict.Finding {
	if v.profile.Spawns == perRequest || v.profile.Spawns == perSession {
		return nil
	}
	var out []verdict.Finding
	for _, server := range v.servers() {
		if v.overHTTP(server) {
			continue // the lab starts and ends those
		}
		spawns, signs := v.starts(server), v.signs(server)
		for i, b := range spawns {
			if b.T < v.zero {
				continue // targets may spawn throwaways before anything happens
			}
			for _, a := range spawns[:i] {
				sign, ok := signs[a.Life]
				if !ok || sign.T <= b.T || a.Life == b.Life {
					continue
				}
				f := v.finding(verdict.FindingTwoLives, server, sign.T,
					"life %d of %q was alive %s after life %d had started", a.Life, server, verdict.Span(sign.T.Sub(b.T)), b.Life)
				f.Expected = "the old process is gone before the next one starts"
				f.Evidence = []verdict.Line{
					v.line(b.T, "life %d starts (pid %d)", b.Life, b.Pid),
					v.line(sign.T, "life %d (pid %d) journals: %s %s", a.Life, a.Pid, sign.Kind, sign.Method),
				}
				out = append(out, f)
			}
		}
	}
	return perServer(out)
}

// signs are the last thing that each life of a server did before the harness restarted the target.
func (v *view) signs(server string) map[int]journal.Entry {
	end, restarted := v.restarted()
	out := make(map[int]journal.Entry)
	for _, e := range v.entries {
		if e.Server == server && e.Role == "" && e.Kind != journal.Late && !(restarted && e.T >= end) {
			out[e.Life] = e
		}
	}
	return out
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
