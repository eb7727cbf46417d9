package oracle

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/verdict"
)

func TestHungStarts(t *testing.T) {
	const name = "bounded start"
	g := NewWithT(t)
	// silent is a world whose second life starts at 1100 and never speaks; the profile's connect timeout is 1 s.
	silent := func() *world {
		w := given().fault(loop, "srv", 1000, 9000)
		return w.at(1100).entry(journal.Entry{Kind: journal.Spawn, Server: "srv", Life: 2, Pid: 4800})
	}
	told := func(w *world, ms int, k journal.Kind) *world {
		return w.at(ms).entry(journal.Entry{Kind: k, Server: "srv", Life: 2, Pid: 4800})
	}
	g.Expect(find(g, name, told(silent(), 2110, journal.EOF).at(9500).done())).To(BeEmpty(), "ended in time")
	g.Expect(find(g, name, told(silent(), 5100, journal.Signal).at(9500).done())).To(HaveLen(1))
	f := only(g, find(g, name, told(silent(), 8000, journal.PhaseSet).at(9500).done()))
	g.Expect(f.Kind).To(Equal(verdict.FindingHungStart))
	g.Expect(f.Note).To(ContainSubstring(`life 2 of "srv" never answered the handshake`))

	g.Expect(find(g, name, silent().at(9500).done())).To(BeEmpty(), "it may have been killed: nothing tells that it lived on")
	spoke := silent().at(1200).entry(journal.Entry{Kind: journal.Replied, Server: "srv", Life: 2, Method: "initialize"})
	g.Expect(find(g, name, told(spoke, 5100, journal.EOF).done())).To(BeEmpty(), "it answered")
	early := given()
	early.at(120).entry(journal.Entry{Kind: journal.Spawn, Server: "srv", Life: 2}).fault(death, "srv", 1000, 1010)
	g.Expect(find(g, name, told(early, 5100, journal.EOF).done())).To(BeEmpty(), "before the fault anything may be started")
	undeclared := told(silent(), 5100, journal.Signal)
	undeclared.Profile.Timings = nil
	g.Expect(find(g, name, undeclared.done())).To(BeEmpty())
}

func TestUntoldReasons(t *testing.T) {
	const name, mute = "reasons", "child-exits-before-init/at-once"
	g := NewWithT(t)
	// refused is a world whose second life says why it cannot start and exits; a step's call then fails with this text.
	refused := func(text string) *world {
		w := given()
		w.Faults[mute] = faults.Info{ID: mute, Class: "child-exits-before-init", Transport: faults.Stdio, Loud: true, Rules: []script.Rule{{
			Do: []script.Action{{WriteStderr: "fatal: out of cheese\n"}, {Exit: new(3)}},
		}}}
		w.fault(mute, "srv", 1000, 3000)
		w.at(1100).entry(journal.Entry{Kind: journal.Spawn, Server: "srv", Life: 2, Pid: 4800})
		w.at(1120).entry(journal.Entry{Kind: journal.Exit, Server: "srv", Life: 2, Code: 3})
		w.at(1050).calls("srv", history.LoadStep, 100, fails(text))
		return w.at(1500)
	}
	f := only(g, find(g, name, refused("connection closed").done()))
	g.Expect(f.Kind).To(Equal(verdict.FindingUselessError))
	g.Expect(f.Expected).To(ContainSubstring("out of cheese"))
	g.Expect(find(g, name, refused("srv exited with status 3").done())).To(BeEmpty())
	g.Expect(find(g, name, refused(`srv is gone: "fatal: out of cheese"`).done())).To(BeEmpty())

	one := refused("circuit breaker is open")
	one.at(1600).calls("srv", history.LoadStep, 20, fails("process 4800 exited with status 3"))
	g.Expect(find(g, name, one.done())).To(BeEmpty(), "one caller is enough")
	never := given()
	never.Faults[mute] = refused("").Faults[mute]
	never.fault(mute, "srv", 1000, 3000).at(1050).calls("srv", history.LoadStep, 100, fails("connection closed"))
	g.Expect(find(g, name, never.done())).To(BeEmpty(), "nothing was started that could have said anything")
}

func TestNeedlessStops(t *testing.T) {
	const name = "no needless stop"
	g := NewWithT(t)
	stopped := func(ms int, k journal.Kind) *world {
		w := given()
		w.Scenario.NoRespawn = true
		w.fault(death, "srv", 1000, 1010)
		w.at(ms).entry(journal.Entry{Kind: k, Server: "srv", Life: 1, Pid: 4711})
		return w.at(max(ms, 2500)) // the close comes later
	}
	f := only(g, find(g, name, stopped(1500, journal.Signal).done()))
	g.Expect(f.Kind).To(Equal(verdict.FindingNeedlessRestart))
	g.Expect(find(g, name, stopped(1500, journal.EOF).done())).To(HaveLen(1))
	g.Expect(find(g, name, stopped(500, journal.EOF).done())).To(BeEmpty(), "before the fault")

	called := stopped(1500, journal.EOF)
	called.Scenario.NoRespawn = false
	g.Expect(find(g, name, called.done())).To(BeEmpty(), "the fault called for it")
	closing := stopped(2500, journal.EOF).at(2600).add(history.Event{Kind: history.CloseEnd, OK: true, D: 200_000_000})
	g.Expect(find(g, name, closing.done())).To(BeEmpty(), "the target was closing")
	ended := stopped(2500, journal.EOF).at(2510).add(history.Event{Kind: history.TargetExit})
	g.Expect(find(g, name, ended.done())).To(BeEmpty(), "the target had ended")
}
