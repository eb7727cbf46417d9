package mutant

import (
	"testing"

	"github.com/unwedge/unwedge/harness/report"
	"github.com/unwedge/unwedge/harness/verdict"
)

func TestOnlyTheNamedScenarioForTheNamedReasonIsACatch(t *testing.T) {
	m := Mutant{Scenario: "idle", Reason: Reason{Result: "wedged", Text: "spawns now 1"}, Only: []string{"idle", "loop-*"}}
	good := verdict.Verdict{Scenario: "idle", Result: verdict.Recovered, Pass: true}
	mine := verdict.Verdict{Scenario: "idle", Result: verdict.Wedged, Story: []verdict.Line{{Text: "still failing, spawns now 1"}}}
	other := verdict.Verdict{Scenario: "idle", Result: verdict.Wedged}
	unsure := verdict.Verdict{Scenario: "idle", Result: verdict.Inconclusive}
	may := verdict.Verdict{Scenario: "loop-2", Result: verdict.Slow}
	mayNot := verdict.Verdict{Scenario: "noise", Result: verdict.Slow}
	for name, c := range map[string]struct {
		seen []verdict.Verdict
		want string
	}{
		"survived":          {[]verdict.Verdict{good}, "NO"},
		"caught":            {[]verdict.Verdict{mine, may}, "yes"},
		"another reason":    {[]verdict.Verdict{other}, "OTHER REASON"},
		"nothing is proven": {[]verdict.Verdict{unsure}, "OTHER REASON"},
		"more than it may":  {[]verdict.Verdict{mine, mayNot}, "TOO MUCH"},
	} {
		j := m.weigh(report.Report{Verdicts: c.seen})
		if j.Caught != c.want || j.OK() != (c.want == "yes") {
			t.Errorf("%s: %+v, want %s", name, j, c.want)
		}
	}
	if (Judgement{Clean: "FAILS", Caught: "yes"}).OK() {
		t.Error("a scenario that fails without the mutant proves nothing")
	}
}
