package wire

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/internal/ready"
)

// lab is a real HTTP fake behind a real proxy child.
type lab struct {
	*world
	dir    *state.Dir
	direct string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	d, err := state.Create(filepath.Join(t.TempDir(), "srv"), script.Script{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "http-child", "--server", "srv", "--state", d.Path(), "--listen", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the fake: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	i, err := ready.Await(ctx, d.File(httpfake.ReadyFile), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), Config{
		API: startChild(t).api, Name: "srv", Listen: "127.0.0.1:0", Upstream: i.Address, Journal: d.JournalPath(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{&world{t: t, proxy: p, journal: d.JournalPath()}, d, i.Address}
}

// session is a go-sdk client with a connection pool of its own.
func (l *lab) session(address, version string) *mcp.ClientSession {
	l.t.Helper()
	tr := &http.Transport{}
	l.t.Cleanup(tr.CloseIdleConnections)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(l.t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: "http://" + address + httpfake.Path, HTTPClient: &http.Client{Transport: tr},
			DisableStandaloneSSE: true, MaxRetries: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { s.Close() })
	return s
}

func echo(ctx context.Context, s *mcp.ClientSession, nonce string) error {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"nonce": nonce}})
	if err != nil {
		return err
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got != nonce {
		return errors.New("answer of another call: " + got)
	}
	return nil
}

func TestIdleFlowOfAnMCPSessionVanishes(t *testing.T) {
	for era, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			l := newLab(t)
			old := l.session(l.proxy.Address(), version)
			if err := echo(t.Context(), old, "before"); err != nil {
				t.Fatal(err)
			}
			l.vanish()

			// when: a call goes out on the pooled connection, and the caller waits for it until bytes were swallowed
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() { failed <- echo(ctx, old, "lost") }()
			l.awaitWire(func(e journal.Entry) bool { return e.Bytes > 0 })
			select {
			case err := <-failed:
				t.Fatalf("the vanished flow told the client: %v", err)
			case <-time.After(silence):
			}
			cancel()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}

			// then: new connections are healthy, those of the same session too, and the server never saw a thing
			if err := echo(t.Context(), l.session(l.proxy.Address(), version), "fresh"); err != nil {
				t.Error(err)
			}
			if err := echo(t.Context(), old, "again"); err != nil {
				t.Error(err)
			}
			if err := echo(t.Context(), l.session(l.direct, version), "direct"); err != nil {
				t.Error(err)
			}
			l.mustHaveServed("before", "fresh", "again", "direct")
		})
	}
}

func (l *lab) awaitWire(match func(journal.Entry) bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		es, err := journal.Read(l.journal)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range es {
			if e.Kind == journal.Wire && e.Server == "srv" && match(e) {
				return
			}
		}
	}
	l.t.Fatal("the toxic swallowed nothing")
}

// mustHaveServed: these and no other calls were executed, in one life.
func (l *lab) mustHaveServed(want ...string) {
	l.t.Helper()
	es, err := journal.Read(l.journal)
	if err != nil {
		l.t.Fatal(err)
	}
	executed := map[string]int{}
	for _, e := range es {
		if e.Kind == journal.Executed {
			executed[e.Nonce]++
		}
		if e.Life > 1 || e.Kind == journal.Exit {
			l.t.Errorf("the server was not healthy all the time: %+v", e)
		}
	}
	for _, nonce := range want {
		if executed[nonce] != 1 {
			l.t.Errorf("%s was executed %d times", nonce, executed[nonce])
		}
		delete(executed, nonce)
	}
	if len(executed) > 0 {
		l.t.Errorf("executed as well: %v", executed)
	}
}

// BenchmarkCall is what one proxy hop costs a call.
func BenchmarkCall(b *testing.B) {
	l := newLab(b)
	for name, address := range map[string]string{"direct": l.direct, "proxied": l.proxy.Address()} {
		b.Run(name, func(b *testing.B) {
			s := l.session(address, "2026-07-28")
			for b.Loop() {
				if err := echo(b.Context(), s, "n"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
