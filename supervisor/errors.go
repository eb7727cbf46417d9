package supervisor

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the class of a failure (SUP-12). classify.go decides it, and nothing else does.
type Kind string

const (
	// KindTransport: the process, pipe or connection is gone or broken.
	KindTransport Kind = "transport"
	// KindSession: the server is there but does not know the session any more (HTTP 404).
	KindSession Kind = "session-gone"
	// KindAuth: the server wants credentials, or others (HTTP 401, 403).
	KindAuth Kind = "auth"
	// KindRate: the server asks for a pause (HTTP 429); see Error.RetryAfter.
	KindRate Kind = "rate-limited"
	// KindProtocol: the answer is not MCP.
	KindProtocol Kind = "protocol"
	// KindTool: the server answered with a JSON-RPC error. (A result with isError set is a
	// result, not an error.)
	KindTool Kind = "tool"
	// KindCancelled: the caller gave up.
	KindCancelled Kind = "cancelled"
	// KindTimeout: the call timeout or the caller's deadline passed.
	KindTimeout Kind = "timeout"
	// KindOpen: the circuit breaker rejected the call; see Error.RetryAfter.
	KindOpen Kind = "breaker-open"
	// KindNoSession: the server is not connected, or there is no server of that name.
	KindNoSession Kind = "no-session"
	// KindClosed: the supervisor, or this server's part of it, was closed.
	KindClosed Kind = "closed"
)

// CountsAsStrike is the default policy of which failures strike the breaker: those that say
// something about the health of the server. An application error is an answer; credentials,
// rate limits and cancellations are not cured by leaving the server alone for a minute; and a
// call that never reached the server says nothing about it (NousResearch/hermes-agent#11113).
//
// A timeout strikes only if the call had at least half of the call timeout, so that a caller
// with a deadline of milliseconds cannot lock the others out. What ends with the death of its
// session never strikes: it is answered by a new session.
func CountsAsStrike(k Kind) bool {
	switch k {
	case KindTransport, KindSession, KindProtocol, KindTimeout:
		return true
	}
	return false
}

// Sent says whether a failed call may have had an effect on the server.
type Sent uint8

const (
	// OutcomeUnknown: the request, or part of it, was handed over, and no answer came.
	OutcomeUnknown Sent = iota
	// NotSent: no byte of the request left this process. The call certainly had no effect.
	NotSent
	// Answered: the server answered, and the answer is the failure.
	Answered
)

// String is "unknown", "not-sent" or "answered".
func (s Sent) String() string {
	switch s {
	case NotSent:
		return "not-sent"
	case Answered:
		return "answered"
	}
	return "unknown"
}

// Error is what every failed operation of a Supervisor returns. Its text names server and
// tool, what happened, whether the call may have had an effect, and what happens next.
// All texts in it are free of configured secrets (SUP-13).
type Error struct {
	Server string
	Tool   string // empty if it was not a call
	Kind   Kind
	Sent   Sent

	What   string   // what happened: "process 4711 was killed by SIGKILL while the call was running"
	Exit   string   // of a dead process: "exit status 1", "killed by SIGKILL"
	Stderr []string // of a dead process: its last lines

	RetryAfter time.Duration // when it makes sense to try again; 0 = not known, or now
	Next       string        // what the supervisor does about it: "a new process is being started; try again"
	Cause      error         // may be nil
}

// Error says everything in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Server != "" {
		fmt.Fprintf(&b, "server %q: ", e.Server)
	}
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", e.Tool)
	}
	switch {
	case e.What != "":
		b.WriteString(e.What)
	case e.Cause != nil && e.Cause.Error() != "":
		b.WriteString(e.Cause.Error())
	default:
		b.WriteString(string(e.Kind))
	}
	if e.Tool != "" && e.Sent == OutcomeUnknown {
		b.WriteString("; it may have had an effect")
	}
	if e.Tool != "" && e.Sent == NotSent {
		b.WriteString("; it was not sent and had no effect")
	}
	if n := len(e.Stderr); n > 0 {
		fmt.Fprintf(&b, "; last stderr: %q", strings.Join(e.Stderr[max(0, n-stderrLinesInText):], " | "))
	}
	if e.Next != "" {
		b.WriteString("; " + e.Next)
	}
	return b.String()
}

// stderrLinesInText keeps an error readable in one line of a log; all kept lines are in the field.
const stderrLinesInText = 3

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, &Error{Kind: KindAuth}) a test of the kind alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Server == "" && t.Tool == "" && t.Cause == nil && t.What == ""
}
