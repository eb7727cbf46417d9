package oracle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/history"
)

// closesAt closes the target at ms for 300 ms while a call of the scenario's is in flight since 1200; end spoils the call.
func closesAt(ms, took int, end func(begin, end *history.Event)) Run {
	w := recovers()
	w.at(1200).calls("srv", history.LoadStep, took, end)
	w.at(ms + 300).add(history.Event{Kind: history.CloseEnd, OK: true, D: int64(300 * time.Millisecond)})
	w.add(history.Event{Kind: history.TargetExit, Expected: true})
	return w.at(ms + 400).add(history.Event{Kind: history.RunEnd}).Run
}

func TestUntoldCalls(t *testing.T) {
	const name = "told of the close"
	g := NewWithT(t)
	g.Expect(find(g, name, closesAt(1500, 350, fails("the supervisor was closed")))).To(BeEmpty(), "told after 50 ms")
	g.Expect(find(g, name, closesAt(1500, 350, nil))).To(BeEmpty(), "answered")
	g.Expect(find(g, name, closesAt(1500, 100, fails("gone")))).To(BeEmpty(), "it was over before the close")
	g.Expect(find(g, name, closesAt(1210, 350, never))).To(BeEmpty(), "it may not have arrived yet")

	f := only(g, find(g, name, closesAt(1500, 590, fails("closed"))))
	g.Expect(f.Server).To(Equal("srv"))
	g.Expect(f.Note).To(Equal("a call to srv.echo was in flight when the target closed, and was not told"))
	g.Expect(f.Expected).To(ContainSubstring("of the close"))
	g.Expect(only(g, find(g, name, closesAt(1500, 0, never))).Kind).To(Equal("hung-call"))
	left := func(b, e *history.Event) {
		fails("the target is gone")(b, e)
		e.Detail = "the target was gone"
	}
	g.Expect(only(g, find(g, name, closesAt(1500, 310, left))).Evidence[2].Text).To(ContainSubstring("nobody answers"))
}

func TestResourceGrowth(t *testing.T) {
	const name = "no growth"
	g := NewWithT(t)
	holds := func(after history.Event) Run {
		w := given()
		w.at(320).add(history.Event{Kind: history.Resources, Pid: 4000, FDs: 20, Procs: 2, RSS: 30 << 20, Detail: "baseline"})
		w.fault(death, "srv", 1000, 1010)
		after.Kind, after.Detail = history.Resources, "after"
		w.at(2000).add(after)
		return w.done()
	}
	g.Expect(find(g, name, holds(history.Event{Pid: 4000, FDs: 25, Procs: 2, RSS: 90 << 20}))).To(BeEmpty())
	g.Expect(find(g, name, holds(history.Event{Pid: 4001, FDs: 2500, Procs: 9}))).To(BeEmpty(), "another process")
	f := only(g, find(g, name, holds(history.Event{Pid: 4000, FDs: 80, Procs: 2})))
	g.Expect(f.Note).To(Equal("the target holds 80 descriptors, 20 before the fault"))
	g.Expect(f.Expected).To(Equal("at most 32 once everything has recovered"))
	g.Expect(only(g, find(g, name, holds(history.Event{Pid: 4000, FDs: 20, Procs: 7}))).Note).To(ContainSubstring("7 processes"))
	g.Expect(only(g, find(g, name, holds(history.Event{Pid: 4000, FDs: 20, RSS: 900 << 20}))).Note).To(ContainSubstring("MiB"))
}
