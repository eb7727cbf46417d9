package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
)

const canary = "canary-0123456789abcdef" // as in given

func TestLeakedSecrets(t *testing.T) {
	for name, e := range map[string]history.Event{
		"an error text":       {Kind: history.CallEnd, Err: &driver.Error{Message: "bad header Bearer " + canary}},
		"a result":            {Kind: history.CallEnd, Text: canary},
		"a detail":            {Kind: history.StepEnd, Detail: "x" + canary + "x"},
		"the target's stderr": {Kind: history.Stderr, Text: "env TOKEN=" + canary[3:16]},
		"a target's event":    {Kind: history.Target, Target: &driver.Event{Detail: canary[:fragment]}},
		"a status":            {Kind: history.Status, Servers: []driver.ServerStatus{{State: canary}}},
		"a tool's name":       {Kind: history.ListEnd, Tools: []driver.Tool{{Name: canary}}},
		"a fake's journal":    {Kind: history.Journal, Entry: &journal.Entry{Server: "srv", Kind: journal.Rule, Detail: canary}},
		"a short secret":      {Kind: history.StepEnd, Detail: "the word is shorty7"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := recovers().add(e).done()
			f := only(g, find(g, "no secrets", r))
			if name != "a short secret" {
				g.Expect(f.Note).To(Equal("a secret, or a part of one, stands in " + name))
			}
			b, err := json.Marshal(Judge(r, nil))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(needlesOf(r.Secrets).in(string(b))).To(BeFalse(), "the verdict does not repeat it")
		})
	}
}

func TestPartsOfASecretThatAreTooShortAreChance(t *testing.T) {
	g := NewWithT(t)
	w := recovers()
	w.add(history.Event{Kind: history.Stderr, Text: canary[:fragment-1] + " shorty"})
	g.Expect(find(g, "no secrets", w.done())).To(BeEmpty())
	w.Secrets = []string{"ab", ""}
	w.add(history.Event{Kind: history.Stderr, Text: "ab"})
	g.Expect(find(g, "no secrets", w.Run)).To(BeEmpty(), "too short to be looked for")
}

func TestNothingOfASecretIsLeftOfAText(t *testing.T) {
	n := needlesOf([]string{canary, "shorty7", "0123456789abcdefghijklmnop"})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			canary, canary[2:], canary[:15], "shorty7", "0123456789abcdefghijklmnop", "abcdefghijklm", " ", "x", "plain words",
		})).Draw(t, "parts")
		s := strings.Join(parts, "")
		h := n.hide(s)
		if n.in(h) {
			t.Fatalf("%q still holds one", h)
		}
		if !n.in(s) && h != s {
			t.Fatalf("%q was changed to %q for nothing", s, h)
		}
	})
}
