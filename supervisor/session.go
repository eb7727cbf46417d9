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
		last     time.Time // when the last of them fell
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

// timedOut notes a call that got no answer and reports how many such calls there were in a row: each began
// after the one before had ended, and the server sent nothing meanwhile. Calls that run side by side count
// as one, so that a burst during one long pause is no proof of anything.
func (s *session) timedOut(began time.Time, rxBefore uint64) int {
	s.silence.Lock()
	defer s.silence.Unlock()
	if s.link.rx() != rxBefore {
		s.silence.timeouts = 0
		return 0
	}
	if s.silence.timeouts == 0 || !began.Before(s.silence.last) {
		s.silence.timeouts++
		s.silence.last = time.Now()
	}
	return s.silence.timeouts
}
