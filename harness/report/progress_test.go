package report

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/verdict"
)

func TestProgressSaysWhatFailsAndCountsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var b bytes.Buffer
		p := NewProgress(&b, true)
		good := &verdict.Verdict{Scenario: "a", Era: "legacy", Result: verdict.Recovered, Pass: true}
		p.News(0, 9, nil, "building")
		p.News(1, 9, good, "")
		p.News(2, 9, good, "")
		time.Sleep(countEvery)
		p.News(3, 9, good, "")
		p.News(4, 9, &verdict.Verdict{Scenario: "b", Era: "modern", Result: verdict.Wedged, Note: "back 0.6 s after a restart"}, "")
		p.News(5, 9, &verdict.Verdict{Scenario: "c", Result: verdict.Inconclusive, Reason: "interrupted"}, "")
		p.News(6, 9, &verdict.Verdict{Scenario: "d", Result: verdict.NotApplicable}, "")
		time.Sleep(countEvery)
		p.News(6, 9, nil, "")
		p.News(6, 9, nil, "")
		g.Expect(b.String()).To(Equal("[0/9] building\n[3/9] done\n[4/9] WEDGED b (modern): back 0.6 s after a restart\n" +
			"[5/9] inconclusive c: interrupted\n[6/9] done\n"))
	})
}

func TestProgressIsQuietWhereThereIsNoTerminal(t *testing.T) {
	g := NewWithT(t)
	var b bytes.Buffer
	p := NewProgress(&b, false)
	p.News(1, 2, &verdict.Verdict{Result: verdict.Wedged}, "note")
	g.Expect(b.String()).To(BeEmpty())
}
