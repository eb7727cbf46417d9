package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// defective is a recovery with one finding: an empty error text.
func defective() *world {
	w := recovers()
	w.at(2000).calls("srv", history.LoadProbe, 5, fails(""))
	return w.at(2500)
}

func TestATwinVoidsWhatItShowsToo(t *testing.T) {
	g := NewWithT(t)
	twin := defective().done()
	v := Judge(defective().done(), &twin)
	g.Expect(v.Findings).To(BeEmpty())
	g.Expect(v.Voided).To(Equal([]string{verdict.FindingUselessError}))
	g.Expect(v.Pass).To(BeTrue())

	good := recovers().done()
	v = Judge(defective().done(), &good)
	g.Expect(kindsOf(v.Findings)).To(Equal([]string{verdict.FindingUselessError}))
	g.Expect(v.Voided).To(BeEmpty())
	g.Expect(v.Pass).To(BeFalse())
}

func TestATwinIsNotAskedForWhatItsFaultWouldCause(t *testing.T) {
	g := NewWithT(t)
	listing := func(w *world) Run {
		w.Scenario.Steps = append(w.Scenario.Steps, scenario.Step{ListTools: "srv", Tools: scenario.ToolsNone})
		return w.at(1500).add(history.Event{Kind: history.ListEnd, Step: 3, Server: "srv", Load: history.LoadStep, Tools: toolsOf("srv")}).done()
	}
	twin := listing(given())
	v := Judge(listing(recovers()), &twin)
	g.Expect(kindsOf(v.Findings)).To(Equal([]string{verdict.FindingPhantomTool}))
	g.Expect(v.Voided).To(BeEmpty())
}

func TestTheBuiltInSupervisorsTwinVoidsNothing(t *testing.T) {
	g := NewWithT(t)
	r, twin := defective().done(), defective().done()
	r.Profile.BuiltIn, twin.Profile.BuiltIn = true, true
	v := Judge(r, &twin)
	g.Expect(v.Pass).To(BeFalse())
	g.Expect(v.Findings[0].Note).To(HaveSuffix(" (without the fault, too)"))
}

func TestAnOracleThatBreaksAcquitsNobody(t *testing.T) {
	g := NewWithT(t)
	broken := append(All(), Oracle{Name: "doom", find: func(*view) []verdict.Finding { panic("no luck") }})
	v := judge(recovers().done(), nil, broken, climb)
	g.Expect(v.Result).To(Equal(verdict.Inconclusive))
	g.Expect(v.Reason).To(Equal("the oracle of doom broke: no luck"))
	g.Expect(v.Pass).To(BeFalse())

	v = judge(wedges().done(), nil, broken, climb)
	g.Expect(v.Result).To(Equal(verdict.Wedged), "what others have seen stands")

	v = judge(recovers().done(), nil, All(), func(*view) outcome { panic("no luck") })
	g.Expect(v.Result).To(Equal(verdict.Inconclusive))
	g.Expect(v.Reason).To(Equal("the recovery ladder broke: no luck"))
}

func TestAnInconclusiveRunKeepsOnlyWhatStandsByItself(t *testing.T) {
	g := NewWithT(t)
	w := defective()
	w.add(history.Event{Kind: history.Stderr, Text: canary})
	w.add(history.Event{Kind: history.FaultError, Fault: death, Server: "srv", Detail: "no such life"})
	v := Judge(w.done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Inconclusive))
	g.Expect(kindsOf(v.Findings)).To(Equal([]string{verdict.FindingSecret}))
	g.Expect(verdict.ExitCode([]verdict.Verdict{v}, false, verdict.FailOn{})).To(Equal(verdict.ExitFail))
}

func TestTimedFindingsDoNotOutliveAStall(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	w.at(2000).calls("srv", history.LoadProbe, 5600, fails("srv: timeout"))
	w.at(7000).add(history.Event{Kind: history.Stall, D: int64(4 * time.Second)})
	v := Judge(w.at(8000).done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Inconclusive))
	g.Expect(v.Findings).To(BeEmpty())
}

func TestSettingsOfTheScenarioChangeTheBudget(t *testing.T) {
	g := NewWithT(t)
	r := recovers().done()
	r.Scenario.Settings = map[string]int64{"cooldown_ms": 2000}
	g.Expect(Judge(r, nil).BudgetSum).To(Equal("(cooldown 2 + connect 1 + backoff 0.05) x 1"))
}

func lines(ls []verdict.Line) string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, "%.1f %s\n", l.At.Seconds(), l.Text)
	}
	return b.String()
}

func TestTheStoryOfAWedge(t *testing.T) {
	g := NewWithT(t)
	g.Expect(lines(Judge(wedges().done(), nil).Story)).To(Equal(strings.TrimPrefix(`
0.0 server "srv": life 1 (pid 4711) killed with SIGKILL while idle; spawns so far: 1
0.0 calls 1-22 failed: "client is closing: EOF", the last at 9.1 s
8.0 still failing, spawns now 1; traffic pauses
9.0 still failing, spawns now 1; a manual reconnect is asked for
10.0 still failing, spawns now 1; the target is restarted
10.6 calls 23-25 were answered
10.6 back 0.6 s after a restart
10.7 a plain client starts and calls the same server in 12 ms
`, "\n")))
}

func TestALongStoryIsCut(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	for i := range 40 {
		w.at(2000+50*i).calls("srv", history.LoadProbe, 5, map[bool]func(b, e *history.Event){true: fails("EOF"), false: nil}[i%2 == 0])
	}
	story := Judge(w.at(5000).done(), nil).Story
	g.Expect(len(story)).To(BeNumerically("<", 12))
	g.Expect(lines(story)).To(ContainSubstring("more calls, now good, now bad"))
}

func TestSymptomsIgnoreWhatDiffersFromRunToRun(t *testing.T) {
	g := NewWithT(t)
	with := func(text string) string {
		r := wedges().done()
		for i, e := range r.Events {
			if e.Err != nil {
				r.Events[i].Err = &driver.Error{Message: text}
			}
		}
		return Judge(r, nil).Symptom
	}
	g.Expect(with(`calling "echo" on srv: pid 4711: EOF after 12.5ms`)).To(Equal(with(`calling "add" on srv: pid 99: EOF after 3ms`)))
	g.Expect(with("EOF")).NotTo(Equal(with("context deadline exceeded")))
}

// stories are histories of every kind, for the properties below.
func stories() map[string]Run {
	storm := given()
	storm.fault(loop, "srv", 1000, 3000)
	for i := range 100 {
		storm.at(1010+20*i).respawn("srv", i+2)
	}
	twice := recovers()
	twice.entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: "effect", Nonce: "n"})
	twice.entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: "effect", Nonce: "n"})
	return map[string]Run{
		"recovers": recovers().done(), "wedges": wedges().done(), "defective": defective().done(),
		"storm": storm.at(3100).back(history.RungLoad, "srv").done(), "twice": twice.done(),
	}
}

// same is what of a verdict must not depend on how a history is written down.
func same(v verdict.Verdict) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestTheOrderOfWritingDoesNotMatter(t *testing.T) {
	for name, r := range stories() {
		want := same(Judge(r, nil))
		rapid.Check(t, func(t *rapid.T) {
			shuffled := r
			shuffled.Events = slices.Clone(r.Events)
			seed := rapid.Uint64().Draw(t, "seed")
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled.Events), func(i, j int) {
				shuffled.Events[i], shuffled.Events[j] = shuffled.Events[j], shuffled.Events[i]
			})
			if got := same(Judge(shuffled, nil)); got != want {
				t.Fatalf("%s: %s\nbecame %s", name, want, got)
			}
		})
	}
}

func TestUnrelatedEventsDoNotMatter(t *testing.T) {
	unrelated := []history.Event{
		{Kind: history.Status, Servers: []driver.ServerStatus{{Name: "srv", State: "connected"}}},
		{Kind: history.Resources, FDs: 12, RSS: 1 << 20},
		{Kind: history.Target, Target: &driver.Event{Server: "srv", Kind: "state", Detail: "ready"}},
		{Kind: history.Tick}, {Kind: history.Stderr, Text: "hello"}, {Kind: history.Control, OK: true, D: int64(12 * time.Millisecond)},
		{Kind: history.Journal, Entry: &journal.Entry{Kind: journal.Spawn, Server: "srv", Role: "control", Life: 1}},
		{Kind: history.Journal, Entry: &journal.Entry{Kind: journal.Executed, Server: "srv", Role: "control", Tool: "effect", Nonce: "c"}},
	}
	// judged is what must stay; the story tells of the last control call, whenever that was.
	judged := func(v verdict.Verdict) string { v.Story = nil; return same(v) }
	for name, r := range stories() {
		want := judged(Judge(r, nil))
		last := int(r.Events[len(r.Events)-1].T / at(1))
		rapid.Check(t, func(t *rapid.T) {
			more := r
			more.Events = slices.Clone(r.Events)
			for range rapid.IntRange(1, 10).Draw(t, "n") {
				e := rapid.SampledFrom(unrelated).Draw(t, "event")
				e.T = at(rapid.IntRange(1, last).Draw(t, "at"))
				if e.Entry != nil {
					j := *e.Entry
					j.T = e.T
					e.Entry = &j
				}
				more.Events = append(more.Events, e)
			}
			if got := judged(Judge(more, nil)); got != want {
				t.Fatalf("%s: %s\nbecame %s", name, want, got)
			}
		})
	}
}

func TestACutHistoryNeverPasses(t *testing.T) {
	g := NewWithT(t)
	for name, r := range stories() {
		for n := range r.Events {
			cut := r
			cut.Events = r.Events[:n]
			v := Judge(cut, nil)
			g.Expect(v.Pass).To(BeFalse(), "%s, cut to %d events", name, n)
			g.Expect(v.Result).To(Equal(verdict.Inconclusive), "%s, cut to %d events", name, n)
		}
	}
}

func TestALostEventNeverMakesAPassOfAFailure(t *testing.T) {
	// Losing the evidence of a finding may lose the finding; what the ladder found must not turn into a pass.
	g := NewWithT(t)
	r := wedges().done()
	for n := range r.Events {
		cut := r
		cut.Events = slices.Delete(slices.Clone(r.Events), n, n+1)
		g.Expect(Judge(cut, nil).Pass).To(BeFalse(), "without event %d, %s", n, r.Events[n].Kind)
	}
}

func BenchmarkJudge(b *testing.B) {
	w := recovers()
	for i := range 5000 {
		w.at(2000+3*i).calls("peer", history.LoadBystander, 5, nil)
		w.at(2000 + 3*i).add(history.Event{Kind: history.Tick, D: 1000})
		w.entry(journal.Entry{Kind: journal.Request, Server: "peer", Life: 1, Nonce: fmt.Sprint(i)})
	}
	r := w.at(20000).done()
	for b.Loop() {
		Judge(r, nil)
	}
}

func TestSymptomsTellTheStateNotTheDeath(t *testing.T) {
	g := NewWithT(t)
	g.Expect(state("connection closed: calling _: client is closing: eof")).To(Equal(state("connection closed: calling _: client is closing: broken pipe")))
	g.Expect(state("context deadline exceeded")).To(Equal("context deadline exceeded"))
	g.Expect(state("calling _: eof")).NotTo(Equal(state("calling _: broken pipe")), "there a death is all that is told")
}
