package oracle

import (
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/internal/mono"
)

// What steps on the target's own process mean for the other oracles: a target that is stopped answers nobody, and one that was
// started again starts its servers again.

// indexFreezes takes the time in which the target was stopped out of every call that it fell into.
func (v *view) indexFreezes() {
	var from mono.Time
	stopped := false
	cut := func(to mono.Time) {
		for _, c := range v.calls {
			end := v.last
			if c.done {
				end = c.end
			}
			if d := min(end, to).Sub(max(c.T, from)); d > 0 {
				c.frozen += d
			}
		}
	}
	for _, e := range v.events {
		hit := e.Kind == history.TargetHit
		switch {
		case hit && e.Detail == scenario.TargetStop:
			from, stopped = e.T, true
		case stopped && (hit && e.Detail == scenario.TargetCont || e.Kind == history.TargetExit):
			cut(e.T)
			stopped = false
		}
	}
	if stopped {
		cut(v.last)
	}
}

// againStarted is how often a step had the target started again.
func (v *view) againStarted() int {
	end, restarted := v.restarted()
	n := len(v.all(history.TargetGo, func(e history.Event) bool { return !restarted || e.T < end }))
	return max(0, n-1)
}

// firstOfTarget says whether this is the first start of a server by the target that was started last before it: nothing was replaced.
func (v *view) firstOfTarget(server string, start journal.Entry) bool {
	var born mono.Time
	for _, e := range v.all(history.TargetGo) {
		if e.T <= start.T {
			born = e.T
		}
	}
	if born == 0 {
		return false
	}
	for _, e := range v.starts(server) {
		if e.T >= born && e.T < start.T {
			return false
		}
	}
	return true
}
