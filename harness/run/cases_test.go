//go:build unix

package run

import (
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

func TestTwinsAreSharedByWhatDiffersOnlyInFaults(t *testing.T) {
	a := &oneCase{scenario: killed("a"), era: script.Legacy}
	b := &oneCase{scenario: killed("b"), era: script.Legacy}
	b.scenario.Steps = append([]scenario.Step{{Inject: "child-dies-idle/exit0"}}, b.scenario.Steps[1:]...)
	if twinKey(a) != twinKey(b) {
		t.Error("same servers and workload")
	}
	b.era = script.Modern
	if twinKey(a) == twinKey(b) {
		t.Error("another era")
	}
	b.era, b.scenario.Steps = script.Legacy, append(b.scenario.Steps, scenario.Step{Call: "srv.add"})
	if twinKey(a) == twinKey(b) {
		t.Error("another workload")
	}
}

func TestFastIsNotAskedOfWhoDeclaresNothing(t *testing.T) {
	s := killed("a")
	s.Steps[1].Fast = true
	r := &runner{profile: target.Profile{}}
	if c := r.cases([]scenario.Scenario{s}); len(c) != 2 || c[0].verdict != nil || asksForSpeed(c[0].scenario) {
		t.Error(c)
	}
	if !asksForSpeed(s) {
		t.Error("the caller's scenario was changed")
	}
	r.profile.Timings = &target.Timings{Call: script.Duration(time.Second), Connect: script.Duration(time.Second)}
	if c := r.cases([]scenario.Scenario{s}); c[0].verdict == nil {
		t.Error("a call timeout of a second cannot tell fast from slow")
	}
	r.profile = target.Bare()
	if c := r.cases([]scenario.Scenario{s}); c[0].verdict != nil {
		t.Error(c[0].verdict)
	}
}

func TestSeedsAndNamesAreEachTheirOwn(t *testing.T) {
	r := &runner{seed: 7, names: map[string]string{}}
	a := &oneCase{scenario: killed("a/b"), era: script.Legacy, runs: 1}
	b := &oneCase{scenario: killed("a-b"), era: script.Legacy, runs: 1}
	if again := r.seedOf(a); again != r.seedOf(a) || again == r.seedOf(b) {
		t.Error("seeds")
	}
	first := r.folder(a)
	if first != r.folder(a) || first == r.folder(b) {
		t.Error(first, r.folder(b))
	}
	a.runs = 2
	if r.folder(a) != first+"-run2" {
		t.Error(r.folder(a))
	}
}
