package supervisor

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

// link is one session with one server, from a successful handshake to its death. The owner's state machine
// knows nothing else of transports, so that it can be tested with a fake one, in fake time.
//
// No method blocks, except call and list, which end with their context or with the link, and stop, which
// is bounded, and must be called in the end.
type link interface {
	call(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error)
	list(ctx context.Context) ([]*mcp.Tool, error)

	// withdraw takes back a call that waits to be written; false if it may have been written.
	withdraw(m *sent.Mark) bool
	// probe asks for a sign of life. The answer is seen in rx.
	probe()
	// rx counts what was received, of whatever kind. It never goes down.
	rx() uint64

	// dead is closed when the link is of no use any more; death says why.
	dead() <-chan struct{}
	death() death
	// doomed reports that dead is closed, or will be within moments: nothing may be sent.
	doomed() bool
	// frozen reports whether the server is known to be unable to answer (a stopped process).
	frozen() bool

	// abort ends the link at once: everybody who waits for an answer is let go.
	abort(what string)
	// retire is the polite abort: the same for those who wait, but the server may still be told goodbye.
	retire(what string)
	// stop ends the link and whatever runs behind it, and returns when that is gone. It climbs its ladder
	// in steps of grace; hurry skips to the end.
	stop(grace time.Duration, hurry <-chan struct{})

	facts() facts
}

// facts are what can be shown of a link.
type facts struct {
	pid    int
	era    Era
	noise  uint64
	stderr []string
}

// death says why a link is of no use any more.
type death struct {
	what string // "process 4711 was killed by SIGKILL"
	exit string // of a process that ended: "was killed by SIGKILL"
	kind Kind   // KindTransport, or KindSession
}

// dialer makes links to one server. It is used by one attempt at a time.
type dialer interface {
	// dial connects. It returns by the end of ctx, give or take the time to end what it had started. On
	// failure the link may be set too: it is to be stopped before the next attempt.
	//
	// changed is called, from any goroutine, when the server says that its tools changed.
	dial(ctx context.Context, changed func()) (link, error)
	// again reports whether the failed attempt has shown that another kind of handshake should be tried
	// next, so that callers had better wait for that.
	again() bool
	// next says what happens after the death of a link: "a new process is being started".
	next() string
}
