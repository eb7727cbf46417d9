// Package bare is the deliberately naive target: a plain go-sdk client behind the driver protocol, with no
// supervisor at all. It connects to each server once, when it is configured, and never again. It shows what
// every fault does to a client that takes no care, and that the harness sees it; so it must be naive, and not
// broken: stderr is drained, every call has a deadline.
//
// May import: harness/driver (the protocol) and go-sdk. A newcomer changes most often: nothing; what is
// missing here is missing on purpose.
package bare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// What is in force when the harness does not say: the same as the built-in supervisor's, so that the two can
// be compared.
const (
	defaultCall    = 300 * time.Second
	defaultConnect = 60 * time.Second
	defaultGrace   = 5 * time.Second // go-sdk's own
	// closeSpare is what Close gets beyond go-sdk's ladder of three graces: EOF, SIGTERM, SIGKILL.
	closeSpare = 2 * time.Second
)

// Main runs the target on the given streams and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "the bare driver takes no arguments, got %q\n", args)
		return 2
	}
	return driver.Run(&client{stderr: stderr, sessions: map[string]*mcp.ClientSession{}}, stdin, stdout, stderr)
}

type client struct {
	stderr io.Writer

	mu       sync.Mutex
	config   driver.Config
	sessions map[string]*mcp.ClientSession // of the servers whose connect succeeded
	closing  bool
}

// Configure connects to all servers at the same time. One that cannot be reached has no session, for good.
func (c *client) Configure(ctx context.Context, config driver.Config) (*driver.Info, *driver.Error) {
	c.mu.Lock()
	c.config = config
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, millis(config.Settings.ConnectTimeoutMS, defaultConnect))
	defer cancel()
	failed := make(chan string, len(config.Servers))
	for _, s := range config.Servers {
		go func() {
			if err := c.connect(ctx, s); err != nil {
				failed <- fmt.Sprintf("server %q: connect: %v", s.Name, err)
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
	return &driver.Info{Name: "bare", Version: buildinfo.Version}, nil
}

func (c *client) connect(ctx context.Context, s driver.Server) error {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "unwedge-bare", Version: buildinfo.Version}, nil).
		Connect(ctx, c.transport(s), &mcp.ClientSessionOptions{ProtocolVersion: version(c.config.Era)})
	if err != nil {
		return err
	}
	c.mu.Lock()
	late := ctx.Err() != nil || c.closing
	if !late {
		c.sessions[s.Name] = session
	}
	c.mu.Unlock()
	if late {
		_ = session.Close()
		return errors.New("connected too late")
	}
	return nil
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
func (c *client) List(ctx context.Context) ([]driver.Tool, *driver.Error) {
	c.mu.Lock()
	ctx, cancel := context.WithTimeout(ctx, millis(c.config.Settings.CallTimeoutMS, defaultCall))
	defer cancel()
	lists := make(chan []driver.Tool, len(c.sessions))
	n := 0
	for name, session := range c.sessions {
		n++
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

// Call is go-sdk's call and nothing else.
func (c *client) Call(ctx context.Context, server, tool string, args json.RawMessage) (*driver.Result, *driver.Error) {
	c.mu.Lock()
	session := c.sessions[server]
	timeout := millis(c.config.Settings.CallTimeoutMS, defaultCall)
	c.mu.Unlock()
	if session == nil {
		return nil, &driver.Error{
			Kind: driver.KindNoSession, Outcome: driver.OutcomeNotSent,
			Message: fmt.Sprintf("server %q: no session", server),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	params := &mcp.CallToolParams{Name: tool}
	if len(args) > 0 {
		params.Arguments = args
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, failure(err)
	}
	return &driver.Result{Text: text(result.Content), IsError: result.IsError}, nil
}

// failure says what go-sdk says. Whether the call had an effect it does not say.
func failure(err error) *driver.Error {
	e := &driver.Error{Kind: driver.KindOther, Message: err.Error(), Outcome: driver.OutcomeUnknown}
	_, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = driver.KindTimeout
	case errors.Is(err, context.Canceled):
		e.Kind = driver.KindCancelled
	case errors.Is(err, mcp.ErrSessionMissing):
		e.Kind = driver.KindSession
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = driver.KindTransport
	case answered:
		e.Kind = driver.KindTool
	}
	return e
}

func text(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "")
}

// Close closes all sessions at the same time. go-sdk's Close can block for ever, with a call in flight or a
// full pipe; the process ends all the same when Serve returns, which is as much as a naive client does for
// its servers.
func (c *client) Close(context.Context) *driver.Error {
	c.mu.Lock()
	c.closing = true
	grace := 3*millis(c.config.Settings.StopGraceMS, defaultGrace) + closeSpare
	closed := make(chan struct{}, len(c.sessions))
	open := len(c.sessions)
	for _, session := range c.sessions {
		go func() {
			_ = session.Close() // it can say anything after a fault; what counts is that it returned
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

func millis(ms int64, otherwise time.Duration) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return otherwise
}
