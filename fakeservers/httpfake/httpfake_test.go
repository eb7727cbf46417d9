package httpfake

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/internal/ready"
)

func TestHealthyInBothErasOnOneAddress(t *testing.T) {
	w := newWorld(t, script.Script{})
	eras(t, func(t *testing.T, version string) {
		s := w.client(version, nil)
		if got := s.InitializeResult().ProtocolVersion; got != version {
			t.Fatalf("negotiated %s", got)
		}
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
		}
		if want := slices.Sorted(slices.Values(tools.Names())); !slices.Equal(names, want) {
			t.Fatalf("tools %v, want %v", names, want)
		}
		nonce := "base-" + version
		w.echo(s, nonce)
		if life, ok := w.dir.Serving(); !ok || life != 1 {
			t.Errorf("serving life %d, %v: the answer was out before it was said who gives it", life, ok)
		}
		w.await(1, kind(journal.Replied, nonce))
		for _, k := range []journal.Kind{journal.Request, journal.Executed, journal.Replied} {
			if n := w.count(kind(k, nonce)); n != 1 {
				t.Errorf("%d entries %s", n, k)
			}
		}
		era := script.Modern
		if version == legacyVersion {
			era = script.Legacy
		}
		if w.count(func(e journal.Entry) bool { return e.Nonce == nonce && e.Era == string(era) }) != 1 {
			t.Errorf("era is not told in %s", w.story())
		}
	})
}

func TestEraLimitsWhatIsAnswered(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		w := newWorld(t, script.Script{Era: script.Legacy})
		s := w.client(modernVersion, nil) // falls back by itself
		if got := s.InitializeResult().ProtocolVersion; got != legacyVersion {
			t.Errorf("negotiated %s", got)
		}
		w.echo(s, "n1")
	})
	t.Run("modern", func(t *testing.T) {
		w := newWorld(t, script.Script{Era: script.Modern})
		_, err := w.connect(legacyVersion, nil)
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != mcp.CodeUnsupportedProtocolVersion {
			t.Errorf("initialize: %v", err)
		}
		w.echo(w.client(modernVersion, nil), "n1")
	})
}

func TestStatusWindowOpensAndClosesByPhase(t *testing.T) {
	w := newWorld(t, script.Script{Rules: []script.Rule{{
		Name: "window",
		When: script.When{On: script.OnHTTP, HTTP: "POST", Phase: script.Faulty},
		Do: []script.Action{{Status: &script.Status{
			Code: 401, Headers: map[string]string{"WWW-Authenticate": `Bearer error="invalid_token"`}, Body: "no\n",
		}}},
	}}})
	eras(t, func(t *testing.T, version string) {
		s := w.client(version, nil)
		w.echo(s, "before-"+version)
		w.phase(script.Faulty)
		if got, err := call(t.Context(), s, "effect", "in-"+version); err == nil {
			t.Fatalf("answered %q", got)
		}
		got, err := w.post("echo", "raw-"+version)
		if err != nil || got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" || got.body != "no\n" {
			t.Fatalf("%+v %v", got, err)
		}
		got, err = w.post("echo", "control-"+version, ControlHeader, "1")
		if err != nil || got.status != http.StatusOK || !strings.Contains(got.body, "control-"+version) {
			t.Fatalf("the control was not served: %+v %v", got, err)
		}
		w.phase(script.Healed)
		w.echo(w.client(version, nil), "after-"+version)
		if w.count(kind(journal.Executed, "in-"+version)) != 0 {
			t.Error("the refused call had its effect")
		}
		w.await(1, func(e journal.Entry) bool { return e.Kind == journal.HTTP && e.Code == 401 && e.Rule == "window" })
		if w.count(func(e journal.Entry) bool { return e.Nonce == "control-"+version && e.Role != RoleControl }) != 0 {
			t.Error("the control is not told apart")
		}
	})
}

func TestResetCutsTheConnection(t *testing.T) {
	w := newWorld(t, onTool("echo", script.Action{Effect: true}, script.Action{Reset: true}))
	_, err := w.post("echo", "n1")
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	if w.count(kind(journal.Executed, "n1")) != 1 {
		t.Error("the effect before it is missing")
	}
}

func TestHangAndDropNeverAnswerAndDisturbNobody(t *testing.T) {
	for name, a := range map[string]script.Action{"hang_http": {HangHTTP: true}, "drop": {Drop: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, onTool("effect", a))
			eras(t, func(t *testing.T, version string) {
				s := w.client(version, nil)
				ctx, cancel := context.WithCancel(t.Context())
				failed := make(chan error, 1)
				go func() {
					_, err := call(ctx, s, "effect", "never-"+version)
					failed <- err
				}()
				w.await(1, kind(journal.Rule, "never-"+version))
				w.echo(s, "meanwhile-"+version)
				cancel()
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestEffectBeforeTheAnswerRunsOnce(t *testing.T) {
	w := newWorld(t, onTool("effect", script.Action{Effect: true}, script.Action{Delay: script.Duration(time.Millisecond)}))
	eras(t, func(t *testing.T, version string) {
		got, err := call(t.Context(), w.client(version, nil), "effect", "once-"+version)
		if err != nil || got != "once-"+version {
			t.Fatalf("%q, %v", got, err)
		}
		if n := w.count(kind(journal.Executed, "once-"+version)); n != 1 {
			t.Errorf("executed %d times", n)
		}
	})
}

func TestScriptedReplies(t *testing.T) {
	w := newWorld(t, script.Script{Rules: []script.Rule{
		rule("echo", script.Action{Reply: &script.Reply{Text: "made up"}}),
		rule("add", script.Action{Reply: &script.Reply{IsError: "no"}}),
		rule("fail", script.Action{Reply: &script.Reply{Error: &script.RPCError{Code: -32602, Message: "bad"}}}),
		rule("env", script.Action{Reply: &script.Reply{
			Raw: `{"jsonrpc":"2.0","id":{{id}},"result":{"content":[{"type":"text","text":"raw"}]}}`,
		}}),
	}})
	eras(t, func(t *testing.T, version string) {
		s := w.client(version, nil)
		for tool, want := range map[string]string{"echo": "made up", "add": "no", "env": "raw"} {
			if got, err := call(t.Context(), s, tool, tool); err != nil || got != want {
				t.Errorf("%s: %q, %v", tool, got, err)
			}
		}
		_, err := call(t.Context(), s, "fail", "fail")
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code != -32602 {
			t.Errorf("fail: %v", err)
		}
		w.echo2(s)
	})
}

// echo2: whatever was replied, the session is alive.
func (w *world) echo2(s *mcp.ClientSession) {
	w.t.Helper()
	if _, err := s.ListTools(context.Background(), nil); err != nil {
		w.t.Errorf("the session did not survive: %v", err)
	}
}

func TestForgottenSessionsAreGoneAndTheirIdsStaySecret(t *testing.T) {
	w := newWorld(t, script.Script{})
	s := w.client(legacyVersion, nil)
	w.echo(s, "before")
	id := s.ID()
	w.order(control.Command{Do: &script.Action{ForgetSessions: true}})
	if _, err := call(t.Context(), s, "echo", "lost"); !errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("got %v", err)
	}
	again := w.client(legacyVersion, nil)
	w.echo(again, "after")
	again.Close()
	w.await(1, session("close", 2))
	for _, want := range []func(journal.Entry) bool{session("open", 1), session("forget", 1), session("open", 2)} {
		if w.count(want) != 1 {
			t.Errorf("sessions are not told in %s", w.story())
		}
	}
	if id == "" || strings.Contains(w.story(), id) {
		t.Errorf("the id %q of a session is in the journal, or it had none", id)
	}
}

func TestToolSetChangesAndTellsOnlyAsScripted(t *testing.T) {
	const burst = 20
	w := newWorld(t, script.Script{})
	for _, version := range []string{legacyVersion, modernVersion} {
		var told atomic.Int32
		s := w.client(version, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told.Add(1) },
		})
		w.awaitStream(version)
		w.order(control.Command{Do: &script.Action{SetTools: []string{"-env", "+extra-1"}}})
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil || !has(listed, "extra-1") || has(listed, "env") {
			t.Fatalf("%+v, %v", listed, err)
		}
		w.echo(s, "quiet-"+version) // go-sdk would have told of the change within 10 ms of it
		w.order(control.Command{Do: &script.Action{Notify: "notifications/tools/list_changed", NotifyTimes: burst}})
		for end := time.Now().Add(patience); told.Load() < burst && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if told.Load() != burst {
			t.Errorf("%s: told %d times", version, told.Load())
		}
		w.order(control.Command{Do: &script.Action{SetTools: []string{"+env", "-extra-1"}}})
		s.Close()
	}
}

// awaitStream waits until the stream for notifications is open: both clients open it beside, or after, Connect.
func (w *world) awaitStream(version string) {
	w.t.Helper()
	if version == legacyVersion {
		w.await(1, func(e journal.Entry) bool { return e.Kind == journal.HTTP && e.Detail == "GET" && e.Code == 200 })
		return
	}
	w.await(1, func(e journal.Entry) bool { return e.Kind == journal.Request && e.Method == "subscriptions/listen" })
}

func has(l *mcp.ListToolsResult, name string) bool {
	return slices.ContainsFunc(l.Tools, func(t *mcp.Tool) bool { return t.Name == name })
}

func TestLivesAreCountedAndComeBackOnTheSameAddress(t *testing.T) {
	three := 3
	w := newWorld(t, script.Script{Rules: []script.Rule{{
		Name: "third call of life 1",
		When: script.When{Method: "tools/call", Life: "1", Nth: "3"},
		Do:   []script.Action{{Healthy: true}, {Exit: &three}},
	}}})
	first := w.live
	for _, n := range []string{"a", "b", "c"} { // the third is answered before the end
		got, err := w.post("echo", n) // the third ends without a last chunk: an error, but the answer is there
		if !strings.Contains(got.body, n) {
			t.Fatalf("%s: %+v %v", n, got, err)
		}
	}
	var exit *exec.ExitError
	if err := first.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != three {
		t.Fatalf("ended with %v", err)
	}
	if _, err := w.connect(modernVersion, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a dead server: %v", err)
	}
	second := w.start(first.info.Address)
	if second.info.Life != 2 || second.info.Address != first.info.Address {
		t.Fatalf("%+v after %+v", second.info, first.info)
	}
	for _, n := range []string{"d", "e", "f", "g"} {
		if got, err := w.post("echo", n); err != nil || !strings.Contains(got.body, n) {
			t.Fatalf("%s: %+v %v", n, got, err)
		}
	}
}

func TestEndsInGoodOrder(t *testing.T) {
	ends := map[string]func(c *child) error{
		"stdin": func(c *child) error { return c.stdin.Close() },
		"int":   func(c *child) error { return c.cmd.Process.Signal(os.Interrupt) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, onTool("effect", script.Action{Drop: true}))
			w.client(legacyVersion, &mcp.ClientOptions{}) // with a stream that never ends by itself
			go w.post("effect", "hangs")
			w.await(1, kind(journal.Rule, "hangs"))
			if err := end(w.live); err != nil {
				t.Fatal(err)
			}
			if err := w.live.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if w.count(func(e journal.Entry) bool { return e.Kind == journal.Exit && e.Code == 0 }) != 1 {
				t.Errorf("no exit in %s", w.story())
			}
		})
	}
}

func TestControlsOwnFakeIsAlwaysHealed(t *testing.T) {
	w := newWorld(t, script.Script{Rules: []script.Rule{{
		When: script.When{Phase: script.Faulty, Method: "tools/call"}, Do: []script.Action{{Drop: true}},
	}}})
	w.live.stdin.Close()
	_ = w.live.cmd.Wait()
	if err := w.dir.SetPhase(script.Faulty); err != nil {
		t.Fatal(err)
	}
	w.start("127.0.0.1:0", "--role", RoleControl)
	w.echo(w.client(modernVersion, nil), "base-control")
	if _, ok := w.dir.Serving(); ok {
		t.Error("the control claims to serve the target")
	}
	err := control.Send(t.Context(), w.dir, w.live.info.Life, control.Command{Phase: script.Faulty})
	var refused *control.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("phase: %v", err)
	}
}

func TestWhatOnlyStdioCanIsRefused(t *testing.T) {
	d, err := state.Create(t.TempDir(), onTool("echo", script.Action{Deaf: true}))
	if err != nil {
		t.Fatal(err)
	}
	if code := run(config{dir: d, server: "srv", listen: "127.0.0.1:0"}); code != unusable {
		t.Errorf("script: exit code %d", code)
	}
	w := newWorld(t, script.Script{})
	for _, a := range []script.Action{{Deaf: true}, {Reset: true}} {
		var refused *control.RefusedError
		if err := control.Send(t.Context(), w.dir, 1, control.Command{Do: &a}); !errors.As(err, &refused) {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func onTool(tool string, do ...script.Action) script.Script {
	return script.Script{Rules: []script.Rule{rule(tool, do...)}}
}

func rule(tool string, do ...script.Action) script.Rule {
	return script.Rule{Name: "on " + tool, When: script.When{Tool: tool}, Do: do}
}

func session(what string, number int) func(journal.Entry) bool {
	return func(e journal.Entry) bool { return e.Kind == journal.Session && e.Detail == what && e.Code == number }
}

func TestPeopleRunAScriptFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	script := "rules:\n- when: {tool: echo}\n  do: [{reply: {text: hello}}]\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "user", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	address, ok := strings.CutPrefix(lines.Text(), "listening on http://")
	if !ok {
		t.Errorf("said %q", lines.Text())
	}
	w := &world{t: t, live: &child{info: ready.Info{Address: strings.TrimSuffix(address, Path)}}}
	if got, err := w.post("echo", "n"); err != nil || !strings.Contains(got.body, "hello") {
		t.Errorf("%+v, %v", got, err)
	}
	lines.Scan()
	folder := filepath.Dir(strings.TrimPrefix(lines.Text(), "journal: "))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left behind: %v", folder, err)
	}
}

func BenchmarkStart(b *testing.B) {
	d, err := state.Create(b.TempDir()+"/srv", script.Script{})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{t: b, dir: d}
	for b.Loop() {
		c := w.start("127.0.0.1:0")
		c.stdin.Close()
		_ = c.cmd.Wait()
	}
}
