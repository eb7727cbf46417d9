package faults

import (
	"context"
	"os"
	"slices"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// scripted is a fault that needs no mechanics of its own: rules that sleep until the phase is "fault", orders to the serving life, its
// death. It injects in this order, so that no life slips in between that would be healthy.
type scripted struct {
	Info // without Class, Group, Transport and Rules, which What fills in

	rules  []script.Rule   // names and phase are filled in
	orders []script.Action // done by the serving life, one after the other
	// replace kills the serving life: the rules meet lives at their start.
	replace bool
	// ends says that a life in which a rule acts dies of it.
	ends bool
	// calm says that nothing has to come of it: it has taken effect when the serving life has acknowledged it.
	calm bool
	// stays says that the server stays as it has become: there is nothing to lift, and what a good client needs is there all the time.
	stays bool
	// how is what the server does, for the evidence: "life 1 (pid 4711) " + how.
	how string
}

func (f scripted) What() Info {
	i := f.Info
	i.Class = ClassOf(i.ID)
	if c, ok := ClassBySlug(i.Class); ok {
		i.Group = c.Group
	}
	i.Transport = Stdio
	i.Rules = slices.Clone(f.rules)
	for n := range i.Rules {
		i.Rules[n].Name, i.Rules[n].When.Phase = i.ID, script.Faulty
	}
	return i
}

func (f scripted) Inject(ctx context.Context, s Site) error {
	if len(f.rules) > 0 {
		if err := phaseOn(ctx, s); err != nil {
			return err
		}
	}
	for _, a := range f.orders {
		if err := s.Do(ctx, a); err != nil {
			return err
		}
	}
	if !f.replace {
		return nil
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return signal(s, p, os.Kill)
}

// Observed waits for the last thing that the injection does, and where it is up to a call, for the rule that meets it. Where the serving
// life is killed its death is enough: a target that never starts another one has met the fault all the same.
func (f scripted) Observed(ctx context.Context, s Site) (string, error) {
	if !f.replace && !f.calm && len(f.orders) == 0 {
		await := ruleFired
		if f.ends {
			await = ruleFiredAndGone
		}
		e, err := await(ctx, s, f.ID)
		if err != nil {
			return "", err
		}
		return lifeOf(e).String() + " " + f.how, nil
	}
	p, err := s.Serving(ctx)
	if err != nil {
		return "", err
	}
	if f.replace {
		if err := s.AwaitGone(ctx, p); err != nil {
			return "", err
		}
		return p.String() + " is dead; from now on the server " + f.how, nil
	}
	if f.calm {
		_, err := s.AwaitEntry(ctx, func(e journal.Entry) bool {
			return e.Kind == journal.PhaseSet && e.Life == p.Life && e.Phase == string(script.Faulty)
		})
		if err != nil {
			return "", err
		}
		return p.String() + " " + f.how, nil
	}
	last := f.orders[len(f.orders)-1].String()
	_, err = s.AwaitEntry(ctx, func(e journal.Entry) bool {
		return e.Kind == journal.Ack && e.Life == p.Life && e.Detail == last
	})
	if err != nil {
		return "", err
	}
	return p.String() + " " + f.how, nil
}

func (f scripted) Lift(ctx context.Context, s Site) error {
	if f.stays || len(f.rules) == 0 {
		return nil
	}
	return phaseOff(ctx, s)
}

// Lifted has nothing to wait for: Lift returned when every live process was healthy or dead.
func (scripted) Lifted(context.Context, Site) error { return nil }

// The first thing that a client asks, in either era.
var firstMethods = []string{"initialize", "server/discover"}

// atFirst is what a server does with the first question of a client.
func atFirst(do ...script.Action) []script.Rule {
	var rules []script.Rule
	for _, m := range firstMethods {
		rules = append(rules, script.Rule{When: script.When{Method: m}, Do: do})
	}
	return rules
}

// atSpawn is what a server does before it reads anything.
func atSpawn(do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{On: script.OnSpawn}, Do: do}}
}

// inEachCall is what a server does when a call arrives, in every life.
func inEachCall(do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{Method: "tools/call"}, Do: do}}
}

// inServingCall is what the serving life does when a call arrives: whatever life comes after it is healthy.
func inServingCall(do ...script.Action) []script.Rule {
	return []script.Rule{{When: script.When{Method: "tools/call", Life: script.Serving}, Do: do}}
}

// Actions that several faults need.
func exits(code int) script.Action { return script.Action{Exit: &code} }

var (
	ignoreEOF  = script.Action{IgnoreEOF: true}
	ignoreTERM = script.Action{IgnoreTERM: true}
	drop       = script.Action{Drop: true}
	hang       = script.Action{Hang: true}
	healthy    = script.Action{Healthy: true}
)

func pause(d script.Duration) script.Action { return script.Action{Delay: d} }
