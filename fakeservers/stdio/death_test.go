//go:build unix

package stdio_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/internal/proc"
)

func TestExitStatusIsTheScripts(t *testing.T) {
	for _, code := range []int{0, 1, 42} {
		d := folder(t, rules(onCall(exitWith(code))))
		l := spawn(t, d).handshake()
		l.send(echo(1))
		if s := l.status(); !s.Exited() || s.ExitStatus() != code {
			t.Errorf("want exit %d, got %+v", code, s)
		}
		if out := l.rest(); out != "" {
			t.Errorf("it answered %q", out)
		}
		if e := awaitKind(t, d, journal.Exit); e.Code != code {
			t.Errorf("journal says %+v", e)
		}
	}
}

func TestSignalsAreRealAndLeaveNoCore(t *testing.T) {
	for name, want := range map[string]syscall.Signal{
		"KILL": syscall.SIGKILL, "SEGV": syscall.SIGSEGV, "TERM": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			d := folder(t, rules(onCall(script.Action{Signal: name})))
			l := spawn(t, d).handshake()
			l.send(echo(1))
			s := l.status()
			if !s.Signaled() || s.Signal() != want || s.CoreDump() {
				t.Fatalf("want %v, got %+v (signal %v, core %v)", want, s, s.Signal(), s.CoreDump())
			}
			e := awaitKind(t, d, journal.Rule)
			if e.Rule != "rule 1" || e.Detail != "signal "+name || e.Nonce != "n1" {
				t.Errorf("journal says %+v", e)
			}
			if cores, _ := filepath.Glob("core*"); len(cores) > 0 {
				t.Errorf("left %v", cores)
			}
		})
	}
}

func TestStopUntilContinued(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{Signal: "STOP"})))
	l := spawn(t, d).handshake()
	l.send(echo(1))
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(l.pid(), &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("%v %+v", err, ws)
	}
	if s := proc.State(l.pid()); s != 'T' {
		t.Fatalf("state %c", s)
	}
	if err := proc.Signal(l.pid(), proc.StartTime(l.pid()), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if g := l.read(); g.text() != "n1" {
		t.Fatalf("after it was continued: %+v", g)
	}
}

func TestDeathBeforeAndAfterTheEffect(t *testing.T) {
	cases := map[string]struct {
		rule     script.Rule
		executed int
		reply    bool
	}{
		"before the effect": {onCall(script.Action{Signal: "KILL"}), 0, false},
		"after the effect":  {onCall(script.Action{Effect: true}, script.Action{Signal: "KILL"}), 1, false},
		"after the reply": {when(script.When{On: script.OnReplied, Tool: "effect"},
			script.Action{Signal: "KILL"}), 1, true},
		"healthy, then death": {onCall(script.Action{Healthy: true}, script.Action{Signal: "KILL"}), 1, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := folder(t, rules(c.rule))
			l := spawn(t, d).handshake()
			l.send(call(1, "effect", `{"nonce":"x"}`))
			if s := l.status(); !s.Signaled() {
				t.Fatalf("%+v", s)
			}
			if out := l.rest(); (out != "") != c.reply {
				t.Errorf("answered %q", out)
			}
			if n := count(t, d, journal.Executed, "x"); n != c.executed {
				t.Errorf("executed %d times", n)
			}
		})
	}
}

func TestAnEffectIsNotRepeatedByTheHealthyAnswer(t *testing.T) {
	d := folder(t, rules(onCall(script.Action{Effect: true}, script.Action{Delay: ms(5)})))
	l := spawn(t, d).handshake()
	l.send(call(1, "effect", `{"nonce":"x"}`))
	if g := l.read(); g.text() != "x" {
		t.Fatalf("%+v", g)
	}
	if n := count(t, d, journal.Executed, "x"); n != 1 {
		t.Fatalf("executed %d times", n)
	}
}

func TestLivesAreCounted(t *testing.T) {
	d := folder(t, rules(
		script.Rule{When: script.When{On: script.OnSpawn, Life: "2-3"}, Do: []script.Action{exitWith(9)}},
		script.Rule{When: script.When{Method: "tools/call", Life: "1", Nth: "2"}, Do: []script.Action{exitWith(8)}},
	))
	one := spawn(t, d).handshake()
	one.send(echo(1))
	one.read()
	one.send(echo(2))
	if s := one.status(); s.ExitStatus() != 8 {
		t.Fatalf("life 1: %+v", s)
	}
	for range 2 {
		if s := spawn(t, d).status(); s.ExitStatus() != 9 {
			t.Fatalf("life 2 or 3: %+v", s)
		}
	}
	four := spawn(t, d).handshake()
	four.send(echo(1), echo(2))
	four.read()
	four.read()
	for _, e := range entries(t, d) {
		if e.Kind == journal.Spawn && e.Pid == four.pid() && (e.Life != 4 || e.Start != proc.StartTime(four.pid())) {
			t.Fatalf("%+v", e)
		}
	}
}

func TestAOnceRuleHitsOneOfManyProcesses(t *testing.T) {
	d := folder(t, rules(script.Rule{
		When: script.When{Method: "tools/call"}, Do: []script.Action{exitWith(5)}, Once: true,
	}))
	const n = 5
	lives := make([]*life, n)
	for i := range lives {
		lives[i] = spawn(t, d).handshake()
	}
	var wg sync.WaitGroup
	for _, l := range lives {
		wg.Go(func() { l.in.WriteString(echo(1) + "\n") })
	}
	wg.Wait()
	died := 0
	for _, l := range lives {
		s, err := l.lines.ReadString('\n')
		switch {
		case err != nil:
			died++
		case !strings.Contains(s, "n1"):
			t.Errorf("answered %q", s)
		}
	}
	if died != 1 {
		t.Fatalf("%d of %d died", died, n)
	}
}

func TestTheJournalOutlivesSIGKILL(t *testing.T) {
	d := folder(t, script.Script{})
	l := spawn(t, d).handshake()
	const calls = 50
	for i := range calls {
		l.send(echo(i + 1))
		l.read()
	}
	await(t, d, "the last reply", func(e journal.Entry) bool { return e.Kind == journal.Replied && e.Nonce == "n50" })
	if err := l.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	l.status()
	perKind := map[journal.Kind]int{}
	var last journal.Entry
	for _, e := range entries(t, d) {
		if e.Nonce != "" {
			perKind[e.Kind]++
		}
		if e.T < last.T && e.Kind != journal.Spawn {
			t.Errorf("times go back: %+v after %+v", e, last)
		}
		last = e
	}
	for _, k := range []journal.Kind{journal.Request, journal.Executed, journal.Replied} {
		if perKind[k] != calls {
			t.Errorf("%d entries of kind %s", perKind[k], k)
		}
	}
}
