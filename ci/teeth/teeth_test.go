package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/unwedge/unwedge/ci/internal/mutant"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/scenarios"
)

func TestEveryClassOfTheListHasARow(t *testing.T) {
	tab := newTable(scenarios.All())
	rows := map[string]int{}
	for _, r := range tab {
		rows[r.Class]++
	}
	for _, s := range scenarios.All() {
		if rows[classOf(s)] != 1 {
			t.Errorf("%s: class %q has %d rows", s.ID, classOf(s), rows[classOf(s)])
		}
		r := tab.row(classOf(s))
		if r == nil || !slices.ContainsFunc(r.scenarios, func(o scenario.Scenario) bool { return o.ID == s.ID }) {
			t.Errorf("%s does not stand in its row", s.ID)
		}
	}
	if got := tab.uncaught(); len(got) != len(tab) {
		t.Errorf("nothing has been run, and %d of %d are uncaught", len(got), len(tab))
	}
}

// small is a list of five scenarios in four classes.
func small() table {
	return newTable([]scenario.Scenario{
		{ID: "idle/a", Class: "idle"}, {ID: "idle/b", Class: "idle"}, {ID: "noise", Class: "noise"},
		{ID: "storm", Class: "storm"}, {ID: "unclassed"},
	})
}

func TestAClassWithoutCatcherIsMarked(t *testing.T) {
	tab := small()
	hung := []verdict.Finding{{Kind: verdict.FindingHungCall}}
	add := func(client string, vs ...verdict.Verdict) {
		t.Helper()
		if err := tab.add(client, vs); err != nil {
			t.Fatal(err)
		}
	}
	add(target.BareName,
		verdict.Verdict{Scenario: "idle/a", Class: "idle", Result: verdict.Wedged, Findings: hung},
		verdict.Verdict{Scenario: "idle/b", Class: "idle", Result: verdict.Wedged},
		verdict.Verdict{Scenario: "noise", Class: "noise", Result: verdict.Recovered, Pass: true},
		verdict.Verdict{Scenario: "storm", Class: "storm", Result: verdict.Inconclusive, Reason: "control failed"},
		// what a scenario expects is no catch
		verdict.Verdict{Scenario: "unclassed", Result: verdict.NeedsPoke, Expect: string(verdict.NeedsPoke), Pass: true})
	add(target.NaiveName, verdict.Verdict{Scenario: "storm", Class: "storm", Result: verdict.NotApplicable, Reason: "no status"})
	caught := mutant.Judgement{Clean: "passes", Caught: "yes"}
	if err := tab.addMutant(mutant.Mutant{Name: "survivor", Scenario: "noise"}, mutant.Judgement{Clean: "passes", Caught: "NO"}); err != nil {
		t.Fatal(err)
	}
	if err := tab.addMutant(mutant.Mutant{Name: "old", Scenario: "unclassed"}, caught); err != nil {
		t.Fatal(err)
	}
	if got := tab.uncaught(); !slices.Equal(got, []string{"noise", "storm"}) {
		t.Error(got)
	}

	var out bytes.Buffer
	if err := tab.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `CLASS      BARE                        NAIVE  MUTANTS
idle       wedged, hung-call (2 of 2)  .      .
noise      - (0 of 1)                  .      ?  NO CATCHER
storm      ?                           ?      .  NO CATCHER
unclassed  - (0 of 1)                  .      old (1 of 1)

noise: nothing fails it
  bare passes noise
  mutants: survivor: without it passes, caught NO:

storm: nothing fails it
  bare: storm: inconclusive: control failed
  naive: storm: not-applicable: no status
`
	if got := strings.ReplaceAll(out.String(), ": \n", ":\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheTableAsJSON(t *testing.T) {
	tab := small()
	if err := tab.add(target.NaiveName, []verdict.Verdict{{Scenario: "noise", Class: "noise", Result: verdict.Slow, Era: "legacy"}}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tab.printJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back table
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if r := back.row("noise"); len(back) != 4 || !r.Caught || r.Naive.By[0] != "noise (legacy)" || r.Naive.Seen[0] != "slow" {
		t.Errorf("%s", out.String())
	}
}

func TestWhatIsNotInTheListIsRefused(t *testing.T) {
	tab := small()
	if err := tab.add(target.BareName, []verdict.Verdict{{Scenario: "x", Class: "y"}}); err == nil {
		t.Error("a verdict on a class that is not in the list")
	}
	if err := tab.addMutant(mutant.Mutant{Name: "m", Scenario: "x"}, mutant.Judgement{}); err == nil {
		t.Error("a mutant for a scenario that is not in the list")
	}
	for _, set := range []settings{{era: "old"}, {era: "legacy", class: "no-such"}, {era: "legacy", class: "["}} {
		if _, err := chosen(set); err == nil {
			t.Errorf("%+v", set)
		}
	}
}
