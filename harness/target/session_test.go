//go:build unix

package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/keeper"
)

// TestMain lets the test binary be the keeper and the targets.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch verb := os.Args[1]; {
		case verb == "keeper":
			os.Exit(keeper.Main(os.Args[2:]))
		case strings.HasPrefix(verb, "driver-"):
			os.Exit(testDriver(verb))
		}
	}
	os.Exit(m.Run())
}

func testDriver(verb string) int {
	switch verb {
	case "driver-rubbish":
		fmt.Println("Welcome to my driver!")
		fmt.Println("{not json")
		fmt.Fprintln(os.Stderr, "cannot find module 'mcp'")
		return 3
	case "driver-silent":
		select {}
	case "driver-deaf":
		os.Stdin.Close()
		os.Stdout.Close()
		time.Sleep(time.Hour)
	}
	if err := driver.Serve(context.Background(), os.Stdin, os.Stdout, &handler{verb: verb}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type handler struct{ verb string }

func (h *handler) Configure(context.Context, driver.Config) (*driver.Info, *driver.Error) {
	switch h.verb {
	case "driver-refuses":
		return nil, &driver.Error{Message: "I have no such setting"}
	case "driver-old":
		return &driver.Info{Protocol: 99}, nil
	}
	return &driver.Info{Protocol: driver.Version, Name: "test", Supports: []string{"reconnect"}}, nil
}

func (h *handler) List(context.Context) ([]driver.Tool, *driver.Error) {
	return []driver.Tool{{Server: "srv", Name: "echo"}}, nil
}

func (h *handler) Call(ctx context.Context, server, tool string, args json.RawMessage) (*driver.Result, *driver.Error) {
	switch tool {
	case "env":
		return &driver.Result{Text: strings.Join(os.Environ(), "\n")}, nil
	case "die":
		fmt.Fprintln(os.Stderr, "panic: at the disco")
		os.Exit(4)
	case "hang":
		select {}
	}
	return &driver.Result{Text: server + " " + string(args)}, nil
}

func (h *handler) Close(context.Context) *driver.Error {
	if h.verb == "driver-stays" {
		select {}
	}
	return nil
}

func startIt(t *testing.T, verb string) (Session, error) {
	t.Helper()
	k, err := keeper.Start(t.Context(), []string{os.Args[0], "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	p := Profile{Name: "tt", Command: []string{"{{unwedge}}", verb}, Env: map[string]string{"MINE": "{{unwedge}}!"}}
	return Start(t.Context(), p, Env{Keeper: k, Programs: Programs{Unwedge: os.Args[0]}, Dir: t.TempDir()})
}

func TestSessionTalksToItsTarget(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HARNESS", "1")
	s, err := startIt(t, "driver-ok")
	if err != nil {
		t.Fatal(err)
	}
	r, derr := s.Call(t.Context(), "srv", "echo", json.RawMessage(`{"a":1}`), time.Second)
	if derr != nil || r.Text != `srv {"a":1}` {
		t.Fatal(r, derr)
	}
	if tools, derr := s.List(t.Context()); derr != nil || len(tools) != 1 {
		t.Fatal(tools, derr)
	}
	if !s.Supports("reconnect") || s.Supports("status") {
		t.Fatal("supports")
	}
	r, derr = s.Call(t.Context(), "srv", "env", nil, 0)
	if derr != nil || strings.Contains(r.Text, "SECRET") || !strings.Contains(r.Text, "MINE="+os.Args[0]+"!") ||
		!strings.Contains(r.Text, "XDG_CACHE_HOME=") {
		t.Fatal(r, derr)
	}
	if derr := s.Close(t.Context()); derr != nil {
		t.Fatal(derr)
	}
	if s.ExitStatus() != "exit status 0" {
		t.Fatal(s.ExitStatus())
	}
}

func TestTargetsThatDoNotStartSayWhy(t *testing.T) {
	for verb, want := range map[string][]string{
		"driver-rubbish": {"exit status 3", "Welcome to my driver!", "{not json", "cannot find module 'mcp'"},
		"driver-deaf":    {"closed its stdout or stdin"},
		"driver-refuses": {"configuring it: I have no such setting"},
		"driver-old":     {"speaks version 99 of the driver protocol"},
	} {
		t.Run(verb, func(t *testing.T) {
			_, err := startIt(t, verb)
			if !errors.Is(err, ErrStart) {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestSilentTargetIsBoundedByTheContext(t *testing.T) {
	k, err := keeper.Start(t.Context(), []string{os.Args[0], "keeper"})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p := Profile{Name: "tt", Command: []string{os.Args[0], "driver-silent"}}
	if _, err := Start(ctx, p, Env{Keeper: k, Dir: t.TempDir()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	p.Command = []string{"/no/such/program"}
	if _, err := Start(t.Context(), p, Env{Keeper: k, Dir: t.TempDir()}); !errors.Is(err, ErrStart) {
		t.Fatal(err)
	}
}

func TestTargetThatExitsInTheMiddle(t *testing.T) {
	s, err := startIt(t, "driver-ok")
	if err != nil {
		t.Fatal(err)
	}
	hung := make(chan *driver.Error)
	go func() {
		_, derr := s.Call(context.Background(), "srv", "hang", nil, 0)
		hung <- derr
	}()
	_, derr := s.Call(t.Context(), "srv", "die", nil, 0)
	if derr == nil || derr.Kind != KindTargetGone {
		t.Fatal(derr)
	}
	if derr := <-hung; derr == nil || derr.Kind != KindTargetGone {
		t.Fatal(derr)
	}
	<-s.Exited()
	if s.ExitStatus() != "exit status 4" || !strings.Contains(s.StderrTail(), "at the disco") {
		t.Fatal(s.ExitStatus(), s.StderrTail())
	}
	if derr := s.Close(t.Context()); derr != nil {
		t.Fatal(derr)
	}
}

func TestHungCallsAndHungCloses(t *testing.T) {
	s, err := startIt(t, "driver-stays")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, derr := s.Call(ctx, "srv", "hang", nil, 0); derr == nil || derr.Kind != KindNoAnswer {
		t.Fatal(derr)
	}
	if derr := s.Close(ctx); derr == nil || derr.Kind != KindNoAnswer {
		t.Fatal(derr)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
	if !strings.Contains(s.ExitStatus(), syscall.SIGKILL.String()) && s.ExitStatus() != "killed by SIGKILL" {
		t.Fatal(s.ExitStatus())
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
}
