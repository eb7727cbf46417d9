package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// outcome is what the recovery ladder says.
type outcome struct {
	class    verdict.Class
	reason   string // why it is inconclusive
	server   string // the server that decided
	back     time.Duration
	budget   budget.Budget
	slack    float64
	note     string
	expected string
}

// earlyShare is how much of its budget a target must have been given before the next rung may say anything. It is less than all,
// since the lab and this code read the machine's slack a moment apart.
const earlyShare = 0.95

// climb decides the recovery class of a whole run: the worst of its faulted servers.
//
// The order of the questions is the order of their weight. A record that is incomplete or a world that was not healthy says nothing. A target
// whose process ended has its own class. Only then it matters how far the ladder had to go.
func climb(v *view) outcome {
	if reason := v.invalid(); reason != "" {
		return outcome{class: verdict.Inconclusive, reason: reason}
	}
	if exit, ok := v.unaskedExit(); ok {
		return outcome{
			class: verdict.TargetExited, server: exit.Server, slack: 1,
			note: "the target's process ended" + after(v.clean(exit.Detail)), expected: "a target that outlives its servers' faults",
		}
	}
	if reason := v.unproven(); reason != "" {
		return outcome{class: verdict.Inconclusive, reason: reason}
	}
	worst := outcome{class: verdict.Recovered, slack: v.slack(v.first, v.last)}
	for _, server := range v.faulted {
		o := v.climbOne(server)
		if worst.server == "" || o.class.Severity() > worst.class.Severity() ||
			o.class == worst.class && o.back > worst.back {
			worst = o
		}
	}
	return worst
}

func after(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + detail
}

// invalid says why the history proves nothing at all; "" when it may.
func (v *view) invalid() string {
	if len(v.events) == 0 {
		return "the history is empty"
	}
	if _, ok := v.firstOf(history.Interrupt); ok {
		return "interrupted"
	}
	if _, ok := v.firstOf(history.RunEnd); !ok {
		return "the history breaks off before the run's end"
	}
	baselines := v.all(history.Baseline)
	if len(baselines) == 0 {
		return "no baseline on record"
	}
	for _, b := range baselines {
		if !b.OK {
			return "invalid: the baseline failed" + after(v.clean(b.Detail))
		}
	}
	lifted := v.lastLifted()
	for _, c := range v.all(history.Control) {
		if !c.OK && (c.T < v.zero || c.T >= lifted) {
			return "control failed: a plain client could not call" + after(v.clean(c.Detail))
		}
	}
	for _, e := range v.all(history.TargetExit) {
		if !e.Expected && e.T < v.zero {
			return "invalid: the target's process ended before the fault" + after(v.clean(e.Detail))
		}
	}
	return ""
}

// lastLifted is when the last fault was off; the end of the history when one never was.
func (v *view) lastLifted() mono.Time {
	t := v.zero
	for _, server := range v.faulted {
		l, ok := v.lifted(server)
		if !ok {
			return v.last
		}
		t = max(t, l)
	}
	return t
}

// lifted is when the last fault on a server was off. A server without an injection has its fault in its script; it counts as healthy from
// the moment its recovery was waited for.
func (v *view) lifted(server string) (t mono.Time, ok bool) {
	for _, e := range v.all(history.Lifted, on(server)) {
		t, ok = e.T, true
	}
	if ok || len(v.all(history.Inject, on(server))) > 0 {
		return t, ok
	}
	for _, e := range v.all(history.Rung, on(server)) {
		return e.T, true
	}
	return 0, false
}

// unaskedExit is the first end of the target's process that nobody asked for.
func (v *view) unaskedExit() (history.Event, bool) {
	for _, e := range v.all(history.TargetExit) {
		if !e.Expected {
			return e, true
		}
	}
	return history.Event{}, false
}

// unproven says why the faults of the run prove nothing: one was not injected, not seen to take effect, or not lifted.
func (v *view) unproven() string {
	for _, e := range v.all(history.FaultError) {
		return fmt.Sprintf("fault %s on %q: %s", e.Fault, e.Server, v.clean(e.Detail))
	}
	planned := 0
	for _, s := range v.Scenario.Steps {
		if s.Inject != "" || s.Kill != "" {
			planned++
		}
	}
	if injected := len(v.all(history.Inject)); injected < planned {
		return fmt.Sprintf("only %d of %d faults were injected", injected, planned)
	}
	for _, e := range v.all(history.Inject) {
		same := func(o history.Event) bool { return o.Fault == e.Fault && o.Server == e.Server }
		if len(v.all(history.Observed, same, since(e.T))) == 0 {
			return fmt.Sprintf("fault %s on %q was never seen to take effect", e.Fault, e.Server)
		}
		if len(v.all(history.Lifted, same, since(e.T))) == 0 {
			return fmt.Sprintf("fault %s on %q was never lifted", e.Fault, e.Server)
		}
	}
	if len(v.faulted) > 0 && len(v.all(history.Control, since(v.lastLifted()))) == 0 {
		return "no control call on record after the fault"
	}
	return ""
}

// climbOne decides the class of one server.
func (v *view) climbOne(server string) outcome {
	o := outcome{server: server}
	lifted, _ := v.lifted(server)
	mine := func(e history.Event) bool { return (e.Server == server || e.Server == "") && e.T >= lifted }
	rungs := v.all(history.Rung, mine, func(e history.Event) bool { return e.Rung != history.RungLoad })
	var good *history.Event
	if goods := v.all(history.Good, mine); len(goods) > 0 {
		good = &goods[0]
	}
	if good != nil && (good.Rung == history.RungLoad || good.Rung == "") {
		return v.byLoad(o, lifted, *good)
	}
	if len(rungs) == 0 {
		return o.unknown("the recovery ladder was not climbed")
	}
	v.bound(&o, lifted, rungs[0].T)
	if waited := rungs[0].T.Sub(lifted); o.budget.Known() && float64(waited) < earlyShare*float64(o.budget.Total) {
		return o.unknown("the ladder went on after %s, before the budget of %s was over", verdict.Span(waited), verdict.Span(o.budget.Total))
	}
	if good == nil {
		if rungs[len(rungs)-1].Rung != history.RungRestart {
			return o.unknown("the ladder ends at %q without a restart", rungs[len(rungs)-1].Rung)
		}
		o.class, o.note = verdict.Unrecoverable, "not even after a restart, though a plain client works"
		return o
	}
	begun := lifted
	for _, r := range rungs {
		if r.Rung == good.Rung {
			begun = r.T
		}
	}
	first, ok := v.firstGood(server, begun, *good)
	if !ok {
		return o.unknown("no good call on record")
	}
	return v.byRung(o, good.Rung, first.Sub(begun))
}

func (o outcome) unknown(format string, args ...any) outcome {
	o.class, o.reason = verdict.Inconclusive, fmt.Sprintf(format, args...)
	return o
}

// bound sets the budget, with the slack of the window in which the target had to come back.
func (v *view) bound(o *outcome, from, to mono.Time) {
	o.slack = v.slack(from, to)
	o.budget = budget.For(v.profile, v.faultsOn(o.server), o.slack, time.Duration(v.MaxRecovery))
	what := "a good call"
	if n := len(v.starts(o.server)); v.mustRestart(o.server) {
		before := 0
		for _, e := range v.starts(o.server) {
			if e.T < v.zero {
				before++
			}
		}
		if n <= before {
			what = fmt.Sprintf("a %s spawn and a good call", ordinal(before+1))
		}
	}
	o.expected = what
	if o.budget.Known() {
		o.expected += " within " + verdict.Span(o.budget.Total) + " = " + o.budget.Text
	}
}

// mustRestart says whether a fault of the server leaves no process that could serve.
func (v *view) mustRestart(server string) bool {
	return !v.Scenario.NoRespawn && slices.ContainsFunc(v.faultsOn(server), func(f faults.Info) bool {
		return f.Transport == faults.Stdio && (f.OfLife || f.Loud && f.OneLife)
	})
}

// byLoad judges a server that came back under steady load.
func (v *view) byLoad(o outcome, lifted mono.Time, good history.Event) outcome {
	first, ok := v.firstGood(o.server, lifted, good)
	if !ok {
		return o.unknown("no good call on record")
	}
	asked := max(lifted, v.firstAsked(o.server, lifted))
	o.back = first.Sub(lifted)
	v.bound(&o, asked, first)
	o.class = verdict.Recovered
	switch {
	case !o.budget.Known() || o.back <= o.budget.Total:
	case first.Sub(asked) > o.budget.Total:
		o.class, o.note = verdict.Slow, "back by itself, later than declared"
	default:
		o.note = "nobody asked for the first " + verdict.Span(asked.Sub(lifted))
	}
	return o
}

// byRung judges a server that came back only on a higher rung.
func (v *view) byRung(o outcome, rung string, took time.Duration) outcome {
	span := verdict.Span(took)
	switch rung {
	case history.RungQuiet:
		o.class, o.note = verdict.NeedsQuiet, "back "+span+" after traffic paused"
	case history.RungSession:
		o.class, o.note = verdict.NeedsNewSession, "back "+span+" after a new front session"
		return o // right for a session that is gone, whatever was declared
	case history.RungPoke:
		o.class, o.note = verdict.NeedsPoke, "back "+span+" after a manual reconnect"
	case history.RungRestart:
		o.class, o.note = verdict.Wedged, "back "+span+" after a restart"
	default:
		return o.unknown("unknown rung %q", rung)
	}
	if !o.budget.Known() {
		o.class = verdict.NotRecovered
		o.note += "; no timings are declared, so no bound is known"
	}
	return o
}

// firstAsked is when anybody first called a server that the fault had left, so that nobody is called slow who was not asked. A
// call that was under way then asked at once.
func (v *view) firstAsked(server string, lifted mono.Time) mono.Time {
	for _, c := range v.calls {
		if c.Server == server && (!c.done || c.end >= lifted) {
			return c.T
		}
	}
	return lifted
}

// firstGood is when the first of the good calls ended that the lab counted, or, where it does not say which that was, when the unbroken
// row of good probe calls began that ends there.
func (v *view) firstGood(server string, from mono.Time, good history.Event) (mono.Time, bool) {
	var probes []*call
	for _, c := range v.calls {
		if c.Server == server && c.Load == history.LoadProbe && c.done && within(c.end, from, good.T) {
			probes = append(probes, c)
		}
	}
	slices.SortStableFunc(probes, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.Call, b.Call))
	})
	first, ok := mono.Time(0), false
	for _, c := range slices.Backward(probes) {
		own := c.good() && (c.Nonce == "" || c.res.NonceOK)
		if own && good.Call != 0 && c.Call == good.Call {
			return c.end, true
		}
		if !own && good.Call == 0 {
			break
		}
		if own {
			first, ok = c.end, true
		}
	}
	return first, ok && good.Call == 0
}

// within says whether t lies in a closed span.
func within(t, from, to mono.Time) bool { return t >= from && t <= to }

func ordinal(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
		return fmt.Sprintf("%dth", n)
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}
