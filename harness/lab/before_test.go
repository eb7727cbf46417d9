//go:build unix

package lab

import (
	"testing"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

func downPlan(t *testing.T) Plan {
	return plan(t, scenario.Scenario{
		ID: "down", Servers: map[string]scenario.Server{"srv": {Transport: "stdio"}, "by": {Transport: "stdio"}},
		Steps: []scenario.Step{
			{Inject: "server-down-at-startup/exits", On: "srv", Before: scenario.BeforeStart},
			{Call: "srv.echo", Expect: scenario.ExpectAny}, {Await: scenario.AwaitObserved, On: "srv"},
		},
	})
}

// The fault is there first: no life of the server is ever healthy before the lift, and only the others are asked at the baseline.
func TestAFaultBeforeTheStart(t *testing.T) {
	t.Parallel()
	p := downPlan(t)
	p.Profile = target.BuiltIn()
	p.Profile.Command = target.Bare().Command
	p.MaxRecovery = 1 // a bare client does not come back by itself
	events := run(t, p)
	injected, lifted := one(t, events, history.Inject, on("srv")), one(t, events, history.Lifted, on("srv"))
	up := all(events, func(e history.Event) bool { return e.Kind == history.TargetUp })
	if len(up) == 0 || injected.T > up[0].T || lifted.T < up[0].T {
		t.Fatal(injected, up, lifted)
	}
	none(t, events, history.Baseline, bad)
	none(t, events, history.CallBegin, on("srv"), func(e history.Event) bool { return e.Load == history.LoadBaseline })
	none(t, events, history.Journal, on("srv"), func(e history.Event) bool {
		return e.Entry.Kind == journal.Replied && e.Entry.Role == "" && e.T < lifted.T
	})
}

func TestATwinOfAFaultBeforeTheStartIsAskedAsUsual(t *testing.T) {
	t.Parallel()
	p := downPlan(t)
	p.Twin = true
	events := run(t, p)
	none(t, events, history.Inject)
	one(t, events, history.Baseline, on("srv"))
	none(t, events, history.CallEnd, bad)
}

// A target that does not come up without its server has failed; it is not a run that says nothing.
func TestATargetThatDoesNotStartWithoutItsServer(t *testing.T) {
	t.Parallel()
	p := downPlan(t)
	p.Profile.Command = []string{"false"}
	events := run(t, p)
	if e := one(t, events, history.TargetExit); e.Expected || e.Detail == "" {
		t.Fatal(e)
	}
	one(t, events, history.RunEnd)
	none(t, events, history.Baseline, bad)
}
