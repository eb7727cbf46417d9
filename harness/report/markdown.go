package report

import (
	"fmt"
	"strings"
)

// Markdown is the report as a page: the conclusion first, then every row, then the stories of what failed and how to see it again.
func Markdown(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# unwedge: %s\n\n", md(r.conclusion()))
	fmt.Fprintf(&b, "%s\n\n%s\n\n", md(r.headline()), md(r.healthy()))
	b.WriteString("| fault | verdict | back after | budget | note |\n| --- | --- | --- | --- | --- |\n")
	rows := r.rows()
	for _, w := range rows {
		verdict := w.verdict
		if w.failed {
			verdict = "**" + verdict + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", md(w.fault), verdict, w.back, w.budget, md(w.note))
	}
	if len(r.Causes) > 0 {
		b.WriteString("\n## Causes\n\n")
		for _, c := range r.Causes {
			fmt.Fprintf(&b, "* %s: %s", c.Result, md(strings.Join(c.Scenarios, ", ")))
			if c.Note != "" {
				fmt.Fprintf(&b, " - %s", md(c.Note))
			}
			b.WriteByte('\n')
		}
	}
	head := "\n## What failed\n"
	for _, w := range rows {
		if w.failed {
			b.WriteString(head)
			head = ""
			b.WriteString(section(r, w))
		}
	}
	return b.String()
}

// section is the story of one failed verdict. The story is quoted as it is: it may hold anything that a target says.
func section(r Report, w row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n", md(w.fault), w.verdict)
	if len(w.v.Reports) > 0 {
		fmt.Fprintf(&b, "Same symptom: %s\n\n", md(strings.Join(w.v.Reports, ", ")))
	}
	b.WriteString("```text\n")
	for n, l := range storyOf(r, w) {
		switch {
		case n == 0: // the heading says it
		case l.timed:
			fmt.Fprintf(&b, "%9s  %s\n", since(l.at), fenced(l.text))
		case strings.HasPrefix(l.text, "again: "):
		default:
			fmt.Fprintf(&b, "  %s\n", fenced(l.text))
		}
	}
	fmt.Fprintf(&b, "```\n\nAgain:\n\n```sh\n%s\n```\n", fenced(r.again(w.v)))
	if w.v.Folder != "" {
		fmt.Fprintf(&b, "\nHistory: `%s`\n", w.v.Folder)
	}
	return b.String()
}

// md makes a text harmless inside a table or a paragraph.
var mdEscapes = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "'", "\n", " ", "\r", " ")

func md(s string) string { return mdEscapes.Replace(s) }

// fenced keeps a text from ending the fence around it.
func fenced(s string) string { return strings.NewReplacer("```", "'''", "\n", " ").Replace(s) }
