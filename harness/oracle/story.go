package oracle

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/mono"
)

// story tells a run in the order in which a maintainer needs it: what was done to which process, how the calls went, how far the
// ladder had to go, and that a plain client could.
func (v *view) story(o outcome) []verdict.Line {
	var out []verdict.Line
	for _, e := range v.all(history.Inject) {
		out = append(out, v.injected(e))
	}
	for _, e := range v.all(history.FaultError) {
		out = append(out, v.line(e.T, "fault %s: %s", e.Fault, v.quote(e.Detail)))
	}
	for _, e := range v.all(history.Lifted) {
		if e.T.Sub(v.zero) >= noticeable {
			out = append(out, v.line(e.T, "the fault is lifted; %q is healthy again", e.Server))
		}
	}
	out = append(out, v.callLines()...)
	for _, e := range v.all(history.Rung) {
		if text := v.rungText(e); text != "" {
			out = append(out, v.line(e.T, "%s", text))
		}
	}
	for _, e := range v.all(history.TargetHit) {
		out = append(out, v.line(e.T, "the target meets %s", e.Detail))
	}
	for _, e := range v.all(history.TargetExit) {
		if !e.Expected {
			out = append(out, v.line(e.T, "the target's process ended%s", after(v.quote(e.Detail))))
		}
	}
	if o.class.Failing() && o.note != "" && o.class != verdict.TargetExited {
		at := v.last
		if goods := v.all(history.Good, on(o.server)); len(goods) > 0 {
			at = goods[0].T
		}
		out = append(out, v.line(at, "%s", o.note))
	}
	if line, ok := v.controlLine(); ok {
		out = append(out, line)
	}
	slices.SortStableFunc(out, func(a, b verdict.Line) int { return cmp.Compare(a.At, b.At) })
	return out
}

// noticeable is how long after the injection a lift must come to be worth a line of its own.
const noticeable = 50 * time.Millisecond

// injected tells the injection with its evidence.
func (v *view) injected(e history.Event) verdict.Line {
	what := e.Fault
	if info, ok := v.Faults[e.Fault]; ok && info.Title != "" {
		what = info.Title
	}
	text := fmt.Sprintf("server %q: %s", e.Server, what)
	same := func(o history.Event) bool { return o.Fault == e.Fault && o.Server == e.Server }
	if seen := v.all(history.Observed, same, since(e.T)); len(seen) > 0 && seen[0].Detail != "" {
		text = fmt.Sprintf("server %q: %s", e.Server, v.quote(seen[0].Detail))
	}
	if !v.overHTTP(e.Server) {
		text += fmt.Sprintf("; spawns so far: %d", v.spawnsBefore(e.Server, e.T))
	}
	return v.line(e.T, "%s", text)
}

func (v *view) spawnsBefore(server string, t mono.Time) int {
	n := 0
	for _, e := range v.starts(server) {
		if e.T <= t {
			n++
		}
	}
	return n
}

// rungText tells why the ladder went on.
func (v *view) rungText(e history.Event) string {
	still := "still failing"
	if e.Server != "" && !v.overHTTP(e.Server) {
		still = fmt.Sprintf("still failing, spawns now %d", v.spawnsBefore(e.Server, e.T))
	}
	switch e.Rung {
	case history.RungQuiet:
		return still + "; traffic pauses"
	case history.RungSession:
		return still + "; a new front session is opened"
	case history.RungPoke:
		return still + "; a manual reconnect is asked for"
	case history.RungRestart:
		return still + "; the target is restarted"
	}
	return ""
}

// controlLine tells that a plain client could.
func (v *view) controlLine() (verdict.Line, bool) {
	controls := v.all(history.Control, since(v.zero), func(e history.Event) bool { return e.OK })
	if len(controls) == 0 {
		return verdict.Line{}, false
	}
	c := controls[len(controls)-1]
	return v.line(c.T, "a plain client starts and calls the same server in %s", verdict.Span(time.Duration(c.D))), true
}

// group is a row of calls that ended alike.
type group struct {
	from, to int // numbers of the first and last, from 1
	at, last mono.Time
	outcome  string
}

// maxGroups is how many rows of calls a story tells; of more it tells the first and the last.
const maxGroups = 6

// callLines tells how the calls to the faulted servers went since the injection; equal ones in a row are one line.
func (v *view) callLines() []verdict.Line {
	groups := v.groups()
	skipped := 0
	if len(groups) > maxGroups {
		half := maxGroups / 2
		skipped = groups[len(groups)-half].from - groups[half].from
		groups = append(groups[:half:half], groups[len(groups)-half:]...)
	}
	var out []verdict.Line
	told := make(map[string]bool)
	for i, g := range groups {
		if skipped > 0 && i == maxGroups/2 {
			out = append(out, v.line(groups[i-1].last, "%s, now good, now bad", plural(skipped, "call")))
		}
		who := fmt.Sprintf("call %d", g.from)
		if g.to > g.from {
			who = fmt.Sprintf("calls %d-%d", g.from, g.to)
		}
		outcome := g.outcome
		if rest, was := strings.CutPrefix(outcome, "was "); was && g.to > g.from {
			outcome = "were " + rest
		}
		text := who + " " + outcome
		if told[g.outcome] && strings.HasPrefix(g.outcome, "failed") {
			text = who + " failed the same way"
		}
		told[g.outcome] = true
		if g.last.Sub(g.at) >= noticeable {
			text += ", the last at " + verdict.Span(g.last.Sub(v.zero))
		}
		out = append(out, v.line(g.at, "%s", text))
	}
	return out
}

func (v *view) groups() []group {
	var out []group
	n := 0
	for _, c := range v.calls {
		if c.T < v.zero && (!c.done || c.end < v.zero) || !v.isFaulted(c.Server) || c.Load == history.LoadBaseline {
			continue
		}
		n++
		at := v.last
		if c.done {
			at = c.end
		}
		what := v.outcome(c)
		if k := len(out) - 1; k >= 0 && normal(out[k].outcome) == normal(what) {
			out[k].to, out[k].last = n, max(out[k].last, at)
			continue
		}
		out = append(out, group{from: n, to: n, at: at, last: at, outcome: what})
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 more " + what
	}
	return fmt.Sprintf("%d more %ss", n, what)
}

var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	hexes  = regexp.MustCompile(`\b(0x)?[0-9a-f]*[0-9][0-9a-f]{5,}\b`)
	digits = regexp.MustCompile(`\d+(\.\d+)?`)
	spaces = regexp.MustCompile(`\s+`)
)

// normal is a text without what differs from call to call: numbers, ids, letter case.
func normal(s string) string {
	s = hexes.ReplaceAllString(strings.ToLower(s), "#")
	s = digits.ReplaceAllString(s, "#")
	return spaces.ReplaceAllString(s, " ")
}

// symptom is what failing runs with the same root have in common: what helped, whether anything was started again, and how the
// probe calls failed most often before it helped. Names of servers and tools and quoted values do not count.
func (v *view) symptom(o outcome) string {
	if o.class == verdict.TargetExited {
		return normal(o.note)
	}
	helped, until := "nothing", v.last
	if goods := v.all(history.Good, on(o.server)); len(goods) > 0 {
		helped = goods[0].Rung
		for _, r := range v.all(history.Rung, on(o.server)) {
			if r.Rung == helped {
				until = r.T
			}
		}
	}
	respawned := v.spawnsBefore(o.server, v.last) > v.spawnsBefore(o.server, v.zero)
	count := make(map[string]int)
	top := ""
	for _, c := range v.calls {
		if c.Server != o.server || c.Load != history.LoadProbe || c.good() || c.done && c.end > until {
			continue
		}
		text := v.outcome(c)
		if c.done && c.res.Err != nil {
			text = c.res.Err.Message
		}
		text = quoted.ReplaceAllString(text, `""`)
		for _, name := range []string{c.Nonce, c.Server, c.Tool} {
			if name != "" {
				text = strings.ReplaceAll(text, name, "_")
			}
		}
		text = state(normal(text))
		count[text]++
		if top == "" || count[text] > count[top] || count[text] == count[top] && text < top {
			top = text
		}
	}
	return v.clean(fmt.Sprintf("%s|respawned=%t|%s", helped, respawned, top))
}

// state takes the last clause off a wrapped error: "connection closed: client is closing: EOF" and "...: broken pipe" tell of one state
// that different deaths have left behind.
func state(text string) string {
	if i := strings.LastIndex(text, ": "); strings.Count(text, ": ") >= 2 {
		return text[:i]
	}
	return text
}
