package engine_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// world is one state folder without the disk.
type world struct {
	mu      sync.Mutex
	taken   map[string]bool
	serving int
}

func (w *world) Take(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken == nil {
		w.taken = map[string]bool{}
	}
	had := w.taken[token]
	w.taken[token] = true
	return !had
}

func (w *world) Serving() (int, bool) { return w.serving, w.serving > 0 }

func named(name string, w script.When) script.Rule {
	return script.Rule{Name: name, When: w, Do: []script.Action{{Drop: true}}}
}

// call, list and so on are what may happen; "phase:fault" changes the phase and then happens.
var events = map[string]engine.Event{
	"echo": {Method: "tools/call", Tool: "echo"}, "add": {Method: "tools/call", Tool: "add"},
	"list": {Method: "tools/list"}, "spawn": {On: script.OnSpawn}, "eof": {On: script.OnEOF},
	"replied": {On: script.OnReplied, Method: "tools/call", Tool: "echo"}, "post": {On: script.OnHTTP, HTTP: "POST"},
	"get": {On: script.OnHTTP, HTTP: "GET"},
}

// play returns the names of the rules that fire, "." where none does.
func play(e *engine.Engine, story string) string {
	var out []string
	for _, word := range strings.Fields(story) {
		ev, ok := events[word]
		if p, change := strings.CutPrefix(word, "phase:"); change {
			e.SetPhase(script.Phase(p))
			ev, ok = engine.Event{On: script.OnPhase}, true
		}
		if !ok {
			panic("no such event: " + word)
		}
		if h, hit := e.Match(ev); hit {
			out = append(out, h.Name)
		} else {
			out = append(out, ".")
		}
	}
	return strings.Join(out, " ")
}

func TestWhichRuleFires(t *testing.T) {
	cases := []struct {
		name  string
		rules []script.Rule
		story string
		want  string
	}{
		{"empty matches every request", []script.Rule{named("a", script.When{})},
			"echo list spawn replied", "a a . ."},
		{"the first match wins", []script.Rule{named("a", script.When{Tool: "echo"}), named("b", script.When{})},
			"echo list", "a b"},
		{"method and tool", []script.Rule{named("a", script.When{Method: "tools/call", Tool: "add"})},
			"echo add list", ". a ."},
		{"http method", []script.Rule{named("a", script.When{On: script.OnHTTP, HTTP: "GET"})}, "post get", ". a"},
		{"kinds", []script.Rule{named("s", script.When{On: script.OnSpawn}), named("e", script.When{On: script.OnEOF}),
			named("r", script.When{On: script.OnReplied})}, "spawn echo replied eof", "s . r e"},
		{"nth exactly", []script.Rule{named("a", script.When{Tool: "echo", Nth: "2"})}, "echo add echo echo", ". . a ."},
		{"nth and later", []script.Rule{named("a", script.When{Nth: "2+"})}, "echo echo list", ". a a"},
		{"nth range", []script.Rule{named("a", script.When{Nth: "1-2"})}, "echo echo echo", "a a ."},
		{"each rule counts for itself", []script.Rule{named("a", script.When{Nth: "1"}), named("b", script.When{Nth: "2"})},
			"echo echo echo", "a b ."},
		{"nth starts again in each phase", []script.Rule{named("a", script.When{Tool: "echo", Nth: "2"})},
			"echo phase:fault echo echo", ". . . a"},
		{"the same phase again is no change", []script.Rule{named("a", script.When{Tool: "echo", Nth: "2"})},
			"echo phase:baseline echo", ". . a"},
		{"only in the phase", []script.Rule{named("a", script.When{Phase: script.Faulty})},
			"echo phase:fault echo phase:healed echo", ". . a . ."},
		{"on the change of phase", []script.Rule{named("a", script.When{On: script.OnPhase, Phase: script.Faulty})},
			"phase:fault phase:healed phase:fault", "a . a"},
		{"without a phase it is always on", []script.Rule{named("a", script.When{})}, "phase:healed echo", ". a"},
		{"another life", []script.Rule{named("a", script.When{Life: "2+"})}, "echo", "."},
		{"this life", []script.Rule{named("a", script.When{Life: "1"})}, "echo", "a"},
		{"times", []script.Rule{{Name: "a", Times: 2, Do: []script.Action{{Drop: true}}}, named("b", script.When{})},
			"echo echo phase:fault echo", "a a . b"},
		{"once", []script.Rule{{Name: "a", Once: true, Do: []script.Action{{Drop: true}}}, named("b", script.When{})},
			"echo echo", "a b"},
		{"nth counts also when a rule above acts",
			[]script.Rule{named("a", script.When{Nth: "1-2"}), named("b", script.When{Nth: "3"})}, "echo echo echo", "a a b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := engine.New(script.Script{Rules: c.rules}, &world{}, 1, script.Baseline)
			if got := play(e, c.story); got != c.want {
				t.Fatalf("%q: got %q, want %q", c.story, got, c.want)
			}
		})
	}
}

func TestServingIsLookedUpEachTime(t *testing.T) {
	w := &world{}
	e := engine.New(script.Script{Rules: []script.Rule{named("a", script.When{Life: script.Serving})}}, w, 3, script.Baseline)
	for serving, want := range []string{".", ".", ".", "a", "."} {
		w.serving = serving
		if got := play(e, "echo"); got != want {
			t.Errorf("serving %d: %q", serving, got)
		}
	}
}

func TestRulesWithoutNamesAreNumbered(t *testing.T) {
	one := 1
	e := engine.New(script.Script{Rules: []script.Rule{
		named("x", script.When{Tool: "no"}),
		{Do: []script.Action{{Delay: script.Duration(time.Second)}, {Exit: &one}}},
	}}, &world{}, 1, script.Baseline)
	h, ok := e.Match(events["echo"])
	if !ok || h.Name != "rule 2" || h.String() != "delay 1s, exit 1" {
		t.Fatalf("%+v %s", h, h)
	}
}

func TestOnceIsOneOverAllLives(t *testing.T) {
	w := &world{}
	s := script.Script{Rules: []script.Rule{{Once: true, Do: []script.Action{{Drop: true}}}}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	hits := 0
	for life := range 8 {
		wg.Go(func() {
			if _, ok := engine.New(s, w, life+1, script.Baseline).Match(events["echo"]); ok {
				mu.Lock()
				hits++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if hits != 1 {
		t.Fatalf("fired in %d lives", hits)
	}
}

func TestTimers(t *testing.T) {
	after := func(name string, on script.On, p script.Phase) script.Rule {
		return named(name, script.When{On: on, Phase: p, After: script.Duration(time.Second)})
	}
	s := script.Script{Rules: []script.Rule{
		after("spawned", script.OnSpawn, ""), after("faulty by then", script.OnSpawn, script.Faulty),
		after("fault", script.OnPhase, script.Faulty), after("any", script.OnPhase, ""),
	}}
	due := func(ts []engine.Timer) string {
		var out []string
		for _, timer := range ts {
			if h, ok := timer.Due(); ok {
				out = append(out, h.Name)
			}
		}
		return strings.Join(out, ", ")
	}
	e := engine.New(s, &world{}, 1, script.Baseline)
	if got := play(e, "spawn phase:fault phase:baseline"); got != ". . ." {
		t.Fatalf("they must wait: %s", got)
	}
	spawned := e.Timers(events["spawn"])
	if len(spawned) != 2 || spawned[0].After != time.Second {
		t.Fatalf("%+v", spawned)
	}
	e.SetPhase(script.Faulty)
	change := e.Timers(engine.Event{On: script.OnPhase})
	if got := due(spawned); got != "spawned, faulty by then" {
		t.Errorf("after the spawn: %q", got)
	}
	if got := due(change); got != "fault, any" {
		t.Errorf("after the change: %q", got)
	}
	over := e.Timers(engine.Event{On: script.OnPhase})
	e.SetPhase(script.Healed)
	if got := due(over); got != "" {
		t.Errorf("the phase is over, but %q", got)
	}
	if ts := e.Timers(events["echo"]); len(ts) != 0 {
		t.Errorf("a request waits: %+v", ts)
	}
}
