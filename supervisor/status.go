package supervisor

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// State is where a server's owner is in its life. See the diagram in the package
// documentation.
type State string

const (
	StateConnecting State = "connecting" // an attempt is under way
	StateReady      State = "ready"      // there is a session
	StateBackoff    State = "backoff"    // a quick retry is scheduled
	StateParked     State = "parked"     // quick retries are used up; slow ones go on for ever, and on demand
	StateNeedsAuth  State = "needs-auth" // as parked, but it is credentials that are missing
	StateClosed     State = "closed"     // by Remove or Close; the only end there is
)

// Status is a snapshot of one server. No field holds a secret.
type Status struct {
	Name    string
	State   State
	Since   time.Time // when it entered the state
	Breaker string    // "closed", "open", "half-open"
	Pid     int       // of the running process; 0 without one
	Era     Era       // of the session, or the last known
	Tools   int       // advertised now

	Connects  int       // attempts begun since Add
	Retries   int       // failed attempts and unproven deaths in a row
	NextTry   time.Time // of the next scheduled attempt; zero if none is
	LastError string

	Counters
	StderrTail []string
}

// Counters count since Add.
type Counters struct {
	Calls     uint64 // calls made, resends included
	Failures  uint64 // of them failed, of any kind
	Timeouts  uint64
	Resends   uint64
	Probes    uint64 // liveness probes
	Noise     uint64 // lines on stdout that were no frames
	Sessions  uint64 // sessions that became ready
	ToolLists uint64 // tools/list rounds
}

// Tool is one tool of one server.
type Tool struct {
	Server string
	Tool   *mcp.Tool
}

// EventKind says what an Event is about.
type EventKind string

const (
	EventState     EventKind = "state"           // From -> To
	EventListed    EventKind = "tools-listed"    // the server's tools were listed (anew)
	EventWithdrawn EventKind = "tools-withdrawn" // the server's tools are advertised no more
	EventBreaker   EventKind = "breaker"         // From -> To
	EventNoise     EventKind = "noise"           // the first line of a session that was no frame
	EventReconnect EventKind = "reconnect"       // somebody asked for it: Detail says who
)

// Event is something that happened to one server.
type Event struct {
	Time   time.Time
	Server string
	Kind   EventKind
	From   string
	To     string
	Tools  int    // with EventListed and EventWithdrawn
	Detail string // free of secrets
	Lost   int    // events that this listener lost just before this one, because it was slow
}
