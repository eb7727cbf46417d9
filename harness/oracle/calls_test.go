package oracle

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/verdict"
)

// find asks the oracle of one name.
func find(g *WithT, name string, r Run) []verdict.Finding {
	for _, o := range All() {
		if o.Name == name {
			fs := o.Find(r)
			for _, f := range fs {
				g.Expect(o.Kinds).To(ContainElement(f.Kind), "an oracle makes the kinds it says")
				g.Expect(f.Note).NotTo(BeEmpty())
				g.Expect(f.Expected).NotTo(BeEmpty())
				g.Expect(len(f.Evidence)).To(And(BeNumerically(">=", 1), BeNumerically("<=", maxEvidence)))
			}
			return fs
		}
	}
	g.Fail("no oracle is called " + name)
	return nil
}

// only expects just one finding and returns it.
func only(g *WithT, fs []verdict.Finding) verdict.Finding {
	g.THelper()
	g.Expect(fs).To(HaveLen(1))
	return fs[0]
}

func TestEveryOraclePassesTheStandardStoriesAndAnEmptyOne(t *testing.T) {
	g := NewWithT(t)
	for _, o := range All() {
		g.Expect(o.Meaning).NotTo(BeEmpty())
		g.Expect(o.Find(recovers().done())).To(BeEmpty(), o.Name)
		g.Expect(o.Find(wedges().done())).To(BeEmpty(), o.Name)
		g.Expect(o.Find(Run{})).To(BeEmpty(), o.Name)
		g.Expect(o.Find(given().done())).To(BeEmpty(), o.Name)
	}
}

func TestHungCalls(t *testing.T) {
	const name = "no hang"
	fast := func(b, e *history.Event) { b.Fast = true; fails("srv: gone")(b, e) }

	t.Run("silence until the deadline is what a deadline is for", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 5200, fails("timeout"))
		g.Expect(find(g, name, w.at(7500).done())).To(BeEmpty())
	})
	t.Run("an end long after the deadline", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 5600, fails("timeout"))
		f := only(g, find(g, name, w.at(7500).done()))
		g.Expect(f.Note).To(Equal("a call to srv.echo with a deadline of 5.0 s ended after 5.6 s"))
		g.Expect(f.Expected).To(Equal("an answer or an error within 5.5 s"))
		g.Expect(f.Evidence[0].At).To(Equal(time.Second))
	})
	t.Run("no end at all", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 0, never)
		f := only(g, find(g, name, w.at(9000).done()))
		g.Expect(f.Note).To(Equal("a call to srv.echo with a deadline of 5.0 s was never answered"))
	})
	t.Run("given up on by the harness", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 12000, func(_, e *history.Event) { *e = history.Event{T: e.T, Kind: e.Kind, Call: e.Call} })
		f := only(g, find(g, name, w.at(15000).done()))
		g.Expect(f.Note).To(HaveSuffix("was never answered"))
		g.Expect(f.Evidence[1].Text).To(Equal("given up on; still no answer"))
	})
	t.Run("no end, but the target was closed or killed before the deadline", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 0, never)
		g.Expect(find(g, name, w.at(6000).done())).To(BeEmpty())
		w = recovers()
		w.at(2000).calls("srv", history.LoadProbe, 0, never)
		w.at(3000).add(history.Event{Kind: history.TargetExit, Expected: true})
		g.Expect(find(g, name, w.at(9000).done())).To(BeEmpty())
	})
	t.Run("without any declared deadline nothing can be late", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.Profile.Timings = nil
		w.at(2000).calls("srv", history.LoadProbe, 0, func(b, e *history.Event) { b.Timeout = 0; never(b, e) })
		g.Expect(find(g, name, w.at(99000).done())).To(BeEmpty())
	})
	t.Run("a busy machine stretches the grace", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		w.at(2000).calls("srv", history.LoadProbe, 5600, fails("timeout"))
		w.at(7000).add(history.Event{Kind: history.Tick, D: int64(2700 * time.Millisecond)})
		g.Expect(find(g, name, w.at(7500).done())).To(BeEmpty())
	})
	t.Run("a fast failure, counted from the fault", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		nonce := w.at(2000).calls("srv", history.LoadStep, 1200, fast)
		w.at(2001).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 2, Nonce: nonce})
		w.at(3000).entry(journal.Entry{Kind: journal.Rule, Server: "srv", Life: 2, Detail: "exit 1"})
		g.Expect(find(g, name, w.at(3500).done())).To(BeEmpty())
	})
	t.Run("a failure that came slowly", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		nonce := w.at(2000).calls("srv", history.LoadStep, 1200, fast)
		w.at(2001).entry(journal.Entry{Kind: journal.Request, Server: "srv", Life: 2, Nonce: nonce})
		w.at(2010).entry(journal.Entry{Kind: journal.Rule, Server: "srv", Life: 2, Detail: "exit 1"})
		w.at(3000).entry(journal.Entry{Kind: journal.Rule, Server: "srv", Life: 3, Detail: "another life's"})
		f := only(g, find(g, name, w.at(3500).done()))
		g.Expect(f.Note).To(Equal("error came after 1.2 s"))
		g.Expect(f.Evidence).To(HaveLen(3))
	})
	t.Run("hundreds of them are one finding", func(t *testing.T) {
		g := NewWithT(t)
		w := recovers()
		for i := range 100 {
			w.at(2000+i).calls("srv", history.LoadProbe, 5600, fails("timeout"))
		}
		f := only(g, find(g, name, w.at(8000).done()))
		g.Expect(f.Evidence[maxEvidence-1].Text).To(Equal("and 97 more like these"))
	})
}

func TestDuplicateEffects(t *testing.T) {
	const name = "at most once"
	twice := func(tool string) Run {
		w := recovers()
		nonce := w.at(2000).calls("srv", history.LoadStep, 300, func(b, e *history.Event) { b.Tool = tool })
		w.at(2010).entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: tool, Nonce: nonce, Life: 1, Pid: 4711})
		w.at(2200).entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: tool, Nonce: nonce, Life: 2, Pid: 4731})
		w.at(2200).entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: tool, Nonce: nonce, Life: 1, Role: "control"})
		return w.done()
	}
	g := NewWithT(t)
	f := only(g, find(g, name, twice("effect")))
	g.Expect(f.Note).To(Equal("one call to srv.effect was executed 2 times"))
	g.Expect(f.Evidence).To(HaveLen(3))
	g.Expect(f.Evidence[1].Text).To(Equal("execution 2, by life 2 (pid 4731)"))
	g.Expect(find(g, name, twice("echo"))).To(BeEmpty(), "read-only: it may be sent again")
	g.Expect(find(g, name, twice("sleep"))).To(HaveLen(1), "it says nothing of itself")

	w := recovers()
	w.entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: "effect", Nonce: "n"})
	w.entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: "effect"})
	w.entry(journal.Entry{Kind: journal.Executed, Server: "srv", Tool: "effect"})
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "once each, or without a nonce")
}

func TestCrossedReplies(t *testing.T) {
	const name = "own answers"
	answer := func(text string, change func(*history.Event)) (Run, string) {
		w := recovers()
		other := w.at(2000).calls("srv", history.LoadStep, 50, nil)
		if text == "other" {
			text = other
		}
		w.at(2010).calls("srv", history.LoadStep, 50, func(_, e *history.Event) {
			e.NonceOK, e.Text = false, text
			if change != nil {
				change(e)
			}
		})
		return w.done(), other
	}
	g := NewWithT(t)
	r, other := answer("other", nil)
	f := only(g, find(g, name, r))
	g.Expect(f.Note).To(Equal("an answer to srv.echo is not the caller's own"))
	g.Expect(f.Evidence[1].Text).To(ContainSubstring(other))
	g.Expect(f.Evidence[2].Text).To(Equal("that is the answer to another call, to srv.echo, begun here"))

	r, _ = answer("half an answ", nil)
	g.Expect(find(g, name, r)).To(HaveLen(1), "a cut answer is not the caller's own either")
	r, _ = answer("transport closed", func(e *history.Event) { e.IsError = true })
	g.Expect(find(g, name, r)).To(BeEmpty(), "a tool error")
	r, _ = answer("canned", nil)
	s := r.Scenario.Servers["srv"]
	s.Script.Rules = []script.Rule{{Do: []script.Action{{Reply: &script.Reply{Text: "canned"}}}}}
	r.Scenario.Servers = map[string]scenario.Server{"srv": s}
	g.Expect(find(g, name, r)).To(BeEmpty(), "the server said so by script")
	raw := func(id string) {
		s.Script.Rules = []script.Rule{{Do: []script.Action{{Reply: &script.Reply{Raw: `{"id":` + id + `,"text":"canned"}`}}}}}
		r.Scenario.Servers = map[string]scenario.Server{"srv": s}
	}
	raw(`"{{id}}"`)
	g.Expect(find(g, name, r)).To(BeEmpty(), "under the call's own id, if as a string")
	raw("null")
	g.Expect(find(g, name, r)).To(HaveLen(1), "under an id that is nobody's")
}

func TestHarmedBystanders(t *testing.T) {
	const name = "bystanders"
	call := func(ms, took int, change func(b, e *history.Event)) *world {
		w := recovers()
		w.at(ms).calls("peer", history.LoadBystander, took, change)
		return w.at(5000)
	}
	g := NewWithT(t)
	g.Expect(find(g, name, call(1500, 990, nil).done())).To(BeEmpty())
	f := only(g, find(g, name, call(1500, 1300, nil).done()))
	g.Expect(f.Note).To(Equal("peer has no fault, yet a call to it took 1.3 s"))
	f = only(g, find(g, name, call(1500, 5, fails("busy")).done()))
	g.Expect(f.Note).To(Equal(`peer has no fault, yet a call to it failed: "busy"`))

	w := call(1500, 1300, nil)
	w.at(2700).add(history.Event{Kind: history.Tick, D: int64(400 * time.Millisecond)})
	g.Expect(find(g, name, w.at(5000).done())).To(BeEmpty(), "the machine was slow")

	w = call(1500, 5, fails("target gone"))
	w.at(1400).add(history.Event{Kind: history.TargetExit})
	g.Expect(find(g, name, w.at(5000).done())).To(BeEmpty(), "the target had ended")

	w = wedges()
	w.at(11005).calls("peer", history.LoadBystander, 5, fails("restarting"))
	g.Expect(find(g, name, w.at(12000).done())).To(BeEmpty(), "the harness restarted the target")

	w = call(5060, 60, fails("closing"))
	g.Expect(find(g, name, w.done())).To(BeEmpty(), "the harness closed the target")

	w = recovers()
	w.at(1500).calls("srv", history.LoadBystander, 5, fails("gone"))
	g.Expect(find(g, name, w.at(5000).done())).To(BeEmpty(), "a server with a fault is no bystander")
}

func TestUnexpectedResults(t *testing.T) {
	const name = "expected results"
	step := func(want string, change func(b, e *history.Event)) Run {
		w := recovers()
		w.at(2000).calls("srv", history.LoadStep, 5, func(b, e *history.Event) {
			if change != nil {
				change(b, e)
			}
			b.Want, b.Step = want, 4
		})
		return w.at(3000).done()
	}
	g := NewWithT(t)
	f := only(g, find(g, name, step(scenario.ExpectOK, fails("EOF"))))
	g.Expect(f.Note).To(Equal(`step 5: a call to srv.echo that had to work failed: "EOF"`))
	g.Expect(find(g, name, step("", fails("EOF")))).To(HaveLen(1), "ok is the default")
	g.Expect(find(g, name, step(scenario.ExpectAny, fails("EOF")))).To(BeEmpty())
	g.Expect(find(g, name, step(scenario.ExpectError, fails("EOF")))).To(BeEmpty())
	f = only(g, find(g, name, step(scenario.ExpectError, nil)))
	g.Expect(f.Note).To(Equal("step 5: a call to srv.echo that had to fail was answered"))
	dressed := func(_, e *history.Event) { e.IsError, e.NonceOK, e.Text = true, false, "transport closed" }
	g.Expect(find(g, name, step(scenario.ExpectOK, dressed))).To(HaveLen(1), "a transport error dressed as a tool error")
	own := func(b, e *history.Event) { b.Tool, e.IsError = failTool, true }
	g.Expect(find(g, name, step(scenario.ExpectOK, own))).To(BeEmpty(), "the tool that fails by trade")

	reconnect := func(expect string) Run {
		w := recovers()
		w.Scenario.Steps = append(w.Scenario.Steps, scenario.Step{Reconnect: "srv", Expect: expect})
		return w.at(2000).add(history.Event{Kind: history.StepEnd, Step: 3, Detail: "refused"}).done()
	}
	f = only(g, find(g, name, reconnect("")))
	g.Expect(f.Note).To(Equal("step 4: the manual reconnect failed"))
	g.Expect(find(g, name, reconnect(scenario.ExpectAny))).To(BeEmpty())
}

func TestWhatOnlyFollowsFromAWedgeIsNoFindingOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	w := wedges()
	w.at(2000).calls("srv", history.LoadStep, 5, fails("EOF"))
	w.at(2000).calls("peer", history.LoadStep, 5, fails("EOF"))
	v := Judge(w.at(12000).done(), nil)
	g.Expect(v.Result).To(Equal(verdict.Wedged))
	f := only(g, v.Findings)
	g.Expect(f.Server).To(Equal("peer"))
}

func TestUselessErrors(t *testing.T) {
	const name = "useful errors"
	failing := func(builtIn bool, e driver.Error, entries ...journal.Entry) Run {
		w := recovers()
		w.Profile.BuiltIn = builtIn
		nonce := w.at(2000).calls("srv", history.LoadStep, 100, func(_, end *history.Event) {
			end.OK, end.NonceOK, end.Text, end.Err = false, false, "", &e
		})
		for i, j := range entries {
			j.Server, j.Life = "srv", 2
			if j.Kind == journal.Request || j.Kind == journal.Replied {
				j.Nonce = nonce
			}
			when := 2010 + i
			if j.Detail == "late" {
				when = 2150 // the call ended at 2100
			}
			w.at(when).entry(j)
		}
		r := w.at(3000).done()
		for i, ev := range r.Events { // the standard story's own errors are not the subject here
			if ev.T < at(2000) && ev.Err != nil {
				r.Events[i].Err = &driver.Error{Message: "srv", Kind: "transport"}
			}
		}
		return r
	}
	read := journal.Entry{Kind: journal.Request}
	segv := journal.Entry{Kind: journal.Rule, Detail: "effect, signal SEGV"}
	good := driver.Error{Message: "server srv: signal: segmentation fault", Kind: "transport", Outcome: driver.OutcomeUnknown}
	change := func(f func(*driver.Error)) driver.Error { e := good; f(&e); return e }

	for _, c := range []struct {
		name string
		run  Run
		note string
	}{
		{"good", failing(true, good, read, segv), ""},
		{"empty", failing(false, change(func(e *driver.Error) { e.Message = " \n" })), "an error has no text"},
		{"others need not name the server", failing(false, change(func(e *driver.Error) { e.Message = "EOF" })), ""},
		{"no server", failing(true, change(func(e *driver.Error) { e.Message = "segmentation fault" })), "an error does not name its server"},
		{"no kind", failing(true, change(func(e *driver.Error) { e.Kind = "" })), "an error has no kind"},
		{"no outcome, in flight", failing(true, change(func(e *driver.Error) { e.Outcome = "" }), read),
			"an error does not say whether the call may have had an effect"},
		{"no outcome, never read", failing(true, change(func(e *driver.Error) { e.Outcome = "" })), ""},
		{"no outcome, answered by the server", failing(true, change(func(e *driver.Error) { e.Outcome = "" }), read, journal.Entry{Kind: journal.Replied}), ""},
		{"answered by the server, journalled late", failing(true, change(func(e *driver.Error) { e.Outcome, e.Kind = "", driver.KindTool }),
			read, journal.Entry{Kind: journal.Replied, Detail: "late"}), ""},
		{"answered too late", failing(true, change(func(e *driver.Error) { e.Outcome, e.Kind = "", driver.KindTimeout }),
			read, journal.Entry{Kind: journal.Replied, Detail: "late"}), "an error does not say whether the call may have had an effect"},
		{"not sent, yet read", failing(true, change(func(e *driver.Error) { e.Outcome = driver.OutcomeNotSent }), read),
			`an error says "not sent" of a call that the server read`},
		{"death not told", failing(true, change(func(e *driver.Error) { e.Message = "srv: EOF" }), read, segv),
			"an error does not say how the process ended"},
		{"exit not told", failing(true, good, read, journal.Entry{Kind: journal.Rule, Detail: "exit 3"}), "an error does not say how the process ended"},
		{"exit told", failing(true, change(func(e *driver.Error) { e.Message = "srv: exit status 3" }), read,
			journal.Entry{Kind: journal.Rule, Detail: "exit 3"}), ""},
		{"an exit that no script asked for", failing(true, good, read, journal.Entry{Kind: journal.Exit, Code: 0}), ""},
		{"a stop is no death", failing(true, change(func(e *driver.Error) { e.Message = "srv: timeout" }), read,
			journal.Entry{Kind: journal.Rule, Detail: "signal STOP"}), ""},
		{"cancelled by the caller", failing(true, change(func(e *driver.Error) { e.Message, e.Kind = "srv: cancelled", driver.KindCancelled }), read, segv), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			fs := find(g, name, c.run)
			if c.note == "" {
				g.Expect(fs).To(BeEmpty())
				return
			}
			g.Expect(only(g, fs).Note).To(Equal(c.note))
		})
	}
}

func TestTheSameDefectIsToldOnce(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	for i := range 10 {
		w.at(2000+i).calls("srv", history.LoadProbe, 5, fails(""))
	}
	g.Expect(find(g, "useful errors", w.at(3000).done())).To(HaveLen(1))
}

func TestErrorsOfAGoneTargetAreTheHarnesss(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	w.at(2000).calls("srv", history.LoadProbe, 5, fails(""))
	w.at(2010).add(history.Event{Kind: history.TargetExit})
	g.Expect(find(g, "useful errors", w.at(3000).done())).To(BeEmpty())
}
