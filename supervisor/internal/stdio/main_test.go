package stdio

import (
	"context"
	"errors"
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
const patience = 20 * time.Second

func start(t testing.TB, change func(*Config), args ...string) *Process {
	t.Helper()
	c := Config{
		Command: os.Args[0], Args: append([]string{"testserver"}, args...), Env: os.Environ(),
		MaxLine: 1 << 20, MaxQueue: 1 << 20, StderrTail: 4 << 10,
		WriteTimeout: time.Second, DiscoverTimeout: 5 * time.Second,
	}
	if change != nil {
		change(&c)
	}
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Second, nil) })
	return p
}

func connect(t testing.TB, p *Process, version string) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s, err := client.Connect(ctx, p, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { p.Stop(time.Second, nil); s.Close() })
	return s
}

func call(ctx context.Context, s *mcp.ClientSession, tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	if len(r.Content) == 0 {
		return "", fmt.Errorf("no content in %+v", r)
	}
	return r.Content[0].(*mcp.TextContent).Text, nil
}

func await(t testing.TB, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
}

var eras = map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func as[T error](err error) T {
	var target T
	errors.As(err, &target)
	return target
}
