package scenarios

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/scenario"
)

// What the field files reproduce.
var reproduced = []string{
	"hermes-agent-11113", "hermes-agent-115502", "hermes-agent-16788", "hermes-agent-17016", "hermes-agent-21006",
	"hermes-agent-27052", "hermes-agent-49255", "hermes-agent-50028", "hermes-agent-50394",
	"hermes-agent-53599-breaker", "hermes-agent-53599-budget", "hermes-agent-53599-demand",
	"hermes-agent-53599-first-connect", "hermes-agent-53599-reconnect", "hermes-agent-53599-teardown",
	"hermes-agent-53599-time", "hermes-agent-53599-unproven", "hermes-agent-57129", "hermes-agent-57228",
	"hermes-agent-59349", "hermes-agent-59568", "hermes-agent-62212", "hermes-agent-67187",
	"hermes-agent-68660", "hermes-agent-70218", "hermes-agent-81995", "hermes-agent-88821",
}

func TestEveryFaultHasItsScenario(t *testing.T) {
	g := NewWithT(t)
	var want, got []string
	for _, f := range faults.Catalogue() {
		want = append(want, f.What().ID)
		g.Expect(plays).To(HaveKey(f.What().Class), "no play for the class of %s", f.What().ID)
	}
	for _, s := range All() {
		got = append(got, s.ID)
	}
	g.Expect(got).To(Equal(append(want, reproduced...)))
	for class := range plays {
		g.Expect(faults.OfClass(class)).NotTo(BeEmpty(), "a play for a class without faults")
	}
}

func TestEveryScenarioIsWhole(t *testing.T) {
	for _, s := range All() {
		t.Run(s.ID, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(scenario.Validate(s)).To(Succeed())
			g.Expect(s.Title).NotTo(BeEmpty())
			g.Expect(s.Reports).NotTo(BeEmpty())
			g.Expect(s.FaultClass()).To(Equal(s.Class))
			g.Expect(s.Faulted()).To(ContainElement(srv))
			g.Expect(s.Faulted()).To(HaveEach(HavePrefix(srv)), "servers that are hit are called srv, srv2 and so on")
			g.Expect(s.InEras()).NotTo(BeEmpty())

			injected := slices.IndexFunc(s.Steps, func(st scenario.Step) bool { return st.Inject != "" || st.Kill != "" })
			rest := s.Steps[injected+1:]
			g.Expect(slices.ContainsFunc(rest, func(st scenario.Step) bool { return st.Call != "" })).
				To(BeTrue(), "nobody calls the server while the fault is on")
			for _, in := range s.Injections() {
				if in.Fault.What().Proxied {
					g.Expect(s.Servers[in.Server].Proxy).To(BeTrue())
				}
			}
		})
	}
}

// A healthy server stands beside the faulty one in every scenario of the catalogue, over the same transport.
func TestEveryFaultHasABystander(t *testing.T) {
	for _, s := range All() {
		if s.File != "" {
			continue
		}
		NewWithT(t).Expect(s.Servers[by].Transport).To(Equal(s.Servers[srv].Transport), s.ID)
		for _, st := range s.Steps {
			NewWithT(t).Expect(s.ServerOf(st)).NotTo(Equal(by), "%s: the bystander has its own steady load", s.ID)
		}
	}
}

// Every scenario can be handed out as a file: `unwedge certify --out` does so for each that failed.
func TestEveryScenarioIsAFile(t *testing.T) {
	for _, s := range All() {
		g := NewWithT(t)
		text, err := scenario.Marshal(s)
		g.Expect(err).NotTo(HaveOccurred())
		back, err := scenario.Parse(s.File, text)
		g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", s.ID, text)
		g.Expect(back).To(Equal(s))
	}
}

func TestByID(t *testing.T) {
	g := NewWithT(t)
	s, ok := ByID("hermes-agent-16788")
	g.Expect(ok).To(BeTrue())
	g.Expect(s.File).To(Equal("field/hermes-agent-16788.yaml"))
	s, ok = ByID("child-stopped")
	g.Expect(ok).To(BeTrue())
	g.Expect(s.ID).To(Equal("child-stopped/until-continued"))
	_, ok = ByID("no-such-scenario")
	g.Expect(ok).To(BeFalse())
}

func TestSource(t *testing.T) {
	g := NewWithT(t)
	text, ok := Source("hermes-agent-16788")
	g.Expect(ok).To(BeTrue())
	g.Expect(strings.HasPrefix(text, "# ")).To(BeTrue(), "a field file begins by telling what happened")
	_, ok = Source("../scenarios")
	g.Expect(ok).To(BeFalse())
	_, ok = Source("child-stopped/for-good")
	g.Expect(ok).To(BeFalse())
}

// The file that the thread's own words became is the one that the documentation shows.
func TestTheSampleIsTheFieldFile(t *testing.T) {
	g := NewWithT(t)
	text, _ := Source("hermes-agent-16788")
	for _, line := range []string{
		"  - call: srv.echo",
		"  - kill: srv                  # while idle; the next life is healthy",
		"  - {call: srv.echo, times: 3, expect: any}",
		"  - wait: cooldown             # from the target's profile",
		"expect: recovered              # the default",
	} {
		g.Expect(text).To(ContainSubstring(line + "\n"))
	}
}

// The list belongs to everybody who asks: a caller who sorts or cuts it must not change the next one's.
func TestAllIsTheCallersOwn(t *testing.T) {
	g := NewWithT(t)
	mine := All()
	slices.Reverse(mine)
	g.Expect(All()[0].ID).To(Equal("child-dies-idle/sigkill"))
}
