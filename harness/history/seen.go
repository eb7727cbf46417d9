package history

import (
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/mono"
)

// Answer is what Seen.Method calls a client's answer to a request of the server's.
const Answer = "answer"

// Seen is something that can be counted in a history: messages that a server read from the target, or events that the target
// told. One of Method and Event is set.
type Seen struct {
	Server string
	Method string // JSON-RPC method, or Answer
	Event  string // kind of the target's event
}

// In says whether the event is one of those.
func (s Seen) In(e Event) bool {
	switch {
	case s.Event != "":
		return e.Kind == Target && e.Target != nil && e.Target.Server == s.Server && e.Target.Kind == s.Event
	case e.Kind != Journal || e.Entry == nil || e.Entry.Server != s.Server || e.Entry.Role != "" || e.Entry.Kind != journal.Request:
		return false
	case s.Method == Answer:
		return e.Entry.Method == "" && e.Entry.Detail == "response"
	}
	return e.Entry.Method == s.Method
}

// CountedFrom is the time from which a step counts: the end of the step before, the one with this index, that counted the same; with index
// -1 the first injection. Without either it is 0, which is before everything.
func CountedFrom(events []Event, before int) mono.Time {
	for _, e := range events {
		if before >= 0 && e.Kind == StepEnd && e.Step == before || before < 0 && e.Kind == Inject {
			return e.T
		}
	}
	return 0
}
