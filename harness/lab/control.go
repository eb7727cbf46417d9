package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/keeper"
)

// The control is a plain client without any supervision that starts and calls the same servers. When it succeeds the world was
// healthy, and whatever a target cannot do then is the target's matter.

// controlBound is how long one control may take. On a quiet machine it is tens of milliseconds.
const controlBound = 15 * time.Second

// Revisions that the control pins, one for each era.
var revisions = map[script.Era]string{
	script.Legacy: "2025-11-25",
	script.Modern: "2026-07-28",
}

// errWrongAnswer says that a control call got an answer that was not its own.
var errWrongAnswer = errors.New("the answer was not the call's own")

// controls asks every server once and records each; when says which of the two times it is.
func (l *lab) controls(ctx context.Context, when string) {
	for _, s := range l.servers {
		if s.transport == faults.Stdio {
			l.control(ctx, s, when, func(ctx context.Context) error {
				return l.stdioControl(ctx, s.name, s.control)
			})
			continue
		}
		l.control(ctx, s, when+", directly", func(ctx context.Context) error {
			return l.httpControl(ctx, s.direct)
		})
		if s.wire != nil {
			l.control(ctx, s, when+", through the proxy", func(ctx context.Context) error {
				return l.httpControl(ctx, s.wire.Address())
			})
		}
	}
}

func (l *lab) control(ctx context.Context, s *server, when string, ask func(context.Context) error) {
	if ctx.Err() != nil {
		return // interrupted: a control that was cut short says nothing
	}
	begun := now()
	err := ask(ctx)
	at := now()
	e := history.Event{T: at, Kind: history.Control, Server: s.name, OK: err == nil, D: int64(at.Sub(begun)), Detail: when}
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		e.Detail += ": " + err.Error()
	}
	l.rec.add(e)
	if err == nil && s.transport == faults.Stdio {
		l.rec.add(history.Event{T: at, Kind: history.Spawned, D: e.D})
	}
}

// stdioControl starts a fake of its own, frozen at healed, calls it and ends it.
func (l *lab) stdioControl(ctx context.Context, name string, dir *state.Dir) error {
	ctx, cancel := context.WithTimeout(ctx, controlBound)
	defer cancel()
	in, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		in.Close()
		stdin.Close()
		return err
	}
	argv := l.plan.Programs.Small("stdio", "--server", name, "--state", dir.Path(), "--role", stdio.RoleControl)
	p, err := l.keeper.Spawn(ctx, keeper.Spec{Argv: argv, Stdin: in, Stdout: out, Stderr: l.stderr})
	in.Close()
	out.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		return err
	}
	defer func() {
		stdin.Close() // the fake ends with its stdin, and the session with its pipes
		stdout.Close()
		select {
		case <-p.Done():
		case <-ctx.Done():
		}
	}()
	return l.ask(ctx, &mcp.IOTransport{Reader: stdout, Writer: stdin})
}

// httpControl connects anew, through whatever listens at address, and calls.
func (l *lab) httpControl(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, controlBound)
	defer cancel()
	base := &http.Transport{DisableKeepAlives: true}
	defer base.CloseIdleConnections()
	return l.ask(ctx, &mcp.StreamableClientTransport{
		Endpoint:             "http://" + address + httpfake.Path,
		HTTPClient:           &http.Client{Transport: marked{base}, Timeout: controlBound},
		MaxRetries:           -1,
		DisableStandaloneSSE: true,
	})
}

// marked tells the fake that the control is asking.
type marked struct{ next http.RoundTripper }

func (m marked) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(httpfake.ControlHeader, "1")
	return m.next.RoundTrip(r)
}

// ask makes one session and one call. go-sdk's Connect, CallTool and Close do not always honour a context, so the wait is bounded
// here; whatever hangs ends with the pipes or the connection.
func (l *lab) ask(ctx context.Context, t mcp.Transport) error {
	done := make(chan error, 1)
	go func() { done <- l.askOnce(ctx, t) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
}

func (l *lab) askOnce(ctx context.Context, t mcp.Transport) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "unwedge-control", Version: "1"}, nil)
	s, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: revisions[l.plan.Era]})
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = s.Close() }()
	nonce := fmt.Sprintf("control-%s-%d", l.calls.run, l.calls.nextID.Add(1))
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: toolEcho, Arguments: map[string]any{"nonce": nonce}})
	if err != nil {
		return fmt.Errorf("calling: %w", err)
	}
	if len(r.Content) == 1 {
		if c, ok := r.Content[0].(*mcp.TextContent); ok && !r.IsError && c.Text == nonce {
			return nil
		}
	}
	return errWrongAnswer
}
