//go:build unix

package lab

import (
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

func lifePlan(t *testing.T, steps ...scenario.Step) Plan {
	return plan(t, scenario.Scenario{
		ID: "life", Servers: map[string]scenario.Server{"a": {Transport: "stdio"}, "b": {Transport: "stdio"}}, Steps: steps,
	})
}

func detail(want string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Detail == want }
}

func unasked(e history.Event) bool { return !e.Expected }

func TestEveryEndOfATarget(t *testing.T) {
	t.Parallel()
	for _, word := range []string{scenario.TargetKill, scenario.TargetHangup, scenario.TargetTerm, scenario.TargetClose} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			events := run(t, lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: word},
				scenario.Step{Target: scenario.TargetRestart}, scenario.Step{Call: "a.echo"}))
			hit := one(t, events, history.TargetHit, detail(word))
			none(t, events, history.StepEnd, bad)
			none(t, events, history.TargetExit, unasked)
			none(t, events, history.Leftover)
			ups := all(events, func(e history.Event) bool { return e.Kind == history.TargetUp })
			exits := all(events, func(e history.Event) bool { return e.Kind == history.TargetExit })
			if len(ups) != 2 || len(exits) != 2 || ups[0].Pid == ups[1].Pid || exits[0].T < hit.T || ups[1].T < exits[0].T {
				t.Fatal(ups, exits)
			}
			closes := all(events, func(e history.Event) bool { return e.Kind == history.CloseEnd && e.OK })
			want := 2
			if word == scenario.TargetKill {
				want = 1 // it is no order to close
			}
			if len(closes) != want {
				t.Fatal(closes)
			}
			one(t, events, history.Good, on("a"), atRung(history.RungLoad))
		})
	}
}

// A target that a scenario ends for good is there again for the recovery ladder.
func TestAnEndedTargetIsRevived(t *testing.T) {
	t.Parallel()
	events := run(t, lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: scenario.TargetKill}))
	if gos := all(events, func(e history.Event) bool { return e.Kind == history.TargetGo }); len(gos) != 2 {
		t.Fatal(gos)
	}
	one(t, events, history.Good, on("a"), atRung(history.RungLoad))
}

func TestWhatAKilledTargetLeavesBehindIsRecordedAndExcused(t *testing.T) {
	t.Parallel()
	stubborn := script.Script{Rules: []script.Rule{{
		When: script.When{On: script.OnSpawn}, Do: []script.Action{{IgnoreEOF: true}, {IgnoreTERM: true}},
	}}}
	for _, expect := range []string{"", scenario.ExpectAny} {
		t.Run("expect="+expect, func(t *testing.T) {
			t.Parallel()
			p := lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: scenario.TargetKill, Expect: expect},
				scenario.Step{Target: scenario.TargetRestart}, scenario.Step{Call: "a.echo"})
			p.Scenario.Servers["a"] = scenario.Server{Transport: "stdio", Script: stubborn}
			events := run(t, p)
			killed := one(t, events, history.TargetHit, detail(scenario.TargetKill))
			left := all(events, func(e history.Event) bool { return e.Kind == history.Leftover && e.Expected == (expect != "") })
			if len(left) == 0 || left[0].T < killed.T {
				t.Fatal(left)
			}
			none(t, events, history.StepEnd, bad)
		})
	}
}

func TestAStoppedTargetAnswersWhenItGoesOn(t *testing.T) {
	t.Parallel()
	events := run(t, lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: scenario.TargetStop},
		scenario.Step{Call: "a.echo", Async: true}, scenario.Step{Wait: "300ms"}, scenario.Step{Target: scenario.TargetCont},
		scenario.Step{Call: "a.echo"}))
	stop, cont := one(t, events, history.TargetHit, detail(scenario.TargetStop)), one(t, events, history.TargetHit, detail(scenario.TargetCont))
	if d := cont.T.Sub(stop.T); d < 300*time.Millisecond {
		t.Fatal(d)
	}
	none(t, events, history.StepEnd, bad)
	read := func(e history.Event) bool { return e.Entry.Kind == journal.Request && e.Entry.Method == "tools/call" }
	none(t, events, history.Journal, read, func(e history.Event) bool { return e.T > stop.T && e.T < cont.T })
	none(t, events, history.CallEnd, bad)
}

// One that is stopped when the steps end goes on by itself.
func TestAStoppedTargetIsLetGoAtTheEnd(t *testing.T) {
	t.Parallel()
	events := run(t, lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: scenario.TargetStop}))
	one(t, events, history.TargetHit, detail(scenario.TargetCont))
	one(t, events, history.Good, on("a"), atRung(history.RungLoad))
}

func TestATwinLeavesTheTargetAlone(t *testing.T) {
	t.Parallel()
	p := lifePlan(t, scenario.Step{Call: "a.echo"}, scenario.Step{Target: scenario.TargetKill})
	p.Twin = true
	events := run(t, p)
	none(t, events, history.TargetHit)
	one(t, events, history.TargetUp)
}
