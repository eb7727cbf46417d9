//go:build unix

package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/internal/labtest"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/internal/proc"
)

// odd is a target with one bad habit and no servers at all.
type odd struct{ how string }

func (o *odd) Configure(context.Context, driver.Config) (*driver.Info, *driver.Error) {
	return &driver.Info{Protocol: driver.Version, Name: "odd", Version: o.how}, nil
}

func (o *odd) List(context.Context) ([]driver.Tool, *driver.Error) {
	var out []driver.Tool
	for _, name := range tools.Start(nil) {
		out = append(out, driver.Tool{Server: "a", Name: name})
	}
	return out, nil
}

func (o *odd) Call(_ context.Context, _, _ string, args json.RawMessage) (*driver.Result, *driver.Error) {
	var a struct{ Nonce string }
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, &driver.Error{Message: err.Error()}
	}
	switch {
	case o.how == "hung":
		select {}
	case o.how == "exits" && strings.HasPrefix(a.Nonce, "step"):
		os.Stderr.WriteString("panic: out of tea\n")
		os.Exit(3)
	case o.how == "wrong":
		return &driver.Result{Text: "somebody else's"}, nil
	}
	return &driver.Result{Text: a.Nonce}, nil
}

func (o *odd) Close(context.Context) *driver.Error {
	if o.how == "stays" {
		select {}
	}
	return nil
}

// oddPlan is a plan for such a target, with short timings.
func oddPlan(t *testing.T, how string) Plan {
	p := plan(t, scenario.Scenario{
		ID: "odd", Servers: map[string]scenario.Server{"a": {Transport: "stdio"}}, Steps: []scenario.Step{{Call: "a.echo"}},
	})
	short := script.Duration(200 * time.Millisecond)
	p.Profile = labtest.Quick(target.Profile{
		Name: "odd", Command: []string{"{{unwedge}}", "driver", "odd", how},
		Timings: &target.Timings{Call: short, Connect: short, StopGrace: short},
	})
	return p
}

func run(t *testing.T, p Plan) []history.Event {
	t.Helper()
	events, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			show(t, events)
		}
	})
	return events
}

func all(events []history.Event, test func(history.Event) bool) []history.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return !test(e) })
}

// one demands exactly one event of a kind for which the tests hold.
func one(t *testing.T, events []history.Event, k history.Kind, tests ...func(history.Event) bool) history.Event {
	t.Helper()
	got := all(events, func(e history.Event) bool {
		return e.Kind == k && !slices.ContainsFunc(tests, func(f func(history.Event) bool) bool { return !f(e) })
	})
	if len(got) != 1 {
		t.Fatalf("%d events %q: %+v", len(got), k, got)
	}
	return got[0]
}

func none(t *testing.T, events []history.Event, k history.Kind, tests ...func(history.Event) bool) {
	t.Helper()
	got := all(events, func(e history.Event) bool {
		return e.Kind == k && !slices.ContainsFunc(tests, func(f func(history.Event) bool) bool { return !f(e) })
	})
	if len(got) > 0 {
		t.Fatalf("%q: %+v", k, got)
	}
}

func on(server string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Server == server }
}

func atRung(r string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Rung == r }
}

func bad(e history.Event) bool { return !e.OK }

func TestHealthyScenarioOverBothTransportsAndEras(t *testing.T) {
	t.Parallel()
	for _, era := range []script.Era{script.Legacy, script.Modern} {
		t.Run(string(era), func(t *testing.T) {
			p := plan(t, scenario.Scenario{
				ID: "healthy",
				Servers: map[string]scenario.Server{
					"a": {Transport: "stdio"}, "b": {Transport: "http", Proxy: true}, "c": {Transport: "http"},
				},
				Steps: []scenario.Step{
					{Call: "a.echo", Parallel: 2, Times: 2}, {Call: "b.effect", Times: 3}, {Call: "a.add"}, {Call: "a.env"},
					{Call: "c.big"}, {Call: "a.progress"}, {Call: "a.sleep", Async: true}, {Call: "b.echo", Pad: 100_000},
					{Call: "a.fail", Expect: scenario.ExpectAny}, {ListTools: "a", Tools: scenario.ToolsAll}, {Wait: "5ms"},
				},
			})
			p.Era = era
			events := run(t, p)
			none(t, events, history.CallEnd, bad)
			none(t, events, history.CallEnd, func(e history.Event) bool { return !e.NonceOK })
			none(t, events, history.StepEnd, bad)
			none(t, events, history.Baseline, bad)
			none(t, events, history.Control, bad)
			none(t, events, history.Leftover)
			none(t, events, history.FaultError)
			for _, s := range []string{"a", "b", "c"} {
				one(t, events, history.Good, on(s), atRung(history.RungLoad))
			}
			if e := one(t, events, history.CloseEnd); !e.OK {
				t.Fatal(e)
			}
			if e := one(t, events, history.TargetExit); !e.Expected {
				t.Fatal(e)
			}
			if e := events[len(events)-1]; e.Kind != history.RunEnd {
				t.Fatal(e)
			}
			wrongEra := func(e history.Event) bool {
				return e.Entry.Kind == journal.Request && e.Entry.Method == "tools/call" && e.Entry.Era != string(era)
			}
			none(t, events, history.Journal, wrongEra)
			onDisk, err := os.ReadFile(filepath.Join(p.Dir, HistoryFile))
			if err != nil || strings.Count(string(onDisk), "\n") != len(events) {
				t.Fatal(err, strings.Count(string(onDisk), "\n"), len(events))
			}
			if strings.Contains(string(onDisk), p.Secret) {
				t.Fatal("the canary is in the history")
			}
		})
	}
}

func TestBareClientNeedsARestart(t *testing.T) {
	t.Parallel()
	p := plan(t, scenario.Scenario{
		ID: "kill", Servers: map[string]scenario.Server{"srv": {Transport: "stdio"}, "by": {Transport: "stdio"}},
		Steps: []scenario.Step{
			{Call: "srv.echo"}, {Kill: "srv"}, {Call: "srv.echo", Times: 3, Expect: "any"}, {Wait: "cooldown"},
		},
	})
	p.MaxRecovery = 500 * time.Millisecond
	events := run(t, p)
	injected := one(t, events, history.Inject, on("srv"))
	seen := one(t, events, history.Observed, on("srv"))
	lifted := one(t, events, history.Lifted, on("srv"))
	if injected.T > seen.T || seen.T > lifted.T || injected.Fault != "child-dies-idle/sigkill" {
		t.Fatal(injected, seen, lifted)
	}
	for _, r := range []string{history.RungLoad, history.RungQuiet, history.RungRestart} {
		one(t, events, history.Rung, on("srv"), atRung(r))
	}
	none(t, events, history.Rung, atRung(history.RungPoke))
	one(t, events, history.Good, on("srv"), atRung(history.RungRestart))
	none(t, events, history.Control, bad)
	byCalls := func(e history.Event) bool { return e.Server == "by" && e.Kind == history.CallEnd && e.OK }
	if n := len(all(events, byCalls)); n < 10 {
		t.Fatalf("%d bystander calls", n)
	}
	if n := len(all(events, func(e history.Event) bool { return e.Kind == history.TargetUp })); n != 2 {
		t.Fatalf("%d targets", n)
	}

	p.Twin, p.Dir = true, t.TempDir()
	twin := run(t, p)
	none(t, twin, history.Inject)
	none(t, twin, history.CallEnd, bad)
	one(t, twin, history.Good, on("srv"), atRung(history.RungLoad))
}

func TestCallsInTheBackgroundAreInFlightWhenTheNextStepBegins(t *testing.T) {
	t.Parallel()
	events := run(t, plan(t, scenario.Scenario{
		ID: "flight", Servers: map[string]scenario.Server{"a": {Transport: "stdio"}},
		Steps: []scenario.Step{
			{Call: "a.sleep", Args: map[string]any{"ms": 300}, Parallel: 3, Async: true}, {Call: "a.echo"},
		},
	}))
	next := one(t, events, history.StepBegin, func(e history.Event) bool { return e.Step == 1 })
	read := all(events, func(e history.Event) bool {
		return e.Kind == history.Journal && e.Entry.Kind == journal.Request && e.Entry.Tool == "sleep"
	})
	if len(read) != 3 || read[2].T > next.T {
		t.Fatal(read, next)
	}
	none(t, events, history.StepEnd, bad)
}

func TestTargetThatHangsIsRecordedNotAwaited(t *testing.T) {
	t.Parallel()
	events := run(t, oddPlan(t, "hung"))
	one(t, events, history.Baseline, bad)
	if n := len(all(events, func(e history.Event) bool {
		return e.Kind == history.CallEnd && !e.OK && e.Err == nil && e.Detail == "no answer"
	})); n == 0 {
		t.Fatal("no call without an answer")
	}
	one(t, events, history.RunEnd)
}

func TestTargetThatExitsIsClimbedAtOnce(t *testing.T) {
	t.Parallel()
	p := oddPlan(t, "exits")
	p.Scenario.Steps = append([]scenario.Step{{Kill: "a"}}, p.Scenario.Steps...)
	p.Scenario.Steps[0] = scenario.Step{Call: "a.echo"}
	events := run(t, p)
	exit := one(t, events, history.TargetExit, func(e history.Event) bool { return !e.Expected })
	if exit.Detail != "exit status 3" {
		t.Fatal(exit)
	}
	tail := one(t, events, history.Stderr)
	if !strings.Contains(tail.Text, "out of tea") {
		t.Fatal(tail)
	}
	one(t, events, history.Good, atRung(history.RungRestart))
}

func TestTargetThatAnswersWronglyHasNoBaseline(t *testing.T) {
	t.Parallel()
	events := run(t, oddPlan(t, "wrong"))
	one(t, events, history.Baseline, bad)
	none(t, events, history.StepBegin)
}

func TestTargetThatDoesNotStartIsSaid(t *testing.T) {
	t.Parallel()
	p := oddPlan(t, "")
	p.Profile.Command = []string{"sh", "-c", "echo hello; echo no config >&2; exit 9"}
	events := run(t, p)
	e := one(t, events, history.Baseline, bad)
	for _, want := range []string{"exit status 9", "hello", "no config"} {
		if !strings.Contains(e.Detail, want) {
			t.Errorf("%q lacks %q", e.Detail, want)
		}
	}
}

func TestTargetThatWillNotCloseIsKilled(t *testing.T) {
	t.Parallel()
	events := run(t, oddPlan(t, "stays"))
	if e := one(t, events, history.CloseEnd); e.OK {
		t.Fatal(e)
	}
	none(t, events, history.Leftover)
}

func TestInterruptedRunKeepsItsHistoryAndLeavesNothing(t *testing.T) {
	p := oddPlan(t, "fine")
	p.Scenario.Steps = append(p.Scenario.Steps, scenario.Step{Wait: "1h"})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel) // somewhere in the middle
	events, err := Run(ctx, p)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	one(t, events, history.Interrupt)
	none(t, events, history.RunEnd)
	if kids, err := proc.Children(os.Getpid()); err != nil || len(kids) > 0 {
		t.Fatal(kids, err)
	}
}

// runUntilKilled is a harness in the middle of a lab.
func runUntilKilled(dir, helper string) int {
	p := Plan{
		Scenario: scenario.Scenario{
			ID:      "long",
			Servers: map[string]scenario.Server{"a": {Transport: "stdio"}, "b": {Transport: "http", Proxy: true}},
			Steps: []scenario.Step{
				{Inject: "child-stopped/for-good", On: "a"}, {Await: "observed", On: "a"}, {Wait: "1h"},
			},
		},
		Era: script.Legacy, Profile: target.Bare(), Dir: dir, Secret: "x",
		Programs: target.Programs{Unwedge: os.Args[0], Helper: helper},
	}
	_, err := Run(context.Background(), p)
	panic(err)
}

func TestKilledHarnessLeavesAHistoryAndNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tmp := t.TempDir()
	c := exec.Command(os.Args[0], "lab", "killed", dir, labtest.Programs().Helper)
	c.Env = append(os.Environ(), "TMPDIR="+tmp)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	seen := func() bool {
		f, err := os.Open(filepath.Join(dir, HistoryFile))
		if err != nil {
			return false
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var e history.Event
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == history.Observed {
				return true
			}
		}
		return false
	}
	deadline := time.Now().Add(30 * time.Second)
	for !seen() {
		if time.Now().After(deadline) {
			t.Fatal("the fault was never observed")
		}
		time.Sleep(10 * time.Millisecond)
	}
	below, err := proc.Descendants(c.Process.Pid)
	if err != nil || len(below) < 5 {
		t.Fatal(below, err) // keeper, target, two fakes, proxy
	}
	c.Process.Kill()
	c.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, p := range below {
		if err := proc.AwaitExit(ctx, p.Pid, p.Start); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
