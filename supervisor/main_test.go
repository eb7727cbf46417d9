package supervisor

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "testserver" {
		testserver.Main(os.Args[2:])
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of a -race build takes a second to exit
	os.Exit(m.Run())
}

// patience is for what must happen; nothing waits so long unless it is broken.
const patience = 30 * time.Second

// scaled are the defaults, made small.
func scaled() Settings {
	return Settings{
		CallTimeout: 5 * time.Second, ConnectTimeout: 10 * time.Second, ProbeTimeout: 500 * time.Millisecond,
		BackoffMin: 10 * time.Millisecond, BackoffMax: 80 * time.Millisecond, Retries: 5,
		ParkedRetry: time.Second, DemandInterval: 100 * time.Millisecond,
		Liveness: -1, StopGrace: 250 * time.Millisecond, Cooldown: 300 * time.Millisecond,
	}
}

// world is one supervisor with test servers.
type world struct {
	testing.TB
	*Supervisor
	ctx context.Context
}

func newWorld(t testing.TB, set Settings) *world {
	t.Helper()
	t.TempDir() // is removed after Close then, when no server writes into it any more
	s, err := New(Options{Settings: set, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(func() {
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &world{TB: t, Supervisor: s, ctx: ctx}
}

// serve adds the test server under a name and returns the folder with its records.
func (w *world) serve(name string, era Era, args ...string) string {
	w.Helper()
	dir := w.TempDir()
	err := w.Add(Server{
		Name: name, Command: os.Args[0], Era: era, Args: append([]string{"testserver", "dir=" + dir}, args...),
	})
	if err != nil {
		w.Fatal(err)
	}
	return dir
}

type m = map[string]any

// tool makes a call and returns the text of the result.
func (w *world) tool(server, tool string, args m) (string, error) {
	r, err := w.Call(w.ctx, server, tool, args)
	if err != nil {
		return "", err
	}
	if r.IsError {
		return "", fmt.Errorf("is error: %v", r.Content)
	}
	return r.Content[0].(*mcp.TextContent).Text, nil
}

// good makes a call that must succeed.
func (w *world) good(server string) {
	w.Helper()
	nonce := fmt.Sprint(time.Now().UnixNano())
	if got, err := w.tool(server, "echo", m{"nonce": nonce}); err != nil || got != nonce {
		w.Fatalf("echo: got %q, %v, want %q", got, err, nonce)
	}
}

// bad makes a call that must fail with an *Error.
func (w *world) bad(server, tool string, args m) *Error {
	w.Helper()
	got, err := w.tool(server, tool, args)
	e := as[*Error](err)
	if e == nil {
		w.Fatalf("%s %v: got %q, %v, want an *Error", tool, args, got, err)
	}
	return e
}

func (w *world) status(server string) Status {
	w.Helper()
	for _, s := range w.Status() {
		if s.Name == server {
			return s
		}
	}
	w.Fatalf("no status of %q", server)
	return Status{}
}

// until polls for something that has no event of its own.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s did not come true; status: %+v", what, w.Status())
		}
	}
}

func (w *world) awaitState(server string, s State) {
	w.Helper()
	w.until(fmt.Sprintf("%s is %s", server, s), func() bool { return w.status(server).State == s })
}

// eachEra runs a test in both eras.
func eachEra(t *testing.T, test func(t *testing.T, era Era)) {
	for _, era := range []Era{Legacy, Modern} {
		t.Run(string(era), func(t *testing.T) { test(t, era) })
	}
}
