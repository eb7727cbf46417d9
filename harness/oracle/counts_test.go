package oracle

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

func TestUnexpectedCounts(t *testing.T) {
	const name = "expected counts"
	g := NewWithT(t)
	// counted is a world in which srv reads so many lists after the injection, and the step that counts them.
	counted := func(lists int, st scenario.Step) *world {
		w := given()
		w.Scenario.Steps = []scenario.Step{{Kill: "srv"}, st}
		w.at(900).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 1, Method: "tools/list"}) // before the injection
		w.fault(death, "srv", 1000, 1010)
		for i := range lists {
			w.at(1100 + i).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 1, Method: "tools/list"})
			w.entry(journal.Entry{Kind: journal.Request, Server: "peer", Life: 1, Method: "tools/list"})
			w.entry(journal.Entry{Kind: journal.Request, Server: "srv", Role: "control", Method: "tools/list"})
			w.entry(journal.Entry{Kind: journal.Replied, Server: "srv", Method: "tools/list"})
		}
		w.at(1900).add(history.Event{Kind: history.StepEnd, Step: 1, OK: true})
		w.at(1950).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 1, Method: "tools/list"}) // after the step
		return w.at(2000).back(history.RungLoad, "srv")
	}
	step := scenario.Step{Seen: "srv", Method: "tools/list", Least: 1, Most: new(2)}
	g.Expect(find(g, name, counted(1, step).done())).To(BeEmpty())
	g.Expect(find(g, name, counted(2, step).done())).To(BeEmpty())
	f := only(g, find(g, name, counted(3, step).done()))
	g.Expect(f.Kind).To(Equal(verdict.FindingCount))
	g.Expect(f.Note).To(Equal(`step 2: "srv" read tools/list 3 times`))
	g.Expect(f.Expected).To(Equal("at most 2"))
	f = only(g, find(g, name, counted(0, step).done()))
	g.Expect(f.Expected).To(Equal("at least 1"))

	// Without the fault nothing brings about the least of it; the most holds there as well.
	twin := func(r Run) []verdict.Finding {
		w := look(r)
		w.twin = true
		return unexpectedCounts(w)
	}
	g.Expect(twin(counted(0, step).done())).To(BeEmpty())
	g.Expect(twin(counted(3, step).done())).To(HaveLen(1))
	calls := scenario.Step{Seen: "srv", Method: "tools/call", Most: new(0)}
	w := counted(0, calls)
	w.at(1500).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 1, Method: "tools/call"})
	r := w.at(2100).done()
	g.Expect(find(g, name, r)).To(HaveLen(1))
	g.Expect(twin(r)).To(BeEmpty(), "no fault keeps the calls away there")
}

func TestCountsBeginWhereTheLastOneEnded(t *testing.T) {
	g := NewWithT(t)
	w := given()
	withdrawn := scenario.Step{Seen: "srv", Event: "tools-withdrawn", Most: new(1)}
	w.Scenario.Steps = []scenario.Step{{Kill: "srv"}, withdrawn, withdrawn}
	w.fault(death, "srv", 1000, 1010)
	tell := func(ms int, server string) {
		w.at(ms).add(history.Event{Kind: history.Target, Server: server, Target: &driver.Event{Server: server, Kind: "tools-withdrawn"}})
	}
	tell(1100, "srv")
	tell(1100, "peer")
	w.at(1200).add(history.Event{Kind: history.StepEnd, Step: 1, OK: true})
	tell(1300, "srv")
	w.at(1400).add(history.Event{Kind: history.StepEnd, Step: 2, OK: true})
	g.Expect(find(g, "expected counts", w.at(2000).back(history.RungLoad, "srv").done())).To(BeEmpty())
	tell(1350, "srv")
	f := only(g, find(g, "expected counts", w.done()))
	g.Expect(f.Note).To(Equal(`step 3: the target told of tools-withdrawn of "srv" 2 times`))
}

// A step that was never reached counts nothing; a client's answers are counted apart from its requests.
func TestCountsOfStepsAndAnswers(t *testing.T) {
	g := NewWithT(t)
	w := given()
	w.Scenario.Steps = []scenario.Step{{Kill: "srv"}, {Seen: "srv", Method: history.Answer, Least: 1}, {Seen: "srv", Method: "ping", Least: 1}}
	w.fault(death, "srv", 1000, 1010)
	w.at(1100).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 1, Detail: "response", ID: `"from-the-server"`})
	w.at(1200).add(history.Event{Kind: history.StepEnd, Step: 1, OK: true})
	g.Expect(find(g, "expected counts", w.at(2000).back(history.RungLoad, "srv").done())).To(BeEmpty())
}
