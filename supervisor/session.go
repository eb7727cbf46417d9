package supervisor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is a link that is ready for calls, and what callers have found out about it. The owner makes and
// replaces it; callers hold on to the pointer only for one call.
type session struct {
	link  link
	since time.Time

	tools   atomic.Pointer[toolSet]
	changes *atomic.Uint64 // list_changed notifications so far, those during the handshake included

	inflight atomic.Int64
	answered atomic.Uint64 // calls that were answered, with whatever
	proven   atomic.Bool   // a call was answered with a result

	rxAtOpen atomic.Uint64 // rx when the breaker opened last

	silence struct {
		sync.Mutex
		timeouts int       // in a row, without a byte from the server
		since    time.Time // when the first of them began
		last     time.Time // when the last of them ended
		rx       uint64    // what had been received then
	}
}

// toolSet is what one tools/list said.
type toolSet struct {
	tools   []*mcp.Tool
	safe    map[string]bool // declared read-only or idempotent
	covered uint64          // changes when the list was asked for
}

func newToolSet(tools []*mcp.Tool, covered uint64) *toolSet {
	set := &toolSet{tools: tools, safe: map[string]bool{}, covered: covered}
	for _, t := range tools {
		if a := t.Annotations; a != nil && (a.ReadOnlyHint || a.IdempotentHint) {
			set.safe[t.Name] = true
		}
	}
	return set
}

// declares reports whether the server's present list says that calling the tool twice does no harm. A list
// that is known to be out of date says nothing (SUP-5).
func (s *session) declares(tool string) bool {
	set := s.tools.Load()
	return set != nil && set.covered == s.changes.Load() && set.safe[tool]
}

// good notes a call that was answered with a result.
func (s *session) good() {
	s.answered.Add(1)
	if !s.proven.Load() { // do not share the cache line without need
		s.proven.Store(true)
	}
}

// timedOut notes a call that got no answer and reports how many such calls there were in a row, and for how long the
// server has been silent since the first of them began. Each must have begun after the one before had ended: calls that
// run side by side count as one, so that a burst during one long pause is no proof of anything.
func (s *session) timedOut(began time.Time, rxBefore uint64) (row int, silent time.Duration) {
	q := &s.silence
	q.Lock()
	defer q.Unlock()
	now := time.Now()
	switch rx := s.link.rx(); {
	case rx != rxBefore: // it spoke during the call
		q.timeouts = 0
		return 0, 0
	case q.timeouts == 0 || rx != q.rx:
		q.timeouts, q.since, q.last, q.rx = 1, began, now, rx
	case !began.Before(q.last):
		q.timeouts++
		q.last = now
	}
	return q.timeouts, now.Sub(q.since)
}
