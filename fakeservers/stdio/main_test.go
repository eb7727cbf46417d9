//go:build unix

package stdio_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/stdio"
)

// patience bounds every wait for an event; only a broken fake makes a test take that long.
const patience = 20 * time.Second

// The test binary is the fake too: it starts itself with the verbs of the helper program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "stdio":
			os.Exit(stdio.Main(os.Args[2:]))
		case stdio.LauncherVerb:
			os.Exit(stdio.Launcher(os.Args[2:]))
		case stdio.HolderVerb:
			os.Exit(stdio.Holder(os.Args[2:]))
		case stdio.SleeperVerb:
			os.Exit(stdio.Sleeper(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// life is one fake process and the client side of its pipes.
type life struct {
	t      *testing.T
	state  *state.Dir
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	stderr *os.File
	lines  *bufio.Reader
	ended  bool
}

func folder(t *testing.T, s script.Script) *state.Dir {
	t.Helper()
	d, err := state.Create(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rules is a script of rules.
func rules(r ...script.Rule) script.Script { return script.Script{Rules: r} }

// onCall does something when a tools/call is read.
func onCall(do ...script.Action) script.Rule {
	return script.Rule{When: script.When{Method: "tools/call"}, Do: do}
}

func when(w script.When, do ...script.Action) script.Rule { return script.Rule{When: w, Do: do} }

func exitWith(code int) script.Action { return script.Action{Exit: &code} }

func ms(n int) script.Duration { return script.Duration(time.Duration(n) * time.Millisecond) }

// spawn starts one more life of the server kept in d.
func spawn(t *testing.T, d *state.Dir, args ...string) *life {
	t.Helper()
	l := &life{t: t, state: d}
	var theirs [3]*os.File
	var err error
	if theirs[0], l.in, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if l.out, theirs[1], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if l.stderr, theirs[2], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	l.lines = bufio.NewReader(l.out)
	l.cmd = exec.Command(os.Args[0], append([]string{"stdio", "--server", "srv", "--state", d.Path()}, args...)...)
	// Targets scrub the environment. GORACE: a binary with the race detector would sleep a second at each exit.
	l.cmd.Env = []string{"UNWEDGE_PUBLIC_COLOUR=blue", "SECRET=hush", "GORACE=atexit_sleep_ms=0"}
	l.cmd.Stdin, l.cmd.Stdout, l.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		f.Close()
	}
	t.Cleanup(func() {
		if !l.ended {
			l.cmd.Process.Kill()
			l.cmd.Wait()
		}
		l.in.Close()
		l.out.Close()
		l.stderr.Close()
	})
	deadline := time.Now().Add(patience)
	l.out.SetReadDeadline(deadline)
	l.stderr.SetReadDeadline(deadline)
	return l
}

func (l *life) pid() int { return l.cmd.Process.Pid }

func (l *life) send(lines ...string) {
	l.t.Helper()
	for _, s := range lines {
		if _, err := l.in.WriteString(s + "\n"); err != nil {
			l.t.Fatalf("writing %s: %v", s, err)
		}
	}
}

// line reads one line that the fake wrote.
func (l *life) line() string {
	l.t.Helper()
	s, err := l.lines.ReadString('\n')
	if err != nil {
		l.t.Fatalf("reading (got %q): %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

// got is one message that the fake wrote.
type got struct {
	ID     any            `json:"id"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
	Result struct {
		Tools   []struct{ Name string }
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct {
		Code int
		Data any
	}
}

func (g got) text() string {
	if len(g.Result.Content) == 0 {
		return ""
	}
	return g.Result.Content[0].Text
}

func (l *life) read() got {
	l.t.Helper()
	s := l.line()
	var g got
	if err := json.Unmarshal([]byte(s), &g); err != nil {
		l.t.Fatalf("%q: %v", s, err)
	}
	return g
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
)

// handshake brings a legacy session up.
func (l *life) handshake() *life {
	l.t.Helper()
	l.send(initialize)
	if g := l.read(); g.Error != nil {
		l.t.Fatalf("initialize: %+v", g)
	}
	l.send(initialized)
	return l
}

func call(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func echo(id int) string { return call(id, "echo", fmt.Sprintf(`{"nonce":"n%d"}`, id)) }

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }

func listTools(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
}

// status waits for the process to end and says how.
func (l *life) status() syscall.WaitStatus {
	l.t.Helper()
	done := make(chan error, 1)
	go func() { done <- l.cmd.Wait() }()
	select {
	case err := <-done:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			l.t.Fatal(err)
		}
	case <-time.After(patience):
		l.cmd.Process.Kill()
		<-done
		l.t.Errorf("life %d did not end", l.pid())
	}
	l.ended = true
	return l.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// kill ends a life that is of no more use.
func (l *life) kill() {
	l.cmd.Process.Kill()
	l.status()
}

// rest reads stdout until its end.
func (l *life) rest() string {
	l.t.Helper()
	b, err := io.ReadAll(l.lines)
	if err != nil {
		l.t.Fatalf("stdout does not end: %v", err)
	}
	return string(b)
}

func entries(t *testing.T, d *state.Dir) []journal.Entry {
	t.Helper()
	es, err := journal.Read(d.JournalPath())
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// await waits until the journal holds an entry that matches.
func await(t *testing.T, d *state.Dir, what string, match func(journal.Entry) bool) journal.Entry {
	t.Helper()
	f := journal.Follow(d.JournalPath())
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		es, err := f.Poll()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if match(e) {
				return e
			}
		}
	}
	t.Fatalf("the journal never held %s: %+v", what, entries(t, d))
	return journal.Entry{}
}

func awaitKind(t *testing.T, d *state.Dir, k journal.Kind) journal.Entry {
	t.Helper()
	return await(t, d, string(k), func(e journal.Entry) bool { return e.Kind == k })
}

func count(t *testing.T, d *state.Dir, k journal.Kind, nonce string) int {
	t.Helper()
	n := 0
	for _, e := range entries(t, d) {
		if e.Kind == k && e.Nonce == nonce {
			n++
		}
	}
	return n
}
