// Package naive is the target with the usual first fix: a plain go-sdk client that reconnects when a call fails, and nothing
// more. When a call returns an error, whichever, the session gets the blame: it is closed, the server is connected once more, and
// the call is sent once more, as far as the caller's time allows; otherwise the next call reconnects. A server without a session
// is connected by the next call, once. What every better client has is missing: no watch on the process, no process group of its
// own, no breaker, no liveness, no backoff, no look at what kind of error it was or whether a tool may be called twice.
//
// It is no straw man. Each of its habits has been shipped, or proposed as the fix of a wedge: the resend without a question
// (QwenLM/qwen-code#8387, tya5/reyn#2600, zavora-ai/adk-rust#504), a new child for each error (NousResearch/hermes-agent#11202),
// a healthy server given up for one call that took too long (NousResearch/hermes-agent#88661), one lock a server that is held
// across the network (jaseci-labs/jac#5723). Where the field differs it takes the kinder way: callers that fail together share one
// reconnect, those who wait for it give up with their own deadline, and the tools are listed afresh every time.
//
// May import: drivers/internal/plain and harness/driver. A newcomer changes most often: nothing; what is missing here is missing
// on purpose.
package naive

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/drivers/internal/plain"
	"github.com/unwedge/unwedge/harness/driver"
)

// Main runs the target on the given streams and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := plain.New("naive", stderr)
	return plain.Main(c, &client{Client: c, links: map[string]*link{}}, args, stdin, stdout, stderr)
}

type client struct {
	*plain.Client

	mu    sync.Mutex
	links map[string]*link
}

// link is one server.
type link struct {
	turn   chan struct{}                     // full while somebody sees to the session, which may take all the time that go-sdk takes
	blamed atomic.Pointer[mcp.ClientSession] // the latest session on which a call failed
}

// Call is go-sdk's call, and once more on a fresh session when it fails.
func (c *client) Call(ctx context.Context, server, tool string, args json.RawMessage) (*driver.Result, *driver.Error) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout())
	defer cancel()
	session, err := c.fresh(ctx, server)
	if err != nil {
		return nil, plain.NoSession(server, err)
	}
	result, err := plain.Call(ctx, session, tool, args)
	if err == nil {
		return result, nil
	}
	c.blame(server, session)
	if ctx.Err() != nil {
		return nil, plain.Failure(err)
	}
	if session, err = c.fresh(ctx, server); err != nil {
		e := plain.NoSession(server, err)
		e.Outcome = driver.OutcomeUnknown // it was sent before
		return nil, e
	}
	if result, err = plain.Call(ctx, session, tool, args); err != nil {
		c.blame(server, session)
		return nil, plain.Failure(err)
	}
	return result, nil
}

// fresh is the session of a server: the one there is unless it has the blame for an error, else a new one. One caller at a time
// sees to that; the others find what he has made, or give up with their own deadline.
func (c *client) fresh(ctx context.Context, server string) (*mcp.ClientSession, error) {
	l := c.link(server)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	session := c.Session(server)
	if session != nil && session != l.blamed.Load() {
		return session, nil
	}
	c.Drop(server)
	return c.Connect(ctx, server)
}

func (c *client) link(server string) *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.links[server]
	if l == nil {
		l = &link{turn: make(chan struct{}, 1)}
		c.links[server] = l
	}
	return l
}

// blame marks a session to be replaced, unless it has been already.
func (c *client) blame(server string, session *mcp.ClientSession) {
	if c.Session(server) == session {
		c.link(server).blamed.Store(session)
	}
}
