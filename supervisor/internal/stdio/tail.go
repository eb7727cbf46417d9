package stdio

import (
	"os"
	"strings"
	"sync"

	"github.com/unwedge/unwedge/supervisor/internal/redact"
)

// tail keeps the last bytes of the child's stderr. It always drains, so that a child that
// writes much is never blocked by us.
type tail struct {
	limit  int
	redact *redact.Redactor

	mu  sync.Mutex
	buf []byte
	cut bool // older bytes were dropped
}

// add appends p and drops what is too old.
func (t *tail) add(p []byte) {
	keep := t.limit + t.redact.Longest()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*keep { // amortised: move once per keep bytes
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keep:]...)
		t.cut = true
	}
}

// lines returns the kept lines, without secrets, oldest first.
func (t *tail) lines() []string {
	t.mu.Lock()
	raw, cut := t.buf, t.cut
	if keep := t.limit + t.redact.Longest(); len(raw) > keep {
		raw, cut = raw[len(raw)-keep:], true
	}
	text := t.redact.Tail(raw, cut, t.limit)
	t.mu.Unlock()

	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.ToValidUTF8(line, "?"), " \t\r\n")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// drain reads r until it ends, or until exited says that the child is dead and r has run empty: somebody
// else may hold the other end for ever.
func (t *tail) drain(r *os.File, exited <-chan struct{}) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		t.add(buf[:n])
		if err == nil {
			continue
		}
		select {
		case <-exited:
			readRest(r, func(p []byte) { t.add(p) })
		default:
		}
		return
	}
}
