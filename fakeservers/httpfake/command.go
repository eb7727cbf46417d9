package httpfake

import (
	"errors"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// command does what the lab orders; see control.Handler.
func (l *life) command(c control.Command, ack func()) error {
	if err := l.acceptable(c); err != nil {
		return err
	}
	if c.Phase != "" {
		l.engine.SetPhase(c.Phase)
		l.write(journal.Entry{Kind: journal.PhaseSet, Phase: string(c.Phase)})
	}
	if c.Do != nil {
		l.order(c, ack)
	}
	ack()
	if c.Phase != "" {
		// Beside the channel: what the rules do may take long, and the next command must get through.
		go l.happened(engine.Event{On: script.OnPhase})
	}
	return nil
}

func (l *life) acceptable(c control.Command) error {
	if c.Phase == "" && c.Do == nil {
		return errors.New("an empty command")
	}
	if c.Phase != "" && l.role == RoleControl {
		return errors.New("the phase of the control's fake is frozen")
	}
	probe := script.Rule{When: script.When{On: script.OnPhase, Phase: c.Phase}, Do: []script.Action{{ForgetSessions: true}}}
	if c.Do != nil {
		if err := orderable(*c.Do); err != nil {
			return err
		}
		probe.Do[0] = *c.Do
	}
	return script.Validate(script.Script{Rules: []script.Rule{probe}})
}

// order does an action by command. What ends or stops the process is acknowledged before, everything else when it is done.
func (l *life) order(c control.Command, ack func()) {
	entry := journal.Entry{Kind: journal.Ack, Detail: c.Do.String()}
	if c.Do.Exit != nil || c.Do.Signal != "" {
		l.write(entry)
		ack()
		l.aboutServer(*c.Do)
		return
	}
	l.aboutServer(*c.Do)
	l.write(entry)
}

// happened tells the engine about something that is no request, and does what the rules say. Rules that wait do so beside it.
func (l *life) happened(ev engine.Event) {
	for _, t := range l.engine.Timers(ev) {
		time.AfterFunc(t.After, func() {
			if hit, ok := t.Due(); ok {
				l.fired(hit, journal.Entry{Role: l.role})
				l.do(nil, hit.Do)
			}
		})
	}
	if hit, ok := l.engine.Match(ev); ok {
		l.fired(hit, journal.Entry{Role: l.role})
		l.do(nil, hit.Do)
	}
}

// fired journals a rule before its actions run, since they may be the last that this process does. e says which request it is
// about.
func (l *life) fired(hit engine.Hit, e journal.Entry) {
	e.Kind, e.Rule, e.Detail, e.Phase = journal.Rule, hit.Name, hit.String(), string(l.engine.Phase())
	l.write(e)
}
