// Package builtin is the built-in target: package supervisor behind the driver protocol. It only translates;
// what it does about faults is the supervisor's.
//
// May import: harness/driver (the protocol) and supervisor. A newcomer changes most often: settings, when the
// supervisor gets a new knob that the protocol can set.
package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/internal/buildinfo"
	"github.com/unwedge/unwedge/supervisor"
)

const (
	// configureWait bounds how long "configure" waits for first sessions, so that a list right after it is
	// not empty while every server is healthy. Servers that need longer join later.
	configureWait = 5 * time.Second
	// closeSpare is what Close gets beyond the supervisor's own ladder of EOF, SIGTERM and SIGKILL.
	closeSpare = 5 * time.Second
)

// Main runs the target on the given streams and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "the built-in driver takes no arguments, got %q\n", args)
		return 2
	}
	return driver.Run(&target{}, stdin, stdout, stderr)
}

type target struct {
	emit func(driver.Event)

	mu       sync.Mutex
	sup      *supervisor.Supervisor // nil before Configure
	settings supervisor.Settings
	closed   bool
	told     chan struct{} // closed when all events have been passed on
}

// EmitTo implements driver.EventHandler.
func (t *target) EmitTo(emit func(driver.Event)) { t.emit = emit }

// Configure adds the servers, which connect in the background, and waits for a moment until each has had its
// first attempt.
func (t *target) Configure(ctx context.Context, c driver.Config) (*driver.Info, *driver.Error) {
	o := supervisor.Options{
		Settings: settings(c.Settings),
		Client:   &mcp.Implementation{Name: "unwedge-builtin", Version: buildinfo.Version},
	}
	sup, err := supervisor.New(o)
	if err != nil {
		return nil, failure(err)
	}
	if !t.adopt(sup, o.Settings) {
		_ = sup.Close(ctx)
		return nil, &driver.Error{Kind: driver.KindClosed, Message: "the target is being closed"}
	}
	moved := t.follow(sup)
	for _, s := range c.Servers {
		if err := sup.Add(server(s, c.Era)); err != nil {
			return nil, failure(err)
		}
	}
	wait, cancel := context.WithTimeout(ctx, configureWait)
	defer cancel()
	for !tried(sup.Status()) {
		select {
		case <-moved:
			continue
		case <-wait.Done():
		}
		break
	}
	return &driver.Info{
		Name: "builtin", Version: buildinfo.Version,
		Supports: []string{"status", "reconnect", "events"},
	}, nil
}

func (t *target) adopt(sup *supervisor.Supervisor, s supervisor.Settings) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.sup, t.settings, t.told = sup, s, make(chan struct{})
	return true
}

// follow passes the supervisor's events on for as long as it lives. moved gets a token whenever there was one.
func (t *target) follow(sup *supervisor.Supervisor) (moved <-chan struct{}) {
	events, _ := sup.Events()
	tokens := make(chan struct{}, 1)
	go func() {
		defer close(t.told)
		for e := range events {
			t.emit(driver.Event{Server: e.Server, Kind: string(e.Kind), Detail: detail(e)})
			select {
			case tokens <- struct{}{}:
			default:
			}
		}
	}()
	return tokens
}

// tried says whether every server has had its first attempt.
func tried(all []supervisor.Status) bool {
	for _, s := range all {
		if s.State == supervisor.StateConnecting {
			return false
		}
	}
	return true
}

func detail(e supervisor.Event) string {
	var parts []string
	if e.From != "" || e.To != "" {
		parts = append(parts, e.From+" -> "+e.To)
	}
	if e.Kind == supervisor.EventListed || e.Kind == supervisor.EventWithdrawn {
		parts = append(parts, fmt.Sprintf("%d tools", e.Tools))
	}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if e.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%d events before this one were lost", e.Lost))
	}
	return strings.Join(parts, ": ")
}

// get gives the supervisor. Serve asks nothing before Configure has returned.
func (t *target) get() *supervisor.Supervisor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sup
}

// List implements driver.Handler: the registry, as it is now.
func (t *target) List(context.Context) ([]driver.Tool, *driver.Error) {
	tools := []driver.Tool{}
	for _, tool := range t.get().Tools() {
		tools = append(tools, driver.Tool{Server: tool.Server, Name: tool.Tool.Name})
	}
	return tools, nil
}

// Call implements driver.Handler.
func (t *target) Call(ctx context.Context, server, tool string, args json.RawMessage) (*driver.Result, *driver.Error) {
	var arguments any
	if len(args) > 0 {
		arguments = args
	}
	result, err := t.get().Call(ctx, server, tool, arguments)
	if err != nil {
		return nil, failure(err)
	}
	return &driver.Result{Text: text(result.Content), IsError: result.IsError}, nil
}

func text(content []mcp.Content) string {
	var b strings.Builder
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Status implements driver.StatusHandler.
func (t *target) Status(context.Context) ([]driver.ServerStatus, *driver.Error) {
	servers := []driver.ServerStatus{}
	for _, s := range t.get().Status() {
		servers = append(servers, driver.ServerStatus{Name: s.Name, State: string(s.State), Tools: s.Tools, Pid: s.Pid})
	}
	return servers, nil
}

// Reconnect implements driver.ReconnectHandler.
func (t *target) Reconnect(ctx context.Context, server string) *driver.Error {
	return failure(t.get().Reconnect(ctx, server))
}

// Close implements driver.Handler.
func (t *target) Close(ctx context.Context) *driver.Error {
	t.mu.Lock()
	t.closed = true
	sup, grace, told := t.sup, t.settings.StopGrace, t.told
	t.mu.Unlock()
	if sup == nil {
		return nil
	}
	if grace <= 0 {
		grace = supervisor.DefaultStopGrace
	}
	ctx, cancel := context.WithTimeout(ctx, 3*grace+closeSpare)
	defer cancel()
	err := sup.Close(ctx)
	select { // the supervisor ends its events when it is closed; the last ones are to be told too
	case <-told:
	case <-ctx.Done():
	}
	return failure(err)
}

// failure translates a supervisor's error; nil stays nil. The kinds have the same names on both sides, which
// a test holds true.
func failure(err error) *driver.Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*supervisor.Error](err)
	if !ok {
		return &driver.Error{Kind: driver.KindOther, Message: err.Error()}
	}
	d := &driver.Error{Kind: string(e.Kind), Message: err.Error(), RetryAfterMS: e.RetryAfter.Milliseconds()}
	switch {
	case e.Sent == supervisor.NotSent:
		d.Outcome = driver.OutcomeNotSent
	case e.Sent == supervisor.Answered:
		d.Outcome = driver.OutcomeAnswered
	case e.Sent == supervisor.OutcomeUnknown && e.Tool != "":
		d.Outcome = driver.OutcomeUnknown
	}
	return d
}
