package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/unwedge/unwedge/harness/verdict"
)

// Opts is how the text is to look.
type Opts struct {
	// Color uses ANSI colours; the caller knows whether it writes to a terminal and whether NO_COLOR is set.
	Color bool
	// Verbose shows every row and every story.
	Verbose bool
	// Width is the columns of a line; 0 is DefaultWidth. Columns that cannot be cut may make a line longer.
	Width int
	// NoHeader leaves the first line out, for callers that have printed it when the run began (see Header).
	NoHeader bool
}

// DefaultWidth is what fits where nobody says how wide it is: CI logs, mails.
const DefaultWidth = 100

// Header is the report's first line. Before the run it tells the estimate, after it how long it took.
func Header(r Report) string { return r.headline() }

// Text writes the report as a person reads it: what ran, what is worth a row, the stories of what failed, and one line that says it all.
func Text(w io.Writer, r Report, o Opts) error {
	if o.Width <= 0 {
		o.Width = DefaultWidth
	}
	p := &printer{w: bufio.NewWriter(w), r: r, o: o}
	if !o.NoHeader {
		p.line(r.headline())
	}
	p.line(r.healthy())
	p.table()
	p.stories()
	p.line(p.paint(r.conclusion(), strings.SplitN(r.conclusion(), " ", 2)[0]))
	return p.w.Flush()
}

type printer struct {
	w *bufio.Writer
	r Report
	o Opts
}

func (p *printer) line(s string) { fmt.Fprintln(p.w, s) }

// table shows the rows that are worth it, and one line about the others.
func (p *printer) table() {
	rows := p.r.rows()
	var shown []row
	rest := Report{FailOn: p.r.FailOn}
	for _, r := range rows {
		if p.o.Verbose || worth(r) {
			shown = append(shown, r)
		} else {
			rest.Verdicts = append(rest.Verdicts, r.v)
		}
	}
	if len(shown) > 0 {
		p.grid(shown)
	}
	if len(rest.Verdicts) > 0 {
		p.line(strings.Join(rest.tally().good(), ", ") + "; every row: -v")
	}
}

// heads are the table's columns. The last one takes what width is left; a note that does not fit goes below its row, whole.
var heads = []string{"FAULT", "VERDICT", "BACK AFTER", "BUDGET", "NOTE"}

func (p *printer) grid(rows []row) {
	cells := [][]string{heads}
	for _, r := range rows {
		cells = append(cells, []string{r.fault, r.verdict, r.back, r.budget, r.note})
	}
	widths := make([]int, len(heads))
	left := p.o.Width
	for c := range len(heads) - 1 {
		for _, line := range cells {
			widths[c] = max(widths[c], width(line[c]))
		}
		left -= widths[c] + 2
	}
	for n, line := range cells {
		var b strings.Builder
		note := line[len(line)-1]
		for c, cell := range line[:len(line)-1] {
			padded := cell + strings.Repeat(" ", widths[c]-width(cell)+2)
			if c == 1 && n > 0 {
				padded = p.paint(padded, cell)
			}
			b.WriteString(padded)
		}
		if width(note) <= left {
			b.WriteString(note)
			note = ""
		}
		p.line(strings.TrimRight(b.String(), " "))
		if note != "" {
			p.wrap("    ", note, 4)
		}
	}
}

func width(s string) int { return utf8.RuneCountInString(s) }

// cut shortens a text to n columns.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-3]), " ;:,") + "..."
}

// ANSI colours.
const (
	red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
	plain              = "\x1b[0m"
)

// paint colours a text by the verdict or final word that it stands for.
func (p *printer) paint(s, word string) string {
	if !p.o.Color {
		return s
	}
	color := green
	switch {
	case word == "INCONCLUSIVE" || word == string(verdict.Inconclusive):
		color = yellow
	case word == "FAIL" || word != "PASS" && word == strings.ToUpper(word):
		color = red
	case word == string(verdict.NotApplicable):
		color = ""
	}
	if color == "" {
		return s
	}
	return color + s + plain
}
