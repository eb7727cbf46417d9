package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

// sample is the scenario that the design shows to a newcomer, word for word.
const sample = `reports: [NousResearch/hermes-agent#16788]
servers: {srv: stdio}          # a healthy fake with the default tools
steps:
  - call: srv.echo
  - kill: srv                  # while idle; the next life is healthy
  - {call: srv.echo, times: 3, expect: any}
  - wait: cooldown             # from the target's profile
expect: recovered              # the default
`

func TestParseTheSample(t *testing.T) {
	g := NewWithT(t)
	s, err := Parse("dir/mine.yaml", []byte(sample))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s).To(Equal(Scenario{
		ID:      "mine",
		File:    "dir/mine.yaml",
		Reports: []string{"NousResearch/hermes-agent#16788"},
		Servers: map[string]Server{"srv": {Transport: "stdio"}},
		Steps: []Step{
			{Call: "srv.echo"}, {Kill: "srv"}, {Call: "srv.echo", Times: 3, Expect: "any"}, {Wait: "cooldown"},
		},
		Expect: "recovered",
	}))
}

func TestParseSaysWhereAndWhat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // "line:column: part of the message; suggestion"
	}{
		{"misspelt field", strings.Replace(sample, "kill:", "kil:", 1), []string{`5:5: unknown field "kil"; kill`}},
		{"misspelt field of the scenario", "stesp: []\n" + sample, []string{`1:1: unknown field "stesp"; steps`}},
		{"unknown server", strings.Replace(sample, "call: srv.echo\n", "call: svr.echo\n", 1), []string{`4:11: unknown server "svr"; srv`}},
		{"unknown tool", strings.Replace(sample, "call: srv.echo,", "call: srv.ecko,", 1), []string{`6:12: unknown tool "ecko"; echo`}},
		{"wrong type", strings.Replace(sample, "times: 3", "times: thrice", 1), []string{`6:29: whole number; `}},
		{"bad duration", "servers: {srv: stdio}\nsteps:\n  - {call: srv.echo, timeout: 3 parsecs}\n", []string{`3:31: no duration; `}},
		{"misspelt transport in the short form", "servers:\n  srv: studio\nsteps: [{call: srv.echo}]\n",
			[]string{`2:8: unknown transport "studio"; stdio`}},
		{"misspelt field in the long form", "servers:\n  srv:\n    transport: stdio\n    scrpt: {}\nsteps: [{call: srv.echo}]\n",
			[]string{`4:5: unknown field "scrpt"; script`}},
		{"misspelt field in a rule", "servers:\n  srv:\n    transport: stdio\n    script:\n      rules:\n" +
			"        - when: {method: tools/call}\n          do: [{dealy: 1s}]\nsteps: [{call: srv.echo}]\n",
			[]string{`7:17: unknown field "dealy"; delay`}},
		{"misspelt word in a rule", "servers:\n  srv:\n    transport: stdio\n    script:\n      rules:\n" +
			"        - when: {phase: faul}\n          do: [{drop: true}]\nsteps: [{call: srv.echo}]\n",
			[]string{`6:25: unknown phase "faul"; fault`}},
		{"server as a list", "servers: {srv: [stdio]}\nsteps: [{call: srv.echo}]\n", []string{`1:16: a server is stdio, http; `}},
		{"server as a number", "servers: {srv: 7}\nsteps: [{call: srv.echo}]\n", []string{`1:16: a server is stdio, http; `}},
		{"server left empty", "servers: {srv: }\nsteps: [{call: srv.echo}]\n", []string{`1:11: unknown transport ""; `}},
		{"empty file", "", []string{`1:1: at least one server; `, `1:1: at least one step; `}},
		{"no YAML", "servers: {srv: stdio\n", []string{`1:10: ; `}},
		{"all that is wrong, in order", "servers: {srv: stdio}\nsteps:\n  - call: srv.nothing\n  - wait: a while\nexpect: best\n",
			[]string{`3:11: unknown tool; `, `4:11: is no wait; `, `5:9: unknown recovery class; `}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Parse("mine.yaml", []byte(c.text))
			got := strictyaml.Errors(err)
			g.Expect(got).To(HaveLen(len(c.want)), "%v", err)
			for i, e := range got {
				place, rest, _ := strings.Cut(c.want[i], ": ")
				says, suggestion, _ := strings.Cut(rest, "; ")
				g.Expect(e.File).To(Equal("mine.yaml"))
				g.Expect(fmt.Sprintf("%d:%d", e.Line, e.Column)).To(Equal(place), e.Error())
				g.Expect(e.Message).To(ContainSubstring(says))
				g.Expect(e.Suggestion).To(Equal(suggestion), e.Error())
				g.Expect(e.Snippet).NotTo(BeEmpty())
			}
		})
	}
}

// full uses every field once.
func full() Scenario {
	zero := 0
	return Scenario{
		ID: "full", Class: "crash-loop", Title: "everything: at once", Reports: []string{"a/b#1"},
		Eras: []script.Era{script.Legacy},
		Servers: map[string]Server{
			"srv": {Transport: "stdio", Script: script.Script{
				Era: script.Legacy, Tools: []string{"echo", "effect"},
				Rules: []script.Rule{{
					Name: "r", Once: true, Times: 2,
					When: script.When{Method: "tools/call", Tool: "echo", Nth: "2+", Life: "1", Phase: script.Faulty},
					Do: []script.Action{
						{Delay: script.Duration(150 * time.Millisecond)}, {Write: "no frame\n"}, {Effect: true}, {Exit: &zero},
					},
				}},
			}},
			"by":  {Transport: "stdio"},
			"web": {Transport: "http", Proxy: true},
		},
		Steps: []Step{
			{Call: "srv.echo", Args: map[string]any{"n": 4000, "deep": map[string]any{"list": []any{1, "two", true, 2.5}}},
				Times: 2, Parallel: 3, Expect: "error", Fast: true, Async: true, Timeout: script.Duration(time.Second)},
			{Call: "srv.echo", Pad: 1 << 20},
			{Inject: "crash-loop/at-start", On: "srv"}, {Await: "observed", On: "srv"}, {Lift: "crash-loop/at-start", On: "srv"},
			{Kill: "by"}, {Wait: "250ms"}, {Reconnect: "srv"}, {ListTools: "srv", Tools: "none"},
		},
		Expect: "needs-poke", Spawns: 7, Settings: map[string]int64{"liveness_ms": -1, "cooldown_ms": 5},
		Needs: []string{"reconnect"},
	}
}

func TestAGoValueAndAFileAreTheSame(t *testing.T) {
	for name, s := range map[string]Scenario{"everything": full(), "the least": good()} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := Marshal(s)
			g.Expect(err).NotTo(HaveOccurred())
			again, err := Marshal(s)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(again)).To(Equal(string(text)), "the order of the lines must not change")
			back, err := Parse("x.yaml", text)
			g.Expect(err).NotTo(HaveOccurred(), "%s", text)
			back.File = ""
			g.Expect(back).To(Equal(s), "%s", text)
		})
	}
}

func TestMarshalTakesTheShortFormOfAServer(t *testing.T) {
	g := NewWithT(t)
	text, err := Marshal(good())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring("  srv: stdio\n"))
	g.Expect(string(text)).NotTo(ContainSubstring("transport"))
}

// FuzzParse: whatever the file holds, the answer is a scenario that can be written and read again, or errors with a place.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	text, err := Marshal(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	files, err := filepath.Glob("../../scenarios/field/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no field files to begin with")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, odd := range []string{"", "\x00", "servers:", "servers: {srv: }", "- 1", "steps: [[[]]]", "servers: {? {} : stdio}", "a: &a [*a]", "\t"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x.yaml", data)
		if err != nil {
			for _, e := range strictyaml.Errors(err) {
				if e.Line < 1 || e.Column < 1 || e.Message == "" {
					t.Fatalf("an error without a place: %+v", e)
				}
			}
			if len(strictyaml.Errors(err)) == 0 {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		for _, st := range s.Steps {
			if Text(st) == "nothing" {
				t.Fatalf("a step without a verb got through: %+v", st)
			}
		}
		text, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, text)
		}
		if again, err := Marshal(back); err != nil || string(again) != string(text) {
			t.Fatalf("it changes when it is written again (%v):\n%s\n%s", err, text, again)
		}
	})
}
