//go:build unix

package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/internal/labtest"
	"github.com/unwedge/unwedge/harness/lab"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
	"github.com/unwedge/unwedge/internal/proc"
)

func killed(id string) scenario.Scenario {
	return scenario.Scenario{
		ID: id, Servers: map[string]scenario.Server{"srv": {Transport: "stdio"}},
		Steps: []scenario.Step{{Kill: "srv"}, {Call: "srv.echo", Expect: "any"}},
	}
}

func quiet(id string) scenario.Scenario {
	return scenario.Scenario{
		ID: id, Servers: map[string]scenario.Server{"srv": {Transport: "stdio"}},
		Steps: []scenario.Step{{Inject: "stderr-pipe-full/64k"}, {Call: "srv.echo"}},
	}
}

func options(t *testing.T, ss ...scenario.Scenario) Options {
	return Options{
		Title: "test", Target: labtest.Quick(target.Bare()), Scenarios: ss, Eras: []script.Era{script.Legacy}, Seed: 42,
		Out: t.TempDir(), MaxRecovery: 500 * time.Millisecond,
		Unwedge: labtest.Programs().Unwedge, Helper: labtest.Programs().Helper,
	}
}

func TestCertifyTellsWedgedFromRecoveredAndRepeatsAccusations(t *testing.T) {
	o := options(t, killed("kill/it"), quiet("noise"))
	var mu sync.Mutex
	var news []Progress
	o.Progress = func(p Progress) {
		mu.Lock() // for the race detector: the promise is one goroutine at a time
		defer mu.Unlock()
		news = append(news, p)
	}
	rep, err := Certify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Verdicts) != 2 {
		t.Fatalf("%+v", rep.Verdicts)
	}
	wedged, good := rep.Verdicts[0], rep.Verdicts[1]
	if wedged.Result != verdict.Wedged || wedged.Runs != 2 || wedged.Agreed != 2 || wedged.Pass {
		t.Errorf("%+v", wedged)
	}
	if good.Result != verdict.Recovered || good.Runs != 1 || !good.Pass {
		t.Errorf("%+v", good)
	}
	if len(rep.Causes) != 1 || rep.Interrupted || rep.Seed != 42 || rep.Healthy.OK != 4 || rep.TargetVersion == "" {
		t.Errorf("%+v", rep)
	}
	if news[0].Report == nil || news[0].Total != 2 || news[len(news)-1].Done != 2 {
		t.Errorf("%+v", news)
	}
	file := filepath.Join(o.Out, "kill-it.yaml")
	if !strings.Contains(wedged.Again, file) || !strings.Contains(wedged.Again, "--seed 2a") {
		t.Error(wedged.Again)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scenario.Parse(file, text); err != nil || s.ID != "kill/it" {
		t.Fatal(s, err)
	}
	for _, dir := range []string{wedged.Folder, good.Folder, "history/kill-it-legacy-run2", "."} {
		if b, err := os.ReadFile(filepath.Join(o.Out, dir, lab.HistoryFile)); err != nil || len(b) == 0 {
			t.Error(dir, err)
		}
	}
}

func TestWithoutRerunOneRunIsEnough(t *testing.T) {
	o := options(t, killed("kill"))
	o.NoRerun = true
	rep, err := Certify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if v := rep.Verdicts[0]; v.Result != verdict.Wedged || v.Runs != 1 || v.Pass {
		t.Errorf("%+v", v)
	}
}

func TestWhatDoesNotApplyIsSaidAndNotStarted(t *testing.T) {
	needy := quiet("needs")
	needy.Needs = []string{"reconnect"}
	http := scenario.Scenario{
		ID: "http", Servers: map[string]scenario.Server{"srv": {Transport: "http"}}, Steps: []scenario.Step{{Call: "srv.echo"}},
	}
	o := options(t, needy, http, quiet("modern"))
	o.Target.Transports, o.Target.Eras = []string{"stdio"}, []script.Era{script.Legacy}
	o.Scenarios[2].Eras = []script.Era{script.Modern}
	o.Eras = nil
	rep, err := Certify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rep.Verdicts {
		if v.Result != verdict.NotApplicable || v.Reason == "" || v.Runs != 0 {
			t.Errorf("%+v", v)
		}
	}
	if len(rep.Verdicts) != 5 {
		t.Error(len(rep.Verdicts))
	}
}

func TestTargetWithoutABaselineIsInconclusive(t *testing.T) {
	o := options(t, quiet("a"), quiet("b"))
	o.Target.Command = []string{"sh", "-c", "echo no such module >&2; exit 1"}
	rep, err := Certify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rep.Verdicts {
		if v.Result != verdict.Inconclusive || !strings.Contains(v.Reason, "no such module") {
			t.Errorf("%+v", v)
		}
	}
	if !strings.Contains(rep.Healthy.Reason, "no such module") {
		t.Error(rep.Healthy)
	}
}

func TestInterruptedRunIsAPartialReport(t *testing.T) {
	long := quiet("long")
	long.Steps = append(long.Steps, scenario.Step{Wait: "1h"})
	o := options(t, quiet("short"), long)
	o.Jobs = 2
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Verdict != nil {
			cancel()
		}
	}
	rep, err := Certify(ctx, o)
	if err != nil || !rep.Interrupted || len(rep.Verdicts) != 1 || rep.Verdicts[0].Scenario != "short" {
		t.Fatal(rep, err)
	}
	if kids, err := proc.Children(os.Getpid()); err != nil || len(kids) > 0 {
		t.Fatal(kids, err)
	}
}

func TestAnUncheckedAccusationIsTakenBack(t *testing.T) {
	v := verdict.Verdict{Result: verdict.Wedged}
	unsure(&v)
	if v.Result != verdict.Inconclusive || !strings.Contains(v.Reason, "wedged in one run") {
		t.Fatal(v)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	bad := quiet("bad")
	bad.Steps = nil
	if _, err := Certify(t.Context(), options(t, bad)); err == nil || !strings.Contains(err.Error(), "scenario bad") {
		t.Error(err)
	}
	if _, err := Certify(t.Context(), options(t, quiet("a"), quiet("a"))); err == nil {
		t.Error("two of one id")
	}
	o := options(t, quiet("a"))
	o.Unwedge = ""
	if _, err := Certify(t.Context(), o); !errors.Is(err, target.ErrNoProgram) {
		t.Error(err)
	}
}

func TestOneRunsOneScenarioAndKeepsNothing(t *testing.T) {
	o := options(t)
	o.Out = ""
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	v, err := One(t.Context(), o, quiet("one"), script.Modern)
	if err != nil || v.Result != verdict.Recovered || !v.Pass || v.Era != "modern" {
		t.Fatalf("%+v %v", v, err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}
