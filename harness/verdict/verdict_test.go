package verdict

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestEveryClassHasItsPlaceOnTheLadder(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Classes()).To(HaveLen(11))
	for _, c := range []Class{Recovered, NeedsNewSession, NotApplicable, Inconclusive} {
		g.Expect(c.Failing()).To(BeFalse(), string(c))
	}
	for _, c := range []Class{Slow, NeedsQuiet, NeedsPoke, TargetExited, NotRecovered, Wedged, Unrecoverable} {
		g.Expect(c.Failing()).To(BeTrue(), string(c))
		g.Expect(c.Judged()).To(BeTrue(), string(c))
	}
	g.Expect(Class("misspelt").Failing()).To(BeTrue(), "what is unknown must not pass")
	g.Expect(Inconclusive.Judged()).To(BeFalse())
}

func TestAScenarioLetsPassWhatItExpectsAndBetter(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Recovered.Passes("")).To(BeTrue())
	g.Expect(NeedsNewSession.Passes("recovered")).To(BeTrue(), "right for a spec-conform 404")
	g.Expect(Slow.Passes("")).To(BeFalse())
	g.Expect(NeedsPoke.Passes("needs-poke")).To(BeTrue())
	g.Expect(NeedsQuiet.Passes("needs-poke")).To(BeTrue(), "better than expected")
	g.Expect(Wedged.Passes("needs-poke")).To(BeFalse())
	g.Expect(Wedged.Passes("nonsense")).To(BeFalse())
	g.Expect(Inconclusive.Passes("unrecoverable")).To(BeFalse(), "unknown is never a pass")
	g.Expect(NotApplicable.Passes("unrecoverable")).To(BeFalse())
}

func TestFailOnReadsItsListStrictly(t *testing.T) {
	g := NewWithT(t)
	on, err := ParseFailOn("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(on).To(Equal(FailOn{}))
	_, err = ParseFailOn("wedged, hung-call")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = ParseFailOn("wedged,hung-cal")
	var bad *BadWord
	g.Expect(errors.As(err, &bad)).To(BeTrue())
	g.Expect(*bad).To(Equal(BadWord{Word: "hung-cal", Near: "hung-call"}))
	g.Expect(err).To(MatchError(`"hung-cal" is neither a class nor a finding, did you mean "hung-call"?`))
	_, err = ParseFailOn("zzz")
	g.Expect(err).To(MatchError(`"zzz" is neither a class nor a finding`))
	_, err = ParseFailOn("recovered")
	g.Expect(err).To(HaveOccurred(), "nobody means that")
}

func TestExitCode(t *testing.T) {
	pass := Verdict{Result: Recovered, Pass: true}
	wedged := Verdict{Result: Wedged}
	session := Verdict{Result: NeedsNewSession, Pass: true}
	poke := Verdict{Result: NeedsPoke, Expect: "needs-poke", Pass: true}
	hung := Verdict{Result: Recovered, Findings: []Finding{{Kind: FindingHungCall}}}
	unknown := Verdict{Result: Inconclusive}
	na := Verdict{Result: NotApplicable}
	for _, c := range []struct {
		name        string
		vs          []Verdict
		interrupted bool
		on          string
		code        int
	}{
		{"all good", []Verdict{pass, session, na, poke}, false, "", 0},
		{"a failing class", []Verdict{pass, wedged, unknown}, false, "", 1},
		{"a finding", []Verdict{pass, hung}, false, "", 1},
		{"a failing class beats an interruption", []Verdict{wedged}, true, "", 1},
		{"inconclusive", []Verdict{pass, unknown}, false, "", 3},
		{"nothing applicable", []Verdict{na}, false, "", 3},
		{"nothing at all", nil, false, "", 3},
		{"a verdict nobody gave", []Verdict{pass, {}}, false, "", 3},
		{"interrupted", []Verdict{pass}, true, "", 3},
		{"a hard finding in an inconclusive run", []Verdict{{Result: Inconclusive, Findings: []Finding{{Kind: FindingSecret}}}}, false, "", 1},
		{"only wedged fails", []Verdict{pass, hung, {Result: Slow}}, false, "wedged", 0},
		{"only wedged fails, and one is", []Verdict{pass, wedged}, false, "wedged", 1},
		{"a new session fails on demand", []Verdict{session}, false, "needs-new-session", 1},
		{"what the scenario expects passes all the same", []Verdict{poke}, false, "needs-poke", 0},
		{"inconclusive fails on demand", []Verdict{unknown}, false, "default,inconclusive", 1},
		{"the default, said aloud", []Verdict{hung}, false, "default", 1},
		{"all findings", []Verdict{hung}, false, "findings", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			on, err := ParseFailOn(c.on)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ExitCode(c.vs, c.interrupted, on)).To(Equal(c.code))
		})
	}
}

func once(c Class) Verdict {
	return Verdict{Scenario: "s", Result: c, Pass: c.Passes(""), Runs: 1, Agreed: 1, Took: time.Second, Reason: map[Class]string{Inconclusive: "control failed"}[c]}
}

func TestRerunOfWhatAccusesAndOfWhatProvesNothing(t *testing.T) {
	g := NewWithT(t)
	for _, c := range []Class{Wedged, Unrecoverable, NotRecovered, Slow, Inconclusive} {
		g.Expect(Rerun(once(c))).To(BeTrue(), string(c))
	}
	for _, c := range []Class{Recovered, NeedsNewSession, NotApplicable} {
		g.Expect(Rerun(once(c))).To(BeFalse(), string(c))
	}
	expected := once(NeedsPoke)
	expected.Expect = "needs-poke"
	g.Expect(Rerun(expected)).To(BeFalse())
}

func TestMergeAgreed(t *testing.T) {
	g := NewWithT(t)
	v := Merge(once(Wedged), once(Wedged))
	g.Expect(v.Result).To(Equal(Wedged))
	g.Expect([]int{v.Runs, v.Agreed}).To(Equal([]int{2, 2}))
	g.Expect(v.Took).To(Equal(2 * time.Second))
	g.Expect(Rerun(v)).To(BeFalse())
	v = Merge(once(Inconclusive), once(Inconclusive))
	g.Expect(v.Result).To(Equal(Inconclusive))
	g.Expect(Rerun(v)).To(BeFalse())
}

func TestMergeDisagreed(t *testing.T) {
	g := NewWithT(t)
	first := once(Wedged)
	first.Findings = []Finding{{Kind: FindingHungCall}, {Kind: FindingDuplicateEffect}}
	v := Merge(first, once(Recovered))
	g.Expect(v.Result).To(Equal(Inconclusive))
	g.Expect(v.Pass).To(BeFalse())
	g.Expect(v.Reason).To(Equal("the runs disagree: first wedged, then, alone, recovered"))
	g.Expect(v.Findings).To(HaveExactElements(HaveField("Kind", FindingDuplicateEffect)), "a doubled call stays doubled")
	g.Expect(Rerun(v)).To(BeFalse())
	v = Merge(once(Wedged), once(Inconclusive))
	g.Expect(v.Reason).To(Equal("the runs disagree: first wedged, then, alone, inconclusive (control failed)"))
}

func TestMergeAfterAnInconclusiveFirstRun(t *testing.T) {
	g := NewWithT(t)
	v := Merge(once(Inconclusive), once(Recovered))
	g.Expect(v.Result).To(Equal(Recovered))
	g.Expect(v.Pass).To(BeTrue())
	g.Expect([]int{v.Runs, v.Agreed}).To(Equal([]int{2, 1}))
	g.Expect(Rerun(v)).To(BeFalse())

	v = Merge(once(Inconclusive), once(Wedged))
	g.Expect(v.Result).To(Equal(Wedged))
	g.Expect(Rerun(v)).To(BeTrue(), "an accusation rests on two runs")
	v = Merge(v, once(Wedged))
	g.Expect([]int{v.Runs, v.Agreed}).To(Equal([]int{3, 2}))
	g.Expect(Rerun(v)).To(BeFalse())
}

func TestMergeNeverMakesAPassOfAFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := once(rapid.SampledFrom(Classes()).Draw(t, "first"))
		failed, passed, rounds := v.Result.Failing(), v.Pass, 0
		for Rerun(v) {
			if rounds++; rounds > maxRuns {
				t.Fatal("does not end")
			}
			w := once(rapid.SampledFrom(Classes()).Draw(t, "next"))
			failed, passed = failed || w.Result.Failing(), passed || w.Pass
			v = Merge(v, w)
		}
		if v.Pass && (failed || !passed) {
			t.Fatalf("passes as %s although a run failed or none passed", v.Result)
		}
		if v.Result.Failing() && v.Agreed < 2 {
			t.Fatalf("%s rests on one run", v.Result)
		}
	})
}

func TestCausesGroupBySymptom(t *testing.T) {
	g := NewWithT(t)
	hung := []Finding{{Kind: FindingHungCall, Note: "an error came after 300 s"}}
	vs := []Verdict{
		{Scenario: "slow", Era: "legacy", Result: Slow, Symptom: "x", Note: "late"},
		{Scenario: "idle", Era: "legacy", Result: Wedged, Symptom: "eof", Note: "never back"},
		{Scenario: "good", Era: "legacy", Result: Recovered, Pass: true},
		{Scenario: "mid-call", Era: "legacy", Result: Wedged, Symptom: "eof", Note: "never back either"},
		{Scenario: "stopped", Era: "modern", Result: Wedged, Symptom: "timeout"},
		{Scenario: "5xx", Result: Recovered, Findings: hung},
		{Scenario: "429", Result: NeedsNewSession, Findings: hung},
		{Scenario: "odd", Result: Inconclusive},
		{Scenario: "expected", Result: NeedsPoke, Expect: "needs-poke", Pass: true},
	}
	causes := Causes(vs)
	g.Expect(causes).To(Equal([]Cause{
		{Result: Wedged, Scenarios: []string{"idle (legacy)", "mid-call (legacy)"}, Note: "never back"},
		{Result: Wedged, Scenarios: []string{"stopped (modern)"}},
		{Result: Slow, Scenarios: []string{"slow (legacy)"}, Note: "late"},
		{Result: Recovered, Scenarios: []string{"5xx", "429"}, Note: "hung-call: an error came after 300 s"},
	}))
	c, ok := CauseOf(causes, vs[3])
	g.Expect(ok).To(BeTrue())
	g.Expect(c.Scenarios[0]).To(Equal("idle (legacy)"))
	_, ok = CauseOf(causes, vs[2])
	g.Expect(ok).To(BeFalse())
}

func TestEveryKindIsEitherTimedOrHardOrNeither(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Kinds()).To(HaveLen(18))
	for _, k := range Kinds() {
		g.Expect(Timed(k) && Hard(k)).To(BeFalse(), k)
	}
}
