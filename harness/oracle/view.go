package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// view is a history with what several oracles look up in it. It is built once and only read.
type view struct {
	Run
	profile target.Profile // the scenario's settings laid over it
	events  []history.Event
	first   mono.Time // of the first event
	last    mono.Time
	zero    mono.Time // stories count from here: the first injection, else the first step, else the baseline
	calls   []*call   // by begin
	entries []journal.Entry
	faulted []string // servers that a fault was injected into or whose recovery was waited for, sorted
	twin    bool     // the fault was left out: what is expected of it is not
	secrets needles
	byKind  map[history.Kind][]history.Event
	metro   []history.Event // what budget.SlackIn reads
}

// call is one call with both its ends.
type call struct {
	history.Event           // its CallBegin
	end           mono.Time // of its CallEnd; meaningless unless done
	done          bool
	res           history.Event // its CallEnd
	frozen        time.Duration // how long of it the target's process was stopped by a step
}

// good says whether the call was answered with its own result. A tool's own error is an answer only of the tool that fails
// by trade: some targets dress transport errors as tool errors.
func (c *call) good() bool {
	return c.done && c.res.OK && c.res.Err == nil && (!c.res.IsError || c.Tool == failTool || c.res.NonceOK)
}

// answered says whether any answer came, good or bad. The end of a call that nobody answered says that the harness gave up.
func (c *call) answered() bool {
	return c.done && (c.res.OK || c.res.Err != nil || c.res.IsError)
}

// took is how long the caller waited for a target that could run.
func (c *call) took() time.Duration { return c.end.Sub(c.T) - c.frozen }

// failTool is the fakes' tool whose right answer is a tool error.
const failTool = "fail"

func look(r Run) *view {
	v := &view{Run: r, profile: budget.With(r.Profile, r.Scenario.Settings), secrets: needlesOf(r.Secrets)}
	v.events = slices.Clone(r.Events)
	slices.SortStableFunc(v.events, byTime)
	if len(v.events) > 0 {
		v.first, v.last = v.events[0].T, v.events[len(v.events)-1].T
	}
	v.indexCalls()
	defer v.indexFreezes()
	v.byKind = make(map[history.Kind][]history.Event)
	for _, e := range v.events {
		v.byKind[e.Kind] = append(v.byKind[e.Kind], e)
		if e.Kind == history.Tick || e.Kind == history.Spawned || e.Kind == history.Inject {
			v.metro = append(v.metro, e)
		}
		if e.Kind == history.Journal && e.Entry != nil {
			v.entries = append(v.entries, *e.Entry)
		}
		ill := e.Kind == history.Inject || e.Kind == history.FaultError || e.Kind == history.Rung
		if ill && e.Server != "" && !slices.Contains(v.faulted, e.Server) {
			v.faulted = append(v.faulted, e.Server)
		}
	}
	slices.SortStableFunc(v.entries, byEntryTime)
	slices.Sort(v.faulted)
	v.zero = v.first
	for _, e := range v.all(history.Baseline) {
		v.zero = e.T
	}
	if e, ok := v.firstOf(history.StepBegin); ok {
		v.zero = e.T
	}
	if e, ok := v.firstOf(history.Inject); ok {
		v.zero = e.T
	}
	return v
}

// byTime orders events so that events of the same instant stand in one order, however they were written.
func byTime(a, b history.Event) int {
	return cmp.Or(
		cmp.Compare(a.T, b.T), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Call, b.Call),
		cmp.Compare(a.Step, b.Step), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Rung, b.Rung), cmp.Compare(a.Pid, b.Pid),
		cmp.Compare(a.D, b.D), cmp.Compare(a.Detail, b.Detail),
	)
}

func byEntryTime(a, b journal.Entry) int {
	return cmp.Or(
		cmp.Compare(a.T, b.T), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Life, b.Life), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Nonce, b.Nonce), cmp.Compare(a.Detail, b.Detail),
	)
}

func (v *view) indexCalls() {
	byID := make(map[int64]*call)
	for _, e := range v.events {
		if e.Kind == history.CallBegin {
			c := &call{Event: e}
			byID[e.Call] = c
			v.calls = append(v.calls, c)
		}
	}
	for _, e := range v.events {
		if c := byID[e.Call]; c != nil && e.Kind == history.CallEnd {
			c.res, c.end, c.done = e, max(e.T, c.T), true
		}
	}
	slices.SortStableFunc(v.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Call, b.Call))
	})
}

// firstOf returns the first event of a kind.
func (v *view) firstOf(k history.Kind) (history.Event, bool) {
	if es := v.byKind[k]; len(es) > 0 {
		return es[0], true
	}
	return history.Event{}, false
}

// all returns the events of a kind for which every test is true.
func (v *view) all(k history.Kind, tests ...func(history.Event) bool) []history.Event {
	if len(tests) == 0 {
		return v.byKind[k]
	}
	var out []history.Event
	for _, e := range v.byKind[k] {
		if !slices.ContainsFunc(tests, func(ok func(history.Event) bool) bool { return !ok(e) }) {
			out = append(out, e)
		}
	}
	return out
}

// slack is the machine's slack in a window.
func (v *view) slack(from, to mono.Time) float64 { return budget.SlackIn(v.metro, from, to) }

// around is how far the metronome is looked at on either side of something short: a call may fall between two of its beats.
const around = 2 * time.Second

// slackNear is the slack of something short: that of its own time or of the time around it, whichever is larger.
func (v *view) slackNear(from, to mono.Time) float64 {
	return max(v.slack(from, to), v.slack(max(v.first, from.Add(-around)), min(v.last, to.Add(around))))
}

func on(server string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Server == server }
}

func since(t mono.Time) func(history.Event) bool {
	return func(e history.Event) bool { return e.T >= t }
}

// seen returns the journal entries of one kind of one server that the target caused.
func (v *view) seen(server string, k journal.Kind) []journal.Entry {
	var out []journal.Entry
	for _, e := range v.entries {
		if e.Server == server && e.Kind == k && e.Role == "" {
			out = append(out, e)
		}
	}
	return out
}

func (v *view) isFaulted(server string) bool { return slices.Contains(v.faulted, server) }

// faultsOn are the descriptions of the faults that were injected into a server. One that is not described is the most patient.
func (v *view) faultsOn(server string) []faults.Info {
	var out []faults.Info
	for _, e := range v.all(history.Inject, on(server)) {
		info, ok := v.Faults[e.Fault]
		if !ok {
			info.ID = e.Fault
		}
		out = append(out, info)
	}
	return out
}

// exitNews is how much earlier the end of a target's output may be seen than its exit is recorded.
const exitNews = 250 * time.Millisecond

// ended says whether the target was gone or stopped at any time during the call, so that the call's fate tells nothing of it.
func (v *view) ended(c *call) bool {
	if c.frozen > 0 {
		return true
	}
	for _, exit := range v.all(history.TargetExit) {
		if c.done && exit.T > c.end.Add(exitNews) {
			break
		}
		up := func(e history.Event) bool { return e.T >= exit.T && e.T <= c.T }
		if len(v.all(history.TargetUp, up)) == 0 {
			return true
		}
	}
	return false
}

// closing says whether the harness had begun to close the target before the call was over.
func (v *view) closing(c *call) bool {
	for _, e := range v.all(history.CloseEnd) {
		if begun := e.T.Add(-time.Duration(e.D)); e.T >= c.T && (!c.done || begun <= c.end) {
			return true
		}
	}
	return false
}

// restarted is when the ladder first restarted the target or opened a new front session; what is spawned from then on is the
// harness's doing. ok is false when it never did.
func (v *view) restarted() (t mono.Time, ok bool) {
	for _, e := range v.all(history.Rung) {
		if e.Rung == history.RungRestart || e.Rung == history.RungSession {
			return e.T, true
		}
	}
	return 0, false
}

// slackOf is the slack of the time that a call took.
func (v *view) slackOf(c *call) float64 {
	end := v.last
	if c.done {
		end = c.end
	}
	return v.slackNear(c.T, end)
}

// stall is the first time after the injection that the machine stood still.
func (v *view) stall() (history.Event, bool) {
	for _, e := range v.all(history.Stall) {
		if e.T >= v.zero {
			return e, true
		}
	}
	return history.Event{}, false
}

// line is one line of a story, without secrets.
func (v *view) line(t mono.Time, format string, args ...any) verdict.Line {
	return verdict.Line{At: t.Sub(v.zero), Text: v.clean(fmt.Sprintf(format, args...))}
}

// clean takes the secrets out of a text.
func (v *view) clean(s string) string { return v.secrets.hide(s) }

// finding begins a finding at t.
func (v *view) finding(kind, server string, t mono.Time, format string, args ...any) verdict.Finding {
	return verdict.Finding{Kind: kind, Server: server, At: t.Sub(v.zero), Note: v.clean(fmt.Sprintf(format, args...))}
}

// maxEvidence is how many lines of evidence a finding shows; the history holds the rest.
const maxEvidence = 5

// evidence keeps the first few lines and says how many more there are.
func evidence(lines []verdict.Line) []verdict.Line {
	if len(lines) <= maxEvidence {
		return lines
	}
	out := slices.Clone(lines[:maxEvidence-1])
	rest := lines[maxEvidence-1:]
	return append(out, verdict.Line{At: rest[0].At, Text: fmt.Sprintf("and %d more like these", len(rest))})
}

// name is how a story calls a call.
func (c *call) name() string {
	if c.Tool == "" {
		return c.Server
	}
	return c.Server + "." + c.Tool
}

// outcome says in a few words how a call ended.
func (v *view) outcome(c *call) string {
	switch {
	case !c.answered():
		return "was never answered"
	case c.good():
		return "was answered"
	case c.res.Err != nil && blank(c.res.Err.Message):
		return "failed, error text empty"
	case c.res.Err != nil:
		return fmt.Sprintf("failed: %q", v.quote(c.res.Err.Message))
	case c.res.IsError:
		return fmt.Sprintf("failed with a tool error: %q", v.quote(c.res.Text))
	}
	return "failed"
}

// maxQuote is how much of a target's text a story quotes.
const maxQuote = 120

// quote is a text of the target's, without secrets and cut to what a line can hold.
func (v *view) quote(s string) string {
	r := []rune(v.clean(s))
	if len(r) > maxQuote {
		return string(r[:maxQuote-3]) + "..."
	}
	return string(r)
}
