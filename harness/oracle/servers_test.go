package oracle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/harness/verdict"
)

func TestSpawnStorms(t *testing.T) {
	const name = "spawn rate"
	// looping starts srv again every so often, from 1000 to 3000, and none of the lives answers a call.
	looping := func(everyMS int) *world {
		w := given()
		w.fault(loop, "srv", 1000, 3000)
		for i, ms := 2, 1010; ms < 3000; i, ms = i+1, ms+everyMS {
			w.at(ms).respawn("srv", i)
		}
		return w.at(3100).back(history.RungLoad, "srv")
	}
	g := NewWithT(t)
	g.Expect(find(g, name, looping(250).done())).To(BeEmpty())
	f := only(g, find(g, name, looping(20).done()))
	g.Expect(f.Note).To(Equal("101 starts in 3.0 s, where the declared schedule allows 20"))
	g.Expect(f.Server).To(Equal("srv"))
	g.Expect(f.Evidence).To(HaveLen(maxEvidence))

	w := looping(250)
	w.Scenario.Spawns = 4
	g.Expect(only(g, find(g, name, w.done())).Note).To(Equal("9 starts in 2.8 s, where the scenario allows 4"))

	w = looping(20)
	w.Profile.Spawns = perRequest
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "starts follow the load")
	w = looping(20)
	w.Profile.Timings = nil
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "no schedule is known")

	// Lives that answer prove themselves; each may be followed by an immediate start.
	w = given()
	w.fault(loop, "srv", 1000, 3000)
	for i := range 60 {
		w.at(1000+30*i).respawn("srv", i+2)
		w.at(1010 + 30*i).entry(journal.Entry{Kind: journal.Replied, Server: "srv", Life: i + 2, Method: "tools/call"})
	}
	g.Expect(find(g, name, w.at(3100).back(history.RungLoad, "srv").done())).To(BeEmpty())
}

func TestSpawnStormsOverHTTPCountSessions(t *testing.T) {
	g := NewWithT(t)
	w := given()
	w.Scenario.Servers["srv"] = scenario.Server{Transport: faults.HTTP}
	w.fault(loop, "srv", 1000, 1500)
	for i := range 100 {
		w.at(1000 + i).entry(journal.Entry{Kind: journal.Session, Server: "srv", Detail: "open"})
		w.at(1000 + i).entry(journal.Entry{Kind: journal.Session, Server: "srv", Detail: "close"})
	}
	f := only(g, find(g, "spawn rate", w.at(2000).done()))
	g.Expect(f.Note).To(HavePrefix("100 starts in "))
}

func TestScheduleAtItsFastest(t *testing.T) {
	g := NewWithT(t)
	tm := &target.Timings{BackoffMin: sd(time.Second), BackoffMax: sd(4 * time.Second), Retries: 3, ParkedRetry: sd(10 * time.Second)}
	// At once, then after halves of 1, 2 and 4 s, then one each half of 10 s.
	for span, n := range map[time.Duration]int{
		0: 1, 400 * time.Millisecond: 1, 500 * time.Millisecond: 2, 1500 * time.Millisecond: 3, 3500 * time.Millisecond: 4,
		8400 * time.Millisecond: 4, 8500 * time.Millisecond: 5,
	} {
		g.Expect(attempts(tm, span)).To(Equal(n), span.String())
	}
	tm.DemandInterval = sd(2 * time.Second)
	g.Expect(attempts(tm, 4500*time.Millisecond)).To(Equal(5), "demand comes more often than the parked retry")
	g.Expect(attempts(&target.Timings{BackoffMax: sd(time.Second)}, time.Second)).To(Equal(3))
}

func TestNeedlessRestarts(t *testing.T) {
	const name = "no needless restart"
	g := NewWithT(t)
	w := recovers()
	w.at(1300).respawn("peer", 2)
	f := only(g, find(g, name, w.done()))
	g.Expect(f.Server).To(Equal("peer"))
	g.Expect(f.Note).To(Equal(`"peer" was started again (pid 4731) though nothing called for it`))

	w = recovers()
	w.Scenario.NoRespawn = true
	g.Expect(only(g, find(g, name, w.done())).Server).To(Equal("srv"), "the scenario says so")

	w = recovers()
	w.at(1300).respawn("peer", 2)
	w.Scenario.Steps = append(w.Scenario.Steps, scenario.Step{Reconnect: "peer"})
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "somebody asked for it")

	w = recovers()
	w.at(1300).respawn("peer", 2)
	w.Profile.Spawns = perSession
	g.Expect(find(g, name, w.done())).To(BeEmpty())

	w = wedges()
	w.at(11060).respawn("peer", 2)
	g.Expect(find(g, name, w.at(12000).done())).To(BeEmpty(), "the harness restarted the target")

	inClose := func(ms int) Run {
		w := recovers()
		r := w.at(2000).done() // the close ends at 2150
		w.at(ms).respawn("srv", 3)
		r.Events = w.Events
		for i := range r.Events {
			if r.Events[i].Kind == history.CloseEnd {
				r.Events[i].D = int64(500 * time.Millisecond)
			}
		}
		return r
	}
	f = only(g, find(g, name, inClose(2140)))
	g.Expect(f.Note).To(Equal(`"srv" was started while the target was closing`))
	g.Expect(find(g, name, inClose(1700))).To(BeEmpty(), "it may have been under way when the close began")
}

func TestTwoLives(t *testing.T) {
	const name = "one life at a time"
	sign := func(k journal.Kind, ms int) *world {
		w := recovers() // life 2 starts at 1100
		w.at(ms).entry(journal.Entry{Kind: k, Server: "srv", Life: 1, Pid: 4711, Method: "tools/call"})
		return w.at(2000)
	}
	g := NewWithT(t)
	f := only(g, find(g, name, sign(journal.Request, 1150).done()))
	g.Expect(f.Note).To(Equal(`life 1 of "srv" was alive 50 ms after life 2 had started`))
	g.Expect(find(g, name, sign(journal.Exit, 1090).done())).To(BeEmpty(), "before the next one started")
	g.Expect(find(g, name, sign(journal.Late, 1150).done())).To(BeEmpty(), "that is the stdin holder")
	w := sign(journal.Request, 1150)
	w.Profile.Spawns = perRequest
	g.Expect(find(g, name, w.done())).To(BeEmpty())
	w = sign(journal.Request, 1150)
	w.Scenario.Servers["srv"] = scenario.Server{Transport: faults.HTTP}
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "the lab starts those")
	w = wedges() // life 2 starts after the restart
	w.at(11070).entry(journal.Entry{Kind: journal.EOF, Server: "srv", Life: 1})
	g.Expect(find(g, name, w.at(12000).done())).To(BeEmpty(), "the harness restarted the target")
}

func TestDeadPipeWrites(t *testing.T) {
	const name = "no write to the dead"
	late := func(ms, bytes int) Run {
		w := recovers() // killed at 1000
		w.at(ms).entry(journal.Entry{Kind: journal.Late, Server: "srv", Life: 1, Bytes: bytes})
		return w.at(2000).done()
	}
	g := NewWithT(t)
	f := only(g, find(g, name, late(1400, 57)))
	g.Expect(f.Note).To(Equal("57 bytes were written to a process that had been dead for 0.4 s"))
	g.Expect(find(g, name, late(1090, 57))).To(BeEmpty(), "they may have been on their way")
	g.Expect(find(g, name, late(1400, 0))).To(BeEmpty(), "nothing came")
	r := late(1400, 57)
	for _, e := range r.Events {
		if e.Entry != nil && e.Entry.Kind == journal.Late {
			e.Entry.Detail = journal.LateUnread
		}
	}
	g.Expect(find(g, name, r)).To(BeEmpty(), "they lay there when it died")
}

func TestOrphans(t *testing.T) {
	const name = "no orphans"
	g := NewWithT(t)
	w := recovers()
	w.add(history.Event{Kind: history.Leftover, Server: "srv", Pid: 77, Expected: true, Detail: "stdin holder"})
	g.Expect(find(g, name, w.done())).To(BeEmpty())
	w.add(history.Event{Kind: history.Leftover, Server: "srv", Pid: 78, Detail: "fake --server srv"})
	w.add(history.Event{Kind: history.Leftover, Pid: 79})
	w.add(history.Event{Kind: history.Leftover, Pid: 4712})
	fs := find(g, name, w.Run)
	g.Expect(fs).To(HaveLen(3), "one for each server, one for no server")
	g.Expect(fs[1].Server).To(Equal("peer"), "found by its pid in the journal")
	g.Expect(fs[2].Note).To(Equal("process 78 is alive after the close"))
	g.Expect(fs[2].Evidence[1].Text).To(Equal("pid 78 is alive: fake --server srv"))
}

func TestSlowCloses(t *testing.T) {
	const name = "bounded stop"
	closing := func(took time.Duration, ok bool) *world {
		w := recovers()
		return w.at(5000).add(history.Event{Kind: history.CloseEnd, OK: ok, D: int64(took), Detail: "killed"})
	}
	g := NewWithT(t)
	g.Expect(find(g, name, closing(740*time.Millisecond, true).done())).To(BeEmpty(), "two graces and a kill")
	f := only(g, find(g, name, closing(760*time.Millisecond, true).done()))
	g.Expect(f.Note).To(Equal("closing took 0.8 s"))
	g.Expect(f.Expected).To(Equal("a close within 0.8 s, two graces and a kill"))
	f = only(g, find(g, name, closing(100*time.Millisecond, false).done()))
	g.Expect(f.Note).To(Equal("closing did not end within 0.1 s"))
	g.Expect(f.Evidence[1].Text).To(Equal("it was cut short: killed"))
	w := closing(time.Minute, true)
	w.Profile.Timings = nil
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "no grace is declared")
	w = closing(760*time.Millisecond, true)
	w.at(4900).add(history.Event{Kind: history.Tick, D: int64(300 * time.Millisecond)})
	g.Expect(find(g, name, w.at(5100).done())).To(BeEmpty(), "the machine was slow")
}

func TestRegistryLies(t *testing.T) {
	const name = "registry truth"
	listing := func(want string, e history.Event) Run {
		w := recovers()
		w.Scenario.Steps = append(w.Scenario.Steps, scenario.Step{ListTools: "srv", Tools: want})
		e.Kind, e.Step, e.Server, e.Load = history.ListEnd, 3, "srv", history.LoadStep
		return w.at(2000).add(e).done()
	}
	some := []driver.Tool{{Server: "srv", Name: "echo"}, {Server: "srv", Name: "made-up"}}
	broken := history.Event{Err: &driver.Error{Message: "srv is down"}}
	for _, c := range []struct {
		name  string
		run   Run
		kinds []string
		note  string
	}{
		{"all offered", listing("all", history.Event{Tools: toolsOf("srv", "peer")}), nil, ""},
		{"none offered, all wanted", listing("all", history.Event{Tools: toolsOf("peer")}), []string{verdict.FindingMissingTool},
			`step 4: tools of "srv" are not on offer: add, big, echo, effect, env, fail, progress, sleep`},
		{"some offered, one made up", listing("all", history.Event{Tools: some}), []string{verdict.FindingMissingTool, verdict.FindingPhantomTool}, ""},
		{"withdrawn", listing("none", history.Event{Tools: toolsOf("peer")}), nil, ""},
		{"not withdrawn", listing("none", history.Event{Tools: toolsOf("srv")}), []string{verdict.FindingPhantomTool},
			`step 4: 8 tools of "srv" are on offer though it is withdrawn`},
		{"either", listing("any", history.Event{Tools: some}), nil, ""},
		{"either, but listing failed", listing("any", broken), []string{verdict.FindingMissingTool}, `step 4: listing the tools failed: "srv is down"`},
		{"listing failed without a word", listing("none", history.Event{Err: &driver.Error{}}), []string{verdict.FindingMissingTool},
			"step 4: listing the tools failed, error text empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			fs := find(g, name, c.run)
			g.Expect(kindsOf(fs)).To(Equal(c.kinds))
			if c.note != "" {
				g.Expect(fs[0].Note).To(Equal(c.note))
			}
		})
	}
}

func TestRegistryAfterARecovery(t *testing.T) {
	const name = "registry truth"
	list := func(r Run, tools []driver.Tool) Run {
		for i, e := range r.Events {
			if e.Kind == history.ListEnd {
				r.Events[i].Tools = tools
			}
		}
		return r
	}
	g := NewWithT(t)
	f := only(g, find(g, name, list(recovers().done(), toolsOf("peer"))))
	g.Expect(f.Note).To(HavePrefix(`after the recovery: tools of "srv" are not on offer`))
	g.Expect(find(g, name, list(wedges().done(), toolsOf("peer")))).To(BeEmpty(), "a restarted target says nothing of the first")

	w := recovers()
	w.at(1310).add(history.Event{Kind: history.ListEnd, Load: history.LoadExtra})
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "the last list counts")
}

func TestRegistryFollowsAChangedToolSet(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	s := w.Scenario.Servers["srv"]
	s.Script = script.Script{Tools: []string{"echo", "add"}, Rules: []script.Rule{{Do: []script.Action{{SetTools: []string{"-add", "+extra"}}}}}}
	w.Scenario.Servers["srv"] = s
	w.at(1500).entry(journal.Entry{Kind: journal.Rule, Server: "srv", Rule: "rule 1", Life: 2})
	r := w.done()
	for i, e := range r.Events {
		if e.Kind == history.ListEnd {
			r.Events[i].Tools = []driver.Tool{{Server: "srv", Name: "echo"}, {Server: "srv", Name: "add"}}
		}
	}
	fs := find(g, "registry truth", r)
	g.Expect(fs).To(HaveLen(2))
	g.Expect(fs[0].Note).To(Equal(`after the recovery: tools of "srv" are not on offer: extra`))
	g.Expect(fs[1].Note).To(Equal(`after the recovery: "srv" has no such tools: add`))
}
