//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/internal/proc"
)

func order(t *testing.T, d *state.Dir, life int, c control.Command) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return control.Send(ctx, d, life, c)
}

func do(a script.Action) control.Command { return control.Command{Do: &a} }

func TestThePhaseCountsFromTheAcknowledgement(t *testing.T) {
	d := folder(t, rules(script.Rule{
		When: script.When{Tool: "echo", Phase: script.Faulty, Nth: "2"},
		Do:   []script.Action{{Reply: &script.Reply{Text: "faulty"}}},
	}))
	l := spawn(t, d).handshake()
	ask := func(id int) string {
		l.send(echo(id))
		return l.read().text()
	}
	for _, p := range []script.Phase{script.Faulty, script.Healed, script.Faulty} {
		ask(1) // counts for no other phase
		if err := order(t, d, 1, control.Command{Phase: p}); err != nil {
			t.Fatal(err)
		}
		first, second := ask(2), ask(3)
		if want := map[bool]string{true: "faulty", false: "n3"}[p == script.Faulty]; first != "n2" || second != want {
			t.Fatalf("in phase %s: %q, %q", p, first, second)
		}
		await(t, d, "the phase", func(e journal.Entry) bool { return e.Kind == journal.PhaseSet && e.Phase == string(p) })
	}
}

func TestANewLifeReadsThePhaseFromDisk(t *testing.T) {
	d := folder(t, rules(script.Rule{
		When: script.When{On: script.OnSpawn, Phase: script.Faulty}, Do: []script.Action{exitWith(3)},
	}))
	spawn(t, d).handshake()
	if err := d.SetPhase(script.Faulty); err != nil {
		t.Fatal(err)
	}
	if s := spawn(t, d).status(); s.ExitStatus() != 3 {
		t.Fatalf("%+v", s)
	}
	if err := d.SetPhase(script.Healed); err != nil {
		t.Fatal(err)
	}
	spawn(t, d).handshake()
	if e := await(t, d, "life 3", func(e journal.Entry) bool { return e.Life == 3 }); e.Phase != "healed" {
		t.Fatalf("%+v", e)
	}
}

func TestAPhaseCanKillTheServingLife(t *testing.T) {
	d := folder(t, rules(script.Rule{
		When: script.When{On: script.OnPhase, Phase: script.Faulty, Life: script.Serving},
		Do:   []script.Action{{Signal: "KILL"}},
	}))
	bystander, l := spawn(t, d).handshake(), spawn(t, d).handshake()
	l.send(call(1, "echo", `{"nonce":"base-1"}`))
	l.read()
	for life := range 2 {
		if err := order(t, d, life+1, control.Command{Phase: script.Faulty}); err != nil {
			t.Fatal(err)
		}
	}
	if s := l.status(); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Fatalf("%+v", s)
	}
	bystander.send(echo(1))
	if g := bystander.read(); g.text() != "n1" {
		t.Fatalf("%+v", g)
	}
	if err := order(t, d, 2, control.Command{Phase: script.Healed}); !errors.Is(err, control.ErrGone) {
		t.Fatalf("a command to the dead: %v", err)
	}
}

func TestOrdersAreAcknowledged(t *testing.T) {
	five := 5
	cases := map[string]struct {
		a     script.Action
		check func(t *testing.T, l *life)
	}{
		"exit": {script.Action{Exit: &five}, func(t *testing.T, l *life) {
			if s := l.status(); s.ExitStatus() != 5 {
				t.Errorf("%+v", s)
			}
		}},
		"kill": {script.Action{Signal: "KILL"}, func(t *testing.T, l *life) {
			if s := l.status(); s.Signal() != syscall.SIGKILL {
				t.Errorf("%+v", s)
			}
		}},
		"stop": {script.Action{Signal: "STOP"}, func(t *testing.T, l *life) {
			var ws syscall.WaitStatus
			if _, err := syscall.Wait4(l.pid(), &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
				t.Errorf("%v %+v", err, ws)
			}
			l.kill() // stopped or not
		}},
		"deaf": {script.Action{Deaf: true}, func(t *testing.T, l *life) { blocked(t, l) }},
		"close_stdin": {script.Action{CloseStdin: true}, func(t *testing.T, l *life) {
			if _, err := l.in.WriteString("x"); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("after the acknowledgement: %v", err)
			}
		}},
		"close_stdout": {script.Action{CloseStdout: true}, func(t *testing.T, l *life) { l.rest() }},
		"hang": {script.Action{Hang: true}, func(t *testing.T, l *life) {
			l.send(echo(1))
			l.in.Close()
			if out := l.rest(); out != "" {
				t.Errorf("answered %q", out)
			}
		}},
		"notify": {script.Action{Notify: "notifications/tools/list_changed"}, func(t *testing.T, l *life) {
			if g := l.read(); g.Method != "notifications/tools/list_changed" {
				t.Errorf("%+v", g)
			}
		}},
		"write": {script.Action{Write: "noise\n"}, func(t *testing.T, l *life) {
			if s := l.line(); s != "noise" {
				t.Errorf("%q", s)
			}
		}},
		"set_tools": {script.Action{SetTools: []string{"echo"}}, func(t *testing.T, l *life) {
			l.send(listTools(1))
			if n := len(l.read().Result.Tools); n != 1 {
				t.Errorf("%d tools", n)
			}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := folder(t, script.Script{})
			l := spawn(t, d).handshake()
			if err := order(t, d, 1, do(c.a)); err != nil {
				t.Fatal(err)
			}
			if e := awaitKind(t, d, journal.Ack); e.Detail != c.a.String() {
				t.Errorf("%+v", e)
			}
			c.check(t, l)
		})
	}
}

func TestAFullPipeDoesNotBlockTheChannel(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	if err := order(t, d, 1, do(script.Action{Fill: &script.Fill{To: "stdout", Bytes: 1 << 20}})); err != nil {
		t.Fatal(err)
	}
	if err := order(t, d, 1, control.Command{Phase: script.Healed}); err != nil {
		t.Fatal(err)
	}
	one := 1
	if err := order(t, d, 1, do(script.Action{Exit: &one})); err != nil {
		t.Fatal(err)
	}
	l.status()
}

func TestAStoppedFakeAnswersWhenItIsContinued(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	if err := order(t, d, 1, do(script.Action{Signal: "STOP"})); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(l.pid(), &ws, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := control.Send(ctx, d, 1, control.Command{Phase: script.Healed})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a stopped fake: %v", err)
	}
	sent := make(chan error, 1)
	go func() { sent <- control.Send(context.Background(), d, 1, control.Command{Phase: script.Healed}) }()
	if err := proc.Signal(l.pid(), proc.StartTime(l.pid()), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestOrdersThatMakeNoSenseAreRefused(t *testing.T) {
	d := folder(t, script.Script{})
	spawn(t, d).handshake()
	for name, c := range map[string]control.Command{
		"empty":       {},
		"nothing":     do(script.Action{}),
		"http":        do(script.Action{Reset: true}),
		"a request's": do(script.Action{Drop: true}),
		"phase":       {Phase: "broken"},
		"signal":      do(script.Action{Signal: "HUP"}),
	} {
		err := order(t, d, 1, c)
		if _, ok := errors.AsType[*control.RefusedError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := order(t, d, 1, control.Command{Phase: script.Faulty}); err != nil {
		t.Fatalf("it must go on listening: %v", err)
	}
}

func TestTheControlsFakeStaysHealthy(t *testing.T) {
	d := folder(t, rules(script.Rule{
		When: script.When{Phase: script.Faulty}, Do: []script.Action{exitWith(1)},
	}))
	if err := d.SetPhase(script.Faulty); err != nil {
		t.Fatal(err)
	}
	l := spawn(t, d, "--role", "control").handshake()
	if err := order(t, d, 1, control.Command{Phase: script.Faulty}); err == nil {
		t.Error("its phase must be frozen")
	}
	l.send(echo(1))
	if g := l.read(); g.text() != "n1" {
		t.Fatalf("%+v", g)
	}
	if e := awaitKind(t, d, journal.Spawn); e.Role != "control" || e.Phase != "healed" {
		t.Fatalf("%+v", e)
	}
}

func TestACommandNeedsTheToken(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	fi, err := os.Stat(d.File("control-1.json"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", fi.Mode(), err)
	}
	// The address file of a dead life whose port another fake has got since.
	other := folder(t, script.Script{})
	spawn(t, other).handshake()
	b, err := os.ReadFile(d.File("control-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	stale, err := os.ReadFile(other.File("control-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	token := func(b []byte) string { s := string(b); return s[len(s)-28:] }
	addr := func(b []byte) string { s := string(b); return s[:len(s)-28] }
	if err := os.WriteFile(d.File("control-1.json"), []byte(addr(stale)+token(b)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := order(t, d, 1, do(script.Action{Hang: true})); !errors.Is(err, control.ErrGone) {
		t.Fatalf("another fake obeyed: %v", err)
	}
	l.kill()
}
