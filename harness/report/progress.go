package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/unwedge/unwedge/harness/verdict"
)

// countEvery is the pace of lines that only count: often enough to see that it goes on.
const countEvery = 2 * time.Second

// Progress prints what happens while a run goes on: plain lines, one for every verdict that fails or proves nothing, and now and then a count.
// Where there is no terminal it is quiet: the report says it all. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer // nil is quiet
	last  time.Time
	shown int
}

// NewProgress prints to w if that is a terminal.
func NewProgress(w io.Writer, terminal bool) *Progress {
	if !terminal {
		w = nil
	}
	return &Progress{w: w, last: time.Now()}
}

// News takes one piece of news: done of total verdicts have fallen, v is the latest or nil, note is a line of its own or "".
func (p *Progress) News(done, total int, v *verdict.Verdict, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	now := time.Now()
	switch {
	case note != "":
		p.print(now, done, total, note)
	case v != nil && ((verdict.FailOn{}).Failed(*v) || !v.Result.Judged() && v.Result != verdict.NotApplicable):
		text := word(*v, verdict.FailOn{}) + " " + v.Name()
		if n := (Report{}).note(*v); n != "" {
			text += ": " + n
		}
		p.print(now, done, total, cut(text, DefaultWidth-len("[999/999] ")))
	case done > p.shown && now.Sub(p.last) >= countEvery:
		p.print(now, done, total, "done")
	}
}

func (p *Progress) print(now time.Time, done, total int, text string) {
	p.last, p.shown = now, done
	fmt.Fprintf(p.w, "[%d/%d] %s\n", done, total, text)
}
