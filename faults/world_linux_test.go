package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/internal/mono"
	"github.com/unwedge/unwedge/internal/proc"
)

// TestMain lets the test binary be the fake as well, so that nothing has to be built first.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "stdio":
			os.Exit(stdio.Main(os.Args[2:]))
		case stdio.SleeperVerb:
			os.Exit(stdio.Sleeper(os.Args[2:]))
		case stdio.HolderVerb:
			os.Exit(stdio.Holder(os.Args[2:]))
		case "http":
			os.Exit(httpfake.Main(os.Args[2:]))
		case "proxy":
			os.Exit(wire.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// bound is how long anything in these tests may take on a machine that does other work as well. Nothing waits for it to pass.
const bound = 30 * time.Second

// world is one fake stdio server, its lives as real processes, and a site for faults. The tests play the client.
type world struct {
	t     *testing.T
	ctx   context.Context
	dir   *state.Dir
	lives []*life
	since mono.Time
}

// life is one process of the fake, with our ends of its pipes.
type life struct {
	w      *world
	proc   faults.Process
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	out    *bufio.Reader
	ended  chan struct{}
	status syscall.WaitStatus // valid once ended is closed
	id     int
}

func newWorld(t *testing.T, rules []script.Rule) *world {
	t.Helper()
	dir, err := state.Create(t.TempDir(), script.Script{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: dir, since: mono.Now()}
	t.Cleanup(w.end)
	return w
}

// end kills whatever is left, what the fakes left behind on purpose included.
func (w *world) end() {
	for _, l := range w.lives {
		_ = proc.Signal(l.proc.Pid, l.proc.Start, syscall.SIGKILL)
		<-l.ended
	}
	entries, _ := journal.Read(w.dir.JournalPath())
	for _, e := range entries {
		if e.Kind == journal.Child {
			_ = proc.Signal(e.Child, e.ChildStart, syscall.SIGKILL)
		}
	}
}

// start begins a new life. Its pipes are ours: nobody reads what we do not read.
func (w *world) start() *life {
	w.t.Helper()
	inR, inW := w.pipe()
	outR, outW := w.pipe()
	errR, errW := w.pipe()
	cmd := exec.Command(os.Args[0], "stdio", "--server", "srv", "--state", w.dir.Path())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range []*os.File{inR, outW, errW} {
		f.Close()
	}
	l := &life{
		w: w, stdin: inW, stdout: outR, stderr: errR, out: bufio.NewReader(outR), ended: make(chan struct{}),
		proc: faults.Process{Pid: cmd.Process.Pid, Start: proc.StartTime(cmd.Process.Pid), Life: len(w.lives) + 1},
	}
	w.lives = append(w.lives, l)
	go func() {
		_ = cmd.Wait()
		l.status, _ = cmd.ProcessState.Sys().(syscall.WaitStatus)
		close(l.ended)
	}()
	return l
}

func (w *world) pipe() (r, wr *os.File) {
	r, wr, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { r.Close(); wr.Close() })
	return r, wr
}

// exitStatus waits for the end and says how it came: "exit 0", "signal killed".
func (l *life) exitStatus() string {
	l.w.t.Helper()
	select {
	case <-l.ended:
	case <-l.w.ctx.Done():
		l.w.t.Fatalf("%s did not end", l.proc)
	}
	if l.status.Signaled() {
		return "signal " + l.status.Signal().String()
	}
	return fmt.Sprintf("exit %d", l.status.ExitStatus())
}

// running reports whether the process has not ended.
func (l *life) running() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// request writes a request and does not wait for its answer.
func (l *life) request(method, params string) {
	l.w.t.Helper()
	l.id++
	l.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, l.id, method, params))
}

func (l *life) write(line string) {
	l.w.t.Helper()
	if _, err := io.WriteString(l.stdin, line+"\n"); err != nil {
		l.w.t.Fatalf("writing to %s: %v", l.proc, err)
	}
}

// handshake is the legacy one.
func (l *life) handshake() *life {
	l.w.t.Helper()
	l.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}`)
	l.answer()
	l.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return l
}

// call writes a call and does not wait for its answer.
func (l *life) call(tool, nonce string) {
	l.w.t.Helper()
	l.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"nonce":%q}}`, tool, nonce))
}

// line reads one line of stdout, its end included.
func (l *life) line() string {
	l.w.t.Helper()
	if err := l.stdout.SetReadDeadline(time.Now().Add(bound)); err != nil {
		l.w.t.Fatal(err)
	}
	s, err := l.out.ReadString('\n')
	if err != nil {
		l.w.t.Fatalf("reading from %s: %v after %q", l.proc, err, s)
	}
	return s
}

// answer reads the answer to the latest request and returns the text of its result.
func (l *life) answer() string {
	l.w.t.Helper()
	return l.parse(l.line())
}

// parse is the text of the answer in a line.
func (l *life) parse(line string) string {
	l.w.t.Helper()
	var m struct {
		ID     int
		Error  json.RawMessage
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != l.id || m.Error != nil {
		l.w.t.Fatalf("no answer to request %d: %q (%v)", l.id, line, err)
	}
	var b strings.Builder
	for _, c := range m.Result.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// baseline is a life that has served: the one that faults are meant for.
func (w *world) baseline() *life {
	w.t.Helper()
	l := w.start().handshake()
	l.call("echo", "base-1")
	if got := l.answer(); got != "base-1" {
		w.t.Fatalf("baseline answered %q", got)
	}
	return l
}

// serves fails the test unless the life serves.
func (l *life) serves(nonce string) {
	l.w.t.Helper()
	l.call("echo", nonce)
	if got := l.answer(); got != nonce {
		l.w.t.Fatalf("%s answered %q to %q", l.proc, got, nonce)
	}
}

// journalled returns the entries of a kind.
func (w *world) journalled(k journal.Kind) []journal.Entry {
	w.t.Helper()
	all, err := journal.Read(w.dir.JournalPath())
	if err != nil {
		w.t.Fatal(err)
	}
	var out []journal.Entry
	for _, e := range all {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// The site.

func (w *world) Server() string    { return "srv" }
func (w *world) Wire() faults.Wire { return nil }

func (w *world) Serving(context.Context) (faults.Process, error) {
	n, ok := w.dir.Serving()
	if !ok {
		return faults.Process{}, fmt.Errorf("no life has served")
	}
	return w.lives[n-1].proc, nil
}

func (w *world) Latest() (faults.Process, error) { return w.lives[len(w.lives)-1].proc, nil }

func (w *world) SetPhase(ctx context.Context, p script.Phase) error {
	if err := w.dir.SetPhase(p); err != nil {
		return err
	}
	for _, l := range w.lives {
		if !l.running() || proc.State(l.proc.Pid) == 'T' {
			continue
		}
		if err := control.Send(ctx, w.dir, l.proc.Life, control.Command{Phase: p}); err != nil && proc.Alive(l.proc.Pid, l.proc.Start) {
			return err
		}
	}
	return nil
}

func (w *world) Do(ctx context.Context, a script.Action) error {
	n, _ := w.dir.Serving()
	return control.Send(ctx, w.dir, n, control.Command{Do: &a})
}

func (w *world) Signal(p faults.Process, sig os.Signal) error {
	return proc.Signal(p.Pid, p.Start, sig.(syscall.Signal))
}

func (w *world) AwaitGone(ctx context.Context, p faults.Process) error {
	return proc.AwaitExit(ctx, p.Pid, p.Start)
}

func (w *world) AwaitStopped(ctx context.Context, p faults.Process) error {
	return poll(ctx, func() bool { return proc.State(p.Pid) == 'T' })
}

func (w *world) AwaitRunning(ctx context.Context, p faults.Process) error {
	return poll(ctx, func() bool { return proc.State(p.Pid) != 'T' })
}

func (w *world) AwaitEntry(ctx context.Context, match func(journal.Entry) bool) (found journal.Entry, err error) {
	err = poll(ctx, func() bool {
		all, _ := journal.Read(w.dir.JournalPath())
		for _, e := range all {
			if e.T >= w.since && match(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found, err
}

// poll waits for what has no event.
func poll(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// readN reads exactly n bytes of a pipe, before the bound.
func readN(t *testing.T, f *os.File, n int) []byte {
	t.Helper()
	if err := f.SetReadDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, f, int64(n)); err != nil {
		t.Fatalf("read %d of %d bytes: %v", b.Len(), n, err)
	}
	return b.Bytes()
}
