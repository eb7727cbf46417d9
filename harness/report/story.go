package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/unwedge/unwedge/harness/verdict"
)

// maxReports is how many public reports a story's head names.
const maxReports = 1

// indent is where the text of a story's line begins.
const indent = 11

// stories tells what happened to everything that failed. Of several verdicts with one cause the first tells it, unless all are asked for.
func (p *printer) stories() {
	for _, r := range p.r.rows() {
		cause, ok := verdict.CauseOf(p.r.Causes, r.v)
		told := ok && cause.Scenarios[0] != r.v.Name()
		if r.failed && (!told || p.o.Verbose) {
			p.story(r)
		}
	}
}

func (p *printer) story(r row) {
	for n, l := range storyOf(p.r, r) {
		switch {
		case n == 0:
			p.wrap("", p.paint(strings.SplitN(l.text, " ", 2)[0], "FAIL")+" "+strings.SplitN(l.text, " ", 2)[1], 2)
		case l.timed:
			p.wrap(fmt.Sprintf("%9s  ", since(l.at)), l.text, indent)
		default:
			p.wrap("  ", l.text, 4)
		}
	}
}

// told is one line of a story as it is printed.
type told struct {
	at    time.Duration
	timed bool
	text  string
}

// storyOf are the lines about one failed verdict: its head, its story and findings, what was expected, how to see it again.
func storyOf(r Report, w row) []told {
	v := w.v
	var out []told
	lines := func(ls []verdict.Line) {
		for _, l := range ls {
			out = append(out, told{l.At, true, l.Text})
		}
	}
	say := func(format string, args ...any) { out = append(out, told{text: fmt.Sprintf(format, args...)}) }
	if r.FailOn.ClassFails(v) {
		say("%s %s%s", strings.ToUpper(string(v.Result)), r.name(v), sameSymptom(v.Reports))
		lines(v.Story)
		if v.Expected != "" {
			say("expected: %s", v.Expected)
		}
	}
	for _, f := range v.Findings {
		kind := f.Kind
		if len(out) == 0 {
			say("%s %s%s", strings.ToUpper(kind), r.name(v), sameSymptom(v.Reports))
			say("%s", f.Note)
		} else {
			say("%s: %s", kind, f.Note)
		}
		lines(f.Evidence)
		say("expected: %s", f.Expected)
	}
	if len(out) > 0 {
		say("again: %s", r.again(v))
	}
	return out
}

func sameSymptom(reports []string) string {
	if len(reports) == 0 {
		return ""
	}
	text := " - same symptom: " + strings.Join(reports[:min(len(reports), maxReports)], ", ")
	if more := len(reports) - maxReports; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// since writes a time relative to the injection.
func since(d time.Duration) string {
	if d = d.Round(100 * time.Millisecond); d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// wrap prints a text behind a lead, broken between words; further lines begin at the given column.
func (p *printer) wrap(lead, text string, column int) {
	line := lead
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && width(line)+1+width(word) > p.o.Width {
			p.line(line)
			line, empty = strings.Repeat(" ", column), true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.line(line)
}
