package target

import (
	"io"
	"strings"
	"sync"
)

// tailKept is how much of a target's stderr is kept, in bytes: the end, where a stack trace is.
const tailKept = 64 << 10

// tail drains a stream for ever and keeps its end.
type tail struct {
	mu   sync.Mutex
	b    []byte
	cut  bool
	done chan struct{}
}

func newTail(r io.Reader) *tail {
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		_, _ = io.Copy(t, r) // ends with the stream, however
	}()
	return t
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - tailKept; over > 0 {
		t.b, t.cut = append(t.b[:0], t.b[over:]...), true
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "[...] " + string(t.b)
	}
	return string(t.b)
}

// lastLines is the end of a text for an error message: at most n lines, each clipped.
func lastLines(s string, n int) string {
	const width = 200 // a line that is longer is no message
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if len(l) > width {
			l = l[:width] + "..."
		}
		lines[i] = l
	}
	return strings.Join(lines, " | ")
}
