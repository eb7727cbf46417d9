package oracle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

func TestRecovered(t *testing.T) {
	g := NewWithT(t)
	v := Judge(recovers().done(), nil)
	g.Expect(v.Reason).To(BeEmpty())
	g.Expect(v.Result).To(Equal(verdict.Recovered))
	g.Expect(v.Findings).To(BeEmpty())
	g.Expect(v.Pass).To(BeTrue())
	g.Expect(v.BackAfter).To(Equal(200*time.Millisecond), "from lifted to the end of the first of the good calls")
	g.Expect(v.BudgetSum).To(Equal("(cooldown 0.6 + connect 1 + backoff 0.05) x 1"))
	g.Expect(v.Class).To(Equal("child-dies-idle"))
}

func TestWedged(t *testing.T) {
	g := NewWithT(t)
	v := Judge(wedges().done(), nil)
	g.Expect(v.Reason).To(BeEmpty())
	g.Expect(v.Result).To(Equal(verdict.Wedged))
	g.Expect(v.Pass).To(BeFalse())
	g.Expect(v.BackAfter).To(BeZero())
	g.Expect(v.Note).To(Equal("back 0.6 s after a restart"))
	g.Expect(v.Expected).To(Equal("a 2nd spawn and a good call within 1.6 s = (cooldown 0.6 + connect 1 + backoff 0.05) x 1"))
	g.Expect(v.Symptom).To(Equal("restart|respawned=false|client is closing: eof"))
}

// ladderCase runs the standard bad story and lets the given rung help.
func ladderCase(helps string, change func(*world)) verdict.Verdict {
	w := given()
	w.fault(death, "srv", 1000, 1010)
	w.rung(history.RungLoad, "srv")
	w.at(1100).calls("srv", history.LoadProbe, 10, fails("EOF"))
	now := 4000
	for _, r := range []string{history.RungQuiet, history.RungSession, history.RungPoke, history.RungRestart} {
		w.at(now).rung(r, "srv")
		if r == helps {
			w.at(now+295).back(r, "srv")
			break
		}
		w.at(now+100).calls("srv", history.LoadProbe, 10, fails("EOF"))
		now += 1000
	}
	w.at(9000)
	if change != nil {
		change(w)
	}
	return Judge(w.done(), nil)
}

func TestEveryRungHasItsClass(t *testing.T) {
	for _, c := range []struct {
		helps  string
		class  verdict.Class
		pass   bool
		note   string
		change func(*world)
	}{
		{history.RungQuiet, verdict.NeedsQuiet, false, "back 0.3 s after traffic paused", nil},
		{history.RungSession, verdict.NeedsNewSession, true, "back 0.3 s after a new front session", nil},
		{history.RungPoke, verdict.NeedsPoke, false, "back 0.3 s after a manual reconnect", nil},
		{history.RungRestart, verdict.Wedged, false, "back 0.3 s after a restart", nil},
		{"", verdict.Unrecoverable, false, "not even after a restart, though a plain client works", nil},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			g := NewWithT(t)
			v := ladderCase(c.helps, c.change)
			g.Expect(v.Reason).To(BeEmpty())
			g.Expect(v.Result).To(Equal(c.class))
			g.Expect(v.Pass).To(Equal(c.pass))
			g.Expect(v.Note).To(Equal(c.note))
		})
	}
}

func TestAScenarioMayExpectLess(t *testing.T) {
	g := NewWithT(t)
	v := ladderCase(history.RungPoke, func(w *world) { w.Scenario.Expect = string(verdict.NeedsPoke) })
	g.Expect(v.Result).To(Equal(verdict.NeedsPoke))
	g.Expect(v.Pass).To(BeTrue())
}

func TestWithoutTimingsNoBoundIsKnown(t *testing.T) {
	g := NewWithT(t)
	bare := func(w *world) { w.Profile.Timings = nil }
	for _, rung := range []string{history.RungQuiet, history.RungPoke, history.RungRestart} {
		v := ladderCase(rung, bare)
		g.Expect(v.Result).To(Equal(verdict.NotRecovered), rung)
		g.Expect(v.Note).To(ContainSubstring("no timings are declared"))
		g.Expect(v.Budget).To(BeZero())
	}
	g.Expect(ladderCase(history.RungSession, bare).Result).To(Equal(verdict.NeedsNewSession))
	w := recovers()
	w.Profile.Timings = nil
	g.Expect(Judge(w.done(), nil).Result).To(Equal(verdict.Recovered), "coming back is coming back")
}

func TestSlow(t *testing.T) {
	g := NewWithT(t)
	late := func() *world {
		w := given()
		w.fault(death, "srv", 1000, 1010)
		w.at(1100).calls("srv", history.LoadProbe, 10, fails("EOF"))
		return w.at(3995).back(history.RungLoad, "srv")
	}
	v := Judge(late().done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Slow))
	g.Expect(v.BackAfter).To(Equal(2990 * time.Millisecond))
	g.Expect(v.Pass).To(BeFalse())

	// The same on a machine whose timers came 1.5 s late in that window.
	w := late()
	w.at(3000).add(history.Event{Kind: history.Tick, D: int64(1500 * time.Millisecond)})
	v = Judge(w.done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Recovered))
	g.Expect(v.Slack).To(BeNumerically("~", 2, 0.1))

	// And with the lateness before the window it does not help.
	w = late()
	w.at(990).add(history.Event{Kind: history.Tick, D: int64(900 * time.Millisecond)})
	g.Expect(Judge(w.done(), nil).Result).To(Equal(verdict.Slow))
}

func TestNobodyIsSlowWhoWasNotAsked(t *testing.T) {
	g := NewWithT(t)
	w := given()
	w.fault(death, "srv", 1000, 1010)
	v := Judge(w.at(3995).back(history.RungLoad, "srv").done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Recovered))
	g.Expect(v.BackAfter).To(Equal(2990 * time.Millisecond))
	g.Expect(v.Note).To(Equal("nobody asked for the first 3.0 s"))
}

func TestTheLabNamesTheFirstGoodCall(t *testing.T) {
	g := NewWithT(t)
	r := recovers().done()
	row := []int64{}
	good := -1
	for i, e := range r.Events {
		if e.Kind == history.CallBegin && e.Load == history.LoadProbe {
			row = append(row, e.Call)
		}
		if e.Kind == history.Good {
			good = i
		}
	}
	r.Events[good].Call = row[len(row)-2] // an earlier one was good as well, but did not count
	g.Expect(Judge(r, nil).BackAfter).To(Equal(210 * time.Millisecond))
	r.Events[good].Call = row[0] // that one was bad
	g.Expect(Judge(r, nil).Reason).To(Equal("no good call on record"))
}

func TestAFaultInTheScriptIsClimbedToo(t *testing.T) {
	g := NewWithT(t)
	wedged := func() *world {
		w := given()
		w.Scenario.Steps = []scenario.Step{{Call: "srv.echo"}}
		w.at(1000).add(history.Event{Kind: history.StepBegin})
		w.at(1010).rung(history.RungLoad, "srv")
		w.at(1020).calls("srv", history.LoadProbe, 10, fails("EOF"))
		return w
	}
	w := wedged()
	w.at(9000).rung(history.RungRestart, "srv").now = 9100
	v := Judge(w.back(history.RungRestart, "srv").done(), nil)
	g.Expect(v.Reason).To(BeEmpty())
	g.Expect(v.Result).To(Equal(verdict.Wedged))
	w = wedged()
	v = Judge(w.at(1200).back(history.RungLoad, "srv").done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Recovered))
	g.Expect(v.BackAfter).To(Equal(195 * time.Millisecond))
}

func TestTheCapBoundsTheBudget(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	w.MaxRecovery = int64(100 * time.Millisecond)
	v := Judge(w.done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Slow))
	g.Expect(v.Budget).To(Equal(100 * time.Millisecond))
}

func TestTargetExited(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	w.at(1400).add(history.Event{Kind: history.TargetExit, Detail: "exit status 2"})
	v := Judge(w.done(), nil)
	g.Expect(v.Result).To(Equal(verdict.TargetExited))
	g.Expect(v.Note).To(Equal("the target's process ended: exit status 2"))
	g.Expect(v.Pass).To(BeFalse())
	// It is so also when the fault could not be seen because of it.
	w = given()
	w.at(1000).add(history.Event{Kind: history.Inject, Fault: death, Server: "srv"})
	w.at(1001).add(history.Event{Kind: history.TargetExit, Detail: "exit status 2"})
	w.at(1002).add(history.Event{Kind: history.FaultError, Fault: death, Server: "srv", Detail: "nobody there"})
	g.Expect(Judge(w.done(), nil).Result).To(Equal(verdict.TargetExited))
}

func TestInconclusive(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		run    func() Run
	}{
		{"empty", "the history is empty", func() Run { return Run{} }},
		{"cut off", "the history breaks off before the run's end", func() Run { return recovers().Run }},
		{"interrupted", "interrupted", func() Run {
			return recovers().add(history.Event{Kind: history.Interrupt}).done()
		}},
		{"no baseline", "no baseline on record", func() Run { return without(recovers().done(), history.Baseline) }},
		{"bad baseline", "invalid: the baseline failed: peer: refused", func() Run {
			return recovers().add(history.Event{Kind: history.Baseline, Detail: "peer: refused"}).done()
		}},
		{"control bad after", "control failed: a plain client could not call: timed out", func() Run {
			return wedges().add(history.Event{Kind: history.Control, Detail: "timed out"}).done()
		}},
		{"control bad before", "control failed: a plain client could not call", func() Run {
			return wedges().add(history.Event{T: at(305), Kind: history.Control}).done()
		}},
		{"no control", "no control call on record after the fault", func() Run { return without(recovers().done(), history.Control) }},
		{"died before the fault", "invalid: the target's process ended before the fault: exit status 1", func() Run {
			return recovers().add(history.Event{T: at(500), Kind: history.TargetExit, Detail: "exit status 1"}).done()
		}},
		{"fault error", `fault crash-loop/on-start on "srv": no such life`, func() Run {
			return recovers().add(history.Event{Kind: history.FaultError, Fault: loop, Server: "srv", Detail: "no such life"}).done()
		}},
		{"not injected", "only 0 of 1 faults were injected", func() Run { return without(recovers().done(), history.Inject) }},
		{"not observed", `fault child-dies-idle/sigkill on "srv" was never seen to take effect`, func() Run {
			return without(recovers().done(), history.Observed)
		}},
		{"not lifted", `fault child-dies-idle/sigkill on "srv" was never lifted`, func() Run { return without(recovers().done(), history.Lifted) }},
		{"no ladder", "the recovery ladder was not climbed", func() Run { return without(recovers().done(), history.Good) }},
		{"no good call", "no good call on record", func() Run { return without(recovers().done(), history.CallEnd) }},
		{"no good call on a higher rung", "no good call on record", func() Run { return without(wedges().done(), history.CallEnd) }},
		{"a good call with a foreign answer", "no good call on record", func() Run {
			r := recovers().done()
			for i := range r.Events {
				r.Events[i].NonceOK = false
			}
			return r
		}},
		{"gave up early", "the ladder went on after 0.5 s, before the budget of 1.6 s was over", func() Run {
			w := given()
			w.fault(death, "srv", 1000, 1010)
			w.at(1510).rung(history.RungQuiet, "srv")
			w.at(1600).rung(history.RungRestart, "srv")
			return w.at(2000).back(history.RungRestart, "srv").done()
		}},
		{"ended below the restart", `the ladder ends at "poke" without a restart`, func() Run {
			w := given()
			w.fault(death, "srv", 1000, 1010)
			return w.at(9000).rung(history.RungPoke, "srv").done()
		}},
		{"unheard-of rung", `unknown rung "prayer"`, func() Run {
			w := given()
			w.fault(death, "srv", 1000, 1010)
			return w.at(9000).rung("prayer", "srv").back("prayer", "srv").done()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			v := Judge(c.run(), nil)
			g.Expect(v.Result).To(Equal(verdict.Inconclusive))
			g.Expect(v.Reason).To(Equal(c.reason))
			g.Expect(v.Pass).To(BeFalse())
		})
	}
}

// without is a history with all events of one kind taken out.
func without(r Run, k history.Kind) Run {
	var kept []history.Event
	for _, e := range r.Events {
		if e.Kind != k {
			kept = append(kept, e)
		}
	}
	r.Events = kept
	return r
}

func TestAStalledMachineAccusesNobody(t *testing.T) {
	g := NewWithT(t)
	stall := history.Event{T: at(5000), Kind: history.Stall, D: int64(4 * time.Second)}
	v := Judge(wedges().add(stall).done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Inconclusive))
	g.Expect(v.Reason).To(Equal("the machine stood still for 4.0 s"))
	// What recovered all the same has recovered.
	g.Expect(Judge(recovers().add(history.Event{T: at(1100), Kind: history.Stall, D: 1}).done(), nil).Pass).To(BeTrue())
	// A stall before the fault is no excuse.
	stall.T = at(900)
	g.Expect(Judge(wedges().add(stall).done(), nil).Result).To(Equal(verdict.Wedged))
}

func TestAWorldWithoutFaultsHasNothingToRecoverFrom(t *testing.T) {
	g := NewWithT(t)
	w := given()
	w.Scenario.Steps = []scenario.Step{{Call: "srv.echo"}}
	w.at(1000).add(history.Event{Kind: history.StepBegin})
	w.at(1000).calls("srv", history.LoadStep, 5, nil)
	v := Judge(w.at(1100).done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Recovered))
	g.Expect(v.Pass).To(BeTrue())
}

func TestOfSeveralServersTheWorstCounts(t *testing.T) {
	g := NewWithT(t)
	w := wedges()
	w.Events = append(w.Events, recoveryOf("peer")...)
	v := Judge(w.done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Wedged))
	g.Expect(v.Note).To(Equal("back 0.6 s after a restart"))
}

func recoveryOf(server string) []history.Event {
	w := &world{}
	w.call = 600
	w.fault(death, server, 1002, 1012)
	return w.at(1205).back(history.RungLoad, server).Events
}
