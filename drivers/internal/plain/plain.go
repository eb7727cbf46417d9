// Package plain is what our targets without a supervisor have in common: go-sdk sessions behind the driver protocol, one for
// each server, used in the plainest way. It is naive, and not broken: stderr is drained, every call has a deadline, and the end
// is bounded. What becomes of a session after an error is the drivers' own business; that is all in which they differ.
//
//	plain.go      sessions: connect all, list, close
//	call.go       one call on one session, and what its error says
//	transport.go  how a server is reached
//
// May import: harness/driver (the protocol) and go-sdk. A newcomer changes most often: nothing; what is missing here is missing
// on purpose.
package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// What is in force when the harness does not say: the same as the built-in supervisor's, so that the targets can be compared.
const (
	defaultCall    = 300 * time.Second
	defaultConnect = 60 * time.Second
	defaultGrace   = 5 * time.Second // go-sdk's own
	// closeSpare is what Close gets beyond go-sdk's ladder of three graces: EOF, SIGTERM, SIGKILL.
	closeSpare = 2 * time.Second
)

// Main runs a target on the given streams and returns its exit code; h is a handler made of c.
func Main(c *Client, h driver.Handler, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "the %s driver takes no arguments, got %q\n", c.name, args)
		return 2
	}
	return driver.Run(h, stdin, stdout, stderr)
}

// Client holds one session for each server. It is a [driver.Handler] but for Call. Its methods are safe for concurrent use.
type Client struct {
	name   string
	stderr io.Writer

	mu       sync.Mutex
	config   driver.Config
	sessions map[string]*mcp.ClientSession // of the servers whose connect succeeded
	closing  bool
}

// New makes a client. Failed connects are told on stderr.
func New(name string, stderr io.Writer) *Client {
	return &Client{name: name, stderr: stderr, sessions: map[string]*mcp.ClientSession{}}
}

// Configure connects to all servers at the same time. One that cannot be reached has no session.
func (c *Client) Configure(ctx context.Context, config driver.Config) (*driver.Info, *driver.Error) {
	c.mu.Lock()
	c.config = config
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.connectTimeout())
	defer cancel()
	failed := make(chan string, len(config.Servers))
	for _, s := range config.Servers {
		go func() {
			if _, err := c.Connect(ctx, s.Name); err != nil {
				failed <- err.Error()
				return
			}
			failed <- ""
		}()
	}
	for range config.Servers {
		select {
		case text := <-failed:
			if text != "" {
				fmt.Fprintln(c.stderr, text)
			}
		case <-ctx.Done(): // go-sdk's Connect does not always heed it
		}
	}
	return &driver.Info{Name: c.name, Version: buildinfo.Version}, nil
}

// Connect opens a session to a server and keeps it, within the connect timeout as far as go-sdk heeds it. The server must be of the
// configuration.
func (c *Client) Connect(ctx context.Context, server string) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, c.connectTimeout())
	defer cancel()
	s, ok := c.server(server)
	if !ok {
		return nil, fmt.Errorf("server %q: not configured", server)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "unwedge-" + c.name, Version: buildinfo.Version}, nil).
		Connect(ctx, c.transport(s), &mcp.ClientSessionOptions{ProtocolVersion: version(c.config.Era)})
	if err != nil {
		return nil, fmt.Errorf("server %q: connect: %w", server, err)
	}
	c.mu.Lock()
	late := ctx.Err() != nil || c.closing
	if !late {
		c.sessions[server] = session
	}
	c.mu.Unlock()
	if late {
		_ = session.Close()
		return nil, fmt.Errorf("server %q: %w", server, errLate)
	}
	return session, nil
}

var errLate = errors.New("connected too late")

func (c *Client) server(name string) (driver.Server, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.config.Servers {
		if s.Name == name {
			return s, true
		}
	}
	return driver.Server{}, false
}

// Session is the one that is kept for a server, or nil.
func (c *Client) Session(server string) *mcp.ClientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[server]
}

// Drop forgets the session of a server, if it has one, and closes it. go-sdk's Close can take its whole ladder, or for ever.
func (c *Client) Drop(server string) {
	c.mu.Lock()
	session := c.sessions[server]
	delete(c.sessions, server)
	c.mu.Unlock()
	if session != nil {
		_ = session.Close() // it can say anything after a fault; what counts is that it returned
	}
}

// version is what a revision is pinned by. Empty negotiates.
func version(era string) string {
	switch era {
	case "legacy":
		return "2025-11-25"
	case "modern":
		return "2026-07-28"
	}
	return ""
}

// List asks every server; one that does not answer has nothing to offer.
func (c *Client) List(ctx context.Context) ([]driver.Tool, *driver.Error) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout())
	defer cancel()
	c.mu.Lock()
	lists := make(chan []driver.Tool, len(c.sessions))
	n := len(c.sessions)
	for name, session := range c.sessions {
		go func() { lists <- list(ctx, name, session) }()
	}
	c.mu.Unlock()
	tools := []driver.Tool{}
	for range n {
		select {
		case l := <-lists:
			tools = append(tools, l...)
		case <-ctx.Done(): // go-sdk's calls do not always heed it
		}
	}
	return tools, nil
}

func list(ctx context.Context, name string, session *mcp.ClientSession) []driver.Tool {
	var tools []driver.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil
		}
		tools = append(tools, driver.Tool{Server: name, Name: tool.Name})
	}
	return tools
}

// Close closes all sessions at the same time. go-sdk's Close can block for ever, with a call in flight or a full pipe; the process
// ends all the same when Serve returns, which is as much as a naive client does for its servers.
func (c *Client) Close(context.Context) *driver.Error {
	c.mu.Lock()
	c.closing = true
	grace := 3*millis(c.config.Settings.StopGraceMS, defaultGrace) + closeSpare
	closed := make(chan struct{}, len(c.sessions))
	open := len(c.sessions)
	for _, session := range c.sessions {
		go func() {
			_ = session.Close()
			closed <- struct{}{}
		}()
	}
	c.mu.Unlock()
	late := time.NewTimer(grace)
	defer late.Stop()
	for ; open > 0; open-- {
		select {
		case <-closed:
		case <-late.C:
			return &driver.Error{Kind: driver.KindOther, Message: fmt.Sprintf("%d sessions were not closed within %v", open, grace)}
		}
	}
	return nil
}

// CallTimeout is the bound of a call whose caller has none.
func (c *Client) CallTimeout() time.Duration {
	return millis(c.settings().CallTimeoutMS, defaultCall)
}

func (c *Client) connectTimeout() time.Duration {
	return millis(c.settings().ConnectTimeoutMS, defaultConnect)
}

func (c *Client) settings() driver.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config.Settings
}

func millis(ms int64, otherwise time.Duration) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return otherwise
}
