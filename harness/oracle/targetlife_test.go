package oracle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

// hit is a step on the target's own process.
func (w *world) hit(word string) *world {
	return w.add(history.Event{Kind: history.TargetHit, Detail: word})
}

func TestATargetThatCannotRunIsNotBlamed(t *testing.T) {
	g := NewWithT(t)
	frozen := func(from, to int) *world {
		w := recovers()
		w.at(1300).calls("peer", history.LoadBystander, 7000, nil)
		w.at(1310).calls("srv", history.LoadStep, 7000, fails("gone"))
		w.at(from).hit(scenario.TargetStop)
		return w.at(to).hit(scenario.TargetCont)
	}
	w := frozen(1290, 8200)
	g.Expect(Judge(w.at(8500).done(), nil).Findings).To(BeEmpty())

	w = frozen(1290, 1300)
	fs := find(g, "no hang", w.at(8500).done())
	g.Expect(fs).To(HaveLen(2), "it could run nearly all the time")
	g.Expect(find(g, "bystanders", w.done())).NotTo(BeEmpty())
}

func TestFreezesAreCutOut(t *testing.T) {
	g := NewWithT(t)
	w := given()
	w.at(1000).calls("srv", history.LoadStep, 1000, nil)
	w.at(500).hit(scenario.TargetStop)
	w.at(1100).hit(scenario.TargetCont)
	w.at(1500).hit(scenario.TargetStop)
	w.at(1600).add(history.Event{Kind: history.TargetExit, Expected: true})
	w.at(1900).hit(scenario.TargetStop)
	w.at(2500).add(history.Event{Kind: history.RunEnd})
	v := look(w.Run)
	c := v.calls[len(v.calls)-1]
	g.Expect(c.frozen).To(Equal(300 * time.Millisecond))
	g.Expect(c.took()).To(Equal(700 * time.Millisecond))
	g.Expect(v.calls[0].frozen).To(BeZero())
}

// A target that was started again starts its servers again; what it starts after that is its own affair.
func TestStartsOfATargetStartedAgain(t *testing.T) {
	g := NewWithT(t)
	again := func() *world {
		w := given()
		w.at(50).add(history.Event{Kind: history.TargetGo})
		w.at(1000).hit(scenario.TargetKill)
		w.at(1001).add(history.Event{Kind: history.TargetExit, Expected: true})
		w.at(1010).add(history.Event{Kind: history.TargetGo})
		w.at(1050).respawn("peer", 2)
		w.Scenario.NoRespawn = true
		return w
	}
	g.Expect(find(g, "no needless restart", again().done())).To(BeEmpty())
	w := again()
	w.at(1060).respawn("peer", 3)
	g.Expect(only(g, find(g, "no needless restart", w.done())).Server).To(Equal("peer"))

	storm := func(lives int) Run {
		w := again()
		w.Scenario.NoRespawn = false
		w.at(1002).rung(history.RungLoad, "peer")
		for life := range lives {
			w.at(1051).respawn("peer", 3+life)
		}
		return w.at(1052).done()
	}
	g.Expect(find(g, "spawn rate", storm(3))).To(BeEmpty())
	g.Expect(find(g, "spawn rate", storm(20))).NotTo(BeEmpty())
}
