package faults_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
)

// began are the public threads that the project began with; not all of them are counted under a class.
var began = []string{
	"NousResearch/hermes-agent#16788", "NousResearch/hermes-agent#17016", "NousResearch/hermes-agent#21006",
	"NousResearch/hermes-agent#49255", "NousResearch/hermes-agent#53599",
}

func TestEveryFaultDescribesItself(t *testing.T) {
	id := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?$`)
	seen := map[string]bool{}
	for _, f := range faults.Catalogue() {
		i := f.What()
		t.Run(i.ID, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(i.ID).To(MatchRegexp(id.String()))
			g.Expect(seen[i.ID]).To(BeFalse(), "an id is used twice")
			seen[i.ID] = true

			class, known := faults.ClassBySlug(i.Class)
			g.Expect(known).To(BeTrue(), "class %q is not in the list of classes", i.Class)
			g.Expect(faults.ClassOf(i.ID)).To(Equal(i.Class), "the class's slug begins the id")
			g.Expect(i.Group).To(Equal(class.Group))
			g.Expect(i.Transport).To(BeElementOf(faults.Stdio, faults.HTTP))
			g.Expect(i.Proxied && i.Transport != faults.HTTP).To(BeFalse(), "only HTTP goes through a proxy")

			for _, line := range []string{i.Title, i.Recovery} {
				g.Expect(line).NotTo(BeEmpty())
				g.Expect(line).NotTo(ContainSubstring("\n"))
			}
			for _, e := range i.Eras {
				g.Expect(e).To(BeElementOf(script.Legacy, script.Modern))
			}
			sources := slices.Concat(faults.Reports(i.Class), faults.Reports(class.Like), began)
			g.Expect(i.Reports).NotTo(BeEmpty())
			for _, r := range i.Reports {
				g.Expect(sources).To(ContainElement(r), "cited, but counted under no class that fits")
			}
			again, ok := faults.ByID(i.ID)
			g.Expect(ok).To(BeTrue())
			g.Expect(again.What()).To(Equal(i))
		})
	}
}

// A rule that does not name the phase would be awake before the injection, one that is not named after its fault
// could not be told apart in the journal.
func TestRulesSleepUntilTheFaultIsOn(t *testing.T) {
	for _, f := range faults.Catalogue() {
		i := f.What()
		t.Run(i.ID, func(t *testing.T) {
			g := NewWithT(t)
			for _, r := range i.Rules {
				g.Expect(r.Name).To(Equal(i.ID))
				g.Expect(r.When.Phase).To(Equal(script.Faulty))
				g.Expect(r.Do).NotTo(BeEmpty())
			}
			onCall := slices.ContainsFunc(i.Rules, func(r script.Rule) bool {
				return r.When.Method == "tools/call" || r.When.On == script.OnHTTP
			})
			if onCall && i.Class != "crash-loop" { // whose killing of the serving life is the effect
				g.Expect(i.NeedsCall).To(BeTrue(), "its rules wait for a call")
			}
			g.Expect(script.Validate(script.Script{Rules: i.Rules})).To(Succeed())
		})
	}
}

// One caller's change must not reach the next one's rules.
func TestInfoIsTheCallersOwn(t *testing.T) {
	g := NewWithT(t)
	f, ok := faults.ByID("crash-loop/at-start")
	g.Expect(ok).To(BeTrue())
	f.What().Rules[0].Name = "changed"
	g.Expect(f.What().Rules[0].Name).To(Equal("crash-loop/at-start"))
}

func TestByIDTakesAClassForItsFirstVariant(t *testing.T) {
	g := NewWithT(t)
	f, ok := faults.ByID("child-dies-idle")
	g.Expect(ok).To(BeTrue())
	g.Expect(f.What().ID).To(Equal(faults.Kill))
	_, ok = faults.ByID("child-dies-idle/never")
	g.Expect(ok).To(BeFalse())
	_, ok = faults.ByID("")
	g.Expect(ok).To(BeFalse())
}

func TestSuggest(t *testing.T) {
	for wrong, want := range map[string]string{
		"child-dies-idel":          "child-dies-idle",
		"child-dies-idle/sigkil":   "child-dies-idle/sigkill",
		"stdout-noise/banners":     "stdout-noise/banner",
		"http-idle-silent-drop/":   "http-idle-silent-drop",
		"CRASH-LOOP":               "crash-loop",
		"x":                        "",
		"":                         "",
		"child-stoped/for-good":    "child-stopped/for-good",
		"nothing like it whatever": "",
	} {
		NewWithT(t).Expect(faults.Suggest(wrong)).To(Equal(want), "for %q", wrong)
	}
}

func TestTheFirstClassesAreThere(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, f := range faults.Catalogue() {
		if c := f.What().Class; !slices.Contains(got, c) {
			got = append(got, c)
		}
	}
	g.Expect(got).To(ContainElements(
		"child-dies-idle", "child-killed-mid-call", "crash-loop", "grandchild-holds-pipe", "child-stops-reading-stdin",
		"child-stopped", "stdout-noise", "stderr-pipe-full", "http-idle-silent-drop", "http-401-window",
	))
	for _, c := range got {
		g.Expect(faults.OfClass(c)).NotTo(BeEmpty())
	}
	g.Expect(faults.OfClass("no-such-class")).To(BeEmpty())
}

func TestClassesAndTheirReports(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	var letters []string
	for _, gr := range faults.Groups() {
		g.Expect(gr.Title).NotTo(BeEmpty())
		letters = append(letters, gr.Letter)
	}
	g.Expect(strings.Join(letters, "")).To(Equal("ABCDEFGHIJ"))
	report := `^[\w.-]+/[\w.-]+#\d+$`
	for _, c := range faults.Classes() {
		g.Expect(seen[c.Slug]).To(BeFalse(), "class %s twice", c.Slug)
		seen[c.Slug] = true
		rs := faults.Reports(c.Slug)
		if c.Like == "" {
			g.Expect(rs).NotTo(BeEmpty(), "class %s has no reports", c.Slug)
		} else {
			g.Expect(rs).To(BeEmpty())
			g.Expect(faults.Reports(c.Like)).NotTo(BeEmpty())
		}
		for _, r := range rs {
			g.Expect(r).To(MatchRegexp(report))
		}
	}
	c, ok := faults.ClassOfReport("NousResearch/hermes-agent#16788")
	g.Expect(ok).To(BeTrue())
	g.Expect(c.Slug).To(Equal("breaker-probe-dead-transport"))
	_, ok = faults.ClassOfReport("nobody/nothing#1")
	g.Expect(ok).To(BeFalse())
}
