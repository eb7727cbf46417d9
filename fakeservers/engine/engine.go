// Package engine decides which rule of a script fires. It knows no transport and does nothing itself: a fake tells it what
// happened (Match, Timers) and carries out the actions of the Hit it gets back. Both fakes use it, so that a script means the
// same on stdio and on HTTP. It imports the standard library and the script language.
package engine

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// World is what the rules look at outside the process; *state.Dir is one.
type World interface {
	// Take takes a one-shot token, true once over all processes.
	Take(token string) bool
	// Serving is the life that answered the latest baseline call.
	Serving() (life int, ok bool)
}

// Event is one thing that happened.
type Event struct {
	On     script.On // empty is a request
	Method string    // JSON-RPC method
	Tool   string    // params.name of a tools/call
	HTTP   string    // HTTP method
}

// Hit is a rule that fires.
type Hit struct {
	Name string // the rule's name, or "rule N" counted from 1
	Do   []script.Action
}

// String says in a few words what the hit does, for the journal.
func (h Hit) String() string {
	words := make([]string, len(h.Do))
	for i, a := range h.Do {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}

// Timer is a rule that may fire later (when.after). Due is to be called once, After later; it decides then, with the phase and
// the tokens as they are at that time.
type Timer struct {
	After time.Duration
	Due   func() (Hit, bool)
}

// Engine holds a script's counters for one life. Safe for concurrent use.
type Engine struct {
	world World
	life  int
	rules []rule

	mu    sync.Mutex
	phase script.Phase
}

type rule struct {
	script.Rule
	name  string
	token string
	seen  int // candidates in this phase, for nth
	fired int // in this life, for times
}

// New makes the engine of one life, in the phase that life starts in.
func New(s script.Script, w World, life int, p script.Phase) *Engine {
	e := &Engine{world: w, life: life, phase: p}
	for i, r := range s.Rules {
		name := r.Name
		if name == "" {
			name = fmt.Sprintf("rule %d", i+1)
		}
		e.rules = append(e.rules, rule{Rule: r, name: name, token: fmt.Sprintf("rule-%d", i+1)})
	}
	return e
}

// Phase returns the phase in force.
func (e *Engine) Phase() script.Phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phase
}

// SetPhase changes the phase for everything that is matched from now on; nth counts start again. Whoever calls it then
// reports Event{On: script.OnPhase}.
func (e *Engine) SetPhase(p script.Phase) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p == e.phase {
		return
	}
	e.phase = p
	for i := range e.rules {
		e.rules[i].seen = 0
	}
}

// Match reports what happened and returns the first rule that fires. Every rule counts its candidates, also when an
// earlier rule acts. Rules with when.after are not considered: see Timers.
func (e *Engine) Match(ev Event) (Hit, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := -1
	for i := range e.rules {
		r := &e.rules[i]
		if r.When.After > 0 || !e.candidate(r, ev) {
			continue
		}
		r.seen++
		if first < 0 && inRange(r.When.Nth, r.seen) && e.fire(r) {
			first = i
		}
	}
	if first < 0 {
		return Hit{}, false
	}
	return Hit{Name: e.rules[first].name, Do: e.rules[first].Do}, true
}

// Timers returns the rules that this event sets going. Only OnSpawn and OnPhase have any. A rule that names a phase is considered
// when it is due, not now, except that an OnPhase rule starts only by the change to its own phase.
func (e *Engine) Timers(ev Event) []Timer {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Timer
	for i := range e.rules {
		r := &e.rules[i]
		if r.When.After == 0 || r.When.On != ev.On {
			continue
		}
		started := e.phase
		if ev.On == script.OnPhase && r.When.Phase != "" && r.When.Phase != started {
			continue
		}
		out = append(out, Timer{After: r.When.After.D(), Due: func() (Hit, bool) { return e.due(r, ev, started) }})
	}
	return out
}

func (e *Engine) due(r *rule, ev Event, started script.Phase) (Hit, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ev.On == script.OnPhase && e.phase != started {
		return Hit{}, false // the phase it waited in is over
	}
	if !e.candidate(r, ev) || !e.fire(r) {
		return Hit{}, false
	}
	return Hit{Name: r.name, Do: r.Do}, true
}

// candidate says whether everything but the counts matches. Cheap tests come first: life "serving" reads a file.
func (e *Engine) candidate(r *rule, ev Event) bool {
	w := r.When
	return orRequest(w.On) == orRequest(ev.On) &&
		(w.Phase == "" || w.Phase == e.phase) &&
		(w.Method == "" || w.Method == ev.Method) &&
		(w.Tool == "" || w.Tool == ev.Tool) &&
		(w.HTTP == "" || w.HTTP == ev.HTTP) &&
		e.inLife(w.Life)
}

func (e *Engine) inLife(r script.Range) bool {
	if r == script.Serving {
		life, ok := e.world.Serving()
		return ok && life == e.life
	}
	return inRange(r, e.life)
}

// fire takes one of the rule's allowed firings.
func (e *Engine) fire(r *rule) bool {
	if r.Times > 0 && r.fired >= r.Times {
		return false
	}
	if r.Once && !e.world.Take(r.token) {
		return false
	}
	r.fired++
	return true
}

func inRange(r script.Range, n int) bool { return r == "" || r.Contains(n) }

func orRequest(o script.On) script.On {
	if o == "" {
		return script.OnRequest
	}
	return o
}
