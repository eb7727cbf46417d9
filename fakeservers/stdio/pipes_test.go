//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/internal/proc"
)

func alive(l *life) bool { return proc.Alive(l.pid(), 0) }

func TestCloseStdinGivesTheWriterEPIPE(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{CloseStdin: true})))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	if g := l.read(); g.text() != "n1" {
		t.Fatalf("%+v", g)
	}
	if _, err := l.in.WriteString(echo(2) + "\n"); !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("writing to a closed stdin: %v", err)
	}
	if !alive(l) {
		t.Fatal("it must live on")
	}
}

func TestCloseStdoutGivesTheReaderEOF(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{CloseStdout: true})))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	if out := l.rest(); out != "" {
		t.Fatalf("got %q", out)
	}
	l.send(echo(2))
	await(t, d, "the next request", func(e journal.Entry) bool { return e.Nonce == "n2" })
	if !alive(l) {
		t.Fatal("it must live on")
	}
}

// blocked writes until the pipe is full.
func blocked(t *testing.T, l *life) {
	t.Helper()
	if err := l.in.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := l.in.Write(make([]byte, 64<<10)); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("somebody reads stdin")
}

func TestDeafDoesNotReadAndStaysThroughEOF(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{Deaf: true})))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	if g := l.read(); g.text() != "n1" {
		t.Fatalf("%+v", g)
	}
	blocked(t, l)
	l.in.Close()
	if !alive(l) {
		t.Fatal("it must live on")
	}
	l.cmd.Process.Signal(syscall.SIGTERM)
	if s := l.status(); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Fatalf("%+v", s)
	}
	for _, e := range entries(t, d) {
		if e.Kind == journal.EOF || e.Nonce == "n2" {
			t.Errorf("it read on: %+v", e)
		}
	}
}

func TestHangReadsOnAndAnswersNothing(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{Hang: true})))
	l := spawn(t, d).handshake()
	l.send(echo(1), ping(2), echo(3))
	await(t, d, "the third request", func(e journal.Entry) bool { return e.Kind == journal.Request && e.Nonce == "n3" })
	l.in.Close()
	if s := l.status(); !s.Exited() || s.ExitStatus() != 0 {
		t.Fatalf("%+v", s)
	}
	if out := l.rest(); out != "" {
		t.Fatalf("it answered %q", out)
	}
}

func TestAGrandchildHoldsThePipes(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{HoldPipes: script.Duration(time.Minute)}, exitWith(0))))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	if s := l.status(); !s.Exited() {
		t.Fatalf("%+v", s)
	}
	e := awaitKind(t, d, journal.Child)
	if e.Detail != "pipe-holder" || !proc.Alive(e.Child, e.ChildStart) || e.ChildStart == 0 {
		t.Fatalf("%+v", e)
	}
	if i, err := proc.Read(e.Child); err != nil || i.Session != e.Child {
		t.Errorf("not in a session of its own: %+v %v", i, err)
	}
	for _, pipe := range []*os.File{l.out, l.stderr} {
		pipe.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := pipe.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the pipe is not held: %v", err)
		}
	}
	if err := proc.Signal(e.Child, e.ChildStart, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.out.SetReadDeadline(time.Now().Add(patience))
	if _, err := l.out.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the grandchild: %v", err)
	}
}

func TestTheStdinHolderJournalsLateBytes(t *testing.T) {
	d := folder(t, rules(
		when(script.When{On: script.OnSpawn}, script.Action{HoldStdin: true}),
		when(script.When{Tool: "effect"}, script.Action{Deaf: true}, script.Action{Delay: ms(5)}, script.Action{Signal: "KILL"}),
	))
	l := spawn(t, d).handshake()
	holder := awaitKind(t, d, journal.Child)
	if holder.Detail != "stdin-holder" || !proc.Alive(holder.Child, holder.ChildStart) {
		t.Fatalf("%+v", holder)
	}
	// While the fake lives the holder must not take a byte from it.
	for i := range 20 {
		l.send(echo(i + 1))
		l.read()
	}
	l.send(call(99, "effect", `{"nonce":"x"}`))
	if s := l.status(); !s.Signaled() {
		t.Fatalf("%+v", s)
	}
	late := func(n int) journal.Entry {
		return await(t, d, "late bytes", func(e journal.Entry) bool { return e.Kind == journal.Late && e.Bytes == n })
	}
	if _, err := l.in.WriteString("ten bytes!"); err != nil {
		t.Fatalf("the dead server's stdin is not held: %v", err)
	}
	if e := late(10); e.Life != 1 || e.Pid != l.pid() || e.Server != "srv" {
		t.Fatalf("%+v", e)
	}
	if _, err := l.in.WriteString("and four"); err != nil {
		t.Fatal(err)
	}
	if e := late(8); e.Detail != "" {
		t.Errorf("written after the death: %+v", e)
	}
	l.in.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := proc.AwaitExit(ctx, holder.Child, holder.ChildStart); err != nil {
		t.Fatalf("the holder outlives its pipe: %v", err)
	}
}

func TestBytesThatLayUnreadAtDeathAreMarked(t *testing.T) {
	d := folder(t, rules(
		when(script.When{On: script.OnSpawn}, script.Action{HoldStdin: true}),
		onCall(script.Action{Deaf: true}),
	))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	l.read()
	l.send("seven..")
	l.kill()
	e := awaitKind(t, d, journal.Late)
	if e.Bytes != 8 || e.Detail != journal.LateUnread {
		t.Fatalf("%+v", e)
	}
}

func TestIgnoringEOFAndTERM(t *testing.T) {
	d := folder(t, rules(
		when(script.When{On: script.OnEOF}, script.Action{IgnoreEOF: true}),
		when(script.When{On: script.OnSpawn}, script.Action{IgnoreTERM: true}),
	))
	l := spawn(t, d).handshake()
	l.in.Close()
	awaitKind(t, d, journal.EOF)
	l.cmd.Process.Signal(syscall.SIGTERM)
	if e := awaitKind(t, d, journal.Signal); e.Detail != "SIGTERM" {
		t.Fatalf("%+v", e)
	}
	l.cmd.Process.Signal(syscall.SIGTERM)
	n := 0
	await(t, d, "a second signal", func(e journal.Entry) bool {
		if e.Kind == journal.Signal {
			n++
		}
		return n == 2
	})
	if !alive(l) {
		t.Fatal("it must live on")
	}
	l.kill()
}

func TestAHealthyServerEndsByEOFOrTERM(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	l.in.Close()
	if s := l.status(); !s.Exited() || s.ExitStatus() != 0 {
		t.Fatalf("at end of file: %+v", s)
	}
	l = spawn(t, d).handshake()
	l.cmd.Process.Signal(syscall.SIGTERM)
	if s := l.status(); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Fatalf("at SIGTERM: %+v", s)
	}
	l = spawn(t, d).handshake()
	l.out.Close()
	l.send(echo(1))
	if s := l.status(); !s.Exited() || s.ExitStatus() != 0 {
		t.Fatalf("with nobody reading: %+v", s)
	}
}

func TestEndOfFileGivesUpWhatWaitsAndAnswersWhatCanBe(t *testing.T) {
	d := folder(t, rules(when(script.When{Tool: "add"}, script.Action{Delay: script.Duration(time.Hour)})))
	l := spawn(t, d).handshake()
	l.send(call(1, "sleep", `{"ms":600000}`), call(2, "add", `{"a":1,"b":2}`))
	for i := range 20 {
		l.send(echo(i + 10))
	}
	l.in.Close()
	out := l.rest()
	if n := strings.Count(out, `"text":"n`); n != 20 || strings.Count(out, "\n") != 20 {
		t.Errorf("%d answers: %s", n, out)
	}
	if s := l.status(); !s.Exited() || s.ExitStatus() != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestFillAndWrite(t *testing.T) {
	const size = 300_000 // more than a pipe holds
	d := folder(t, rules(
		when(script.When{Tool: "add"}, script.Action{Fill: &script.Fill{To: "stderr", Bytes: size}}),
		when(script.When{Tool: "env"}, script.Action{Fill: &script.Fill{To: "stdout", Bytes: size, Lines: true}}),
		when(script.When{On: script.OnSpawn}, script.Action{Write: "a banner\n"}, script.Action{WriteBase64: "//4K"}),
	))
	l := spawn(t, d)
	if s := l.line(); s != "a banner" {
		t.Fatalf("got %q", s)
	}
	if s := l.line(); s != "\xff\xfe" {
		t.Fatalf("got %q", s)
	}
	l.handshake()
	l.send(call(1, "add", `{"a":1,"b":2}`), echo(2))
	if g := l.read(); g.text() != "n2" {
		t.Fatalf("a full stderr must not hold up other calls: %+v", g)
	}
	if _, err := io.ReadFull(l.stderr, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if g := l.read(); g.text() != "3" {
		t.Fatalf("%+v", g)
	}
	l.send(call(3, "env", `{"name":"SECRET"}`))
	noise := 0
	for noise < size {
		s := l.line()
		if strings.HasPrefix(s, "{") {
			t.Fatalf("a message after %d of %d bytes: %s", noise, size, s)
		}
		if noise += len(s) + 1; strings.Trim(s[:min(len(s), 119)], "#") != "" {
			t.Fatalf("odd noise %q", s)
		}
		if i := strings.IndexByte(s, '{'); i >= 0 {
			if !strings.HasSuffix(s, "}") || noise-(len(s)-i)-1 != size {
				t.Fatalf("noise ends with %q", s)
			}
			return // the last, short line of noise has no newline of its own
		}
	}
	if g := l.read(); g.text() != "set" {
		t.Fatalf("%+v", g)
	}
}
