package stdio

import (
	"errors"
	"fmt"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// settle is how long a command that writes to a pipe may take before it is acknowledged all the same: nobody may be reading.
const settle = 250 * time.Millisecond

// command does what the lab orders; see control.Handler.
func (f *fake) command(c control.Command, ack func()) error {
	if err := f.acceptable(c); err != nil {
		return err
	}
	if c.Phase != "" {
		f.eng.SetPhase(c.Phase)
		f.note(journal.Entry{Kind: journal.PhaseSet, Phase: string(c.Phase)})
	}
	if c.Do != nil {
		f.order(c, ack)
	}
	ack()
	if c.Phase != "" {
		// Beside the channel: what the rules do may take long, and the next command must get through.
		go f.happened(engine.Event{On: script.OnPhase})
	}
	return nil
}

func (f *fake) acceptable(c control.Command) error {
	if c.Phase == "" && c.Do == nil {
		return errors.New("an empty command")
	}
	if c.Phase != "" && f.isControl() {
		return errors.New("the phase of the control's fake is frozen")
	}
	probe := script.Script{Rules: []script.Rule{{When: script.When{On: script.OnPhase, Phase: c.Phase}}}}
	if c.Do != nil {
		if c.Do.HTTPOnly() {
			return fmt.Errorf("a stdio fake cannot %s", c.Do.Verb())
		}
		probe.Rules[0].Do = []script.Action{*c.Do}
	} else {
		probe.Rules[0].Do = []script.Action{{Hang: true}} // any: only the phase is looked at
	}
	return script.Validate(probe)
}

// order does an action by command. What ends or stops the process is acknowledged before, everything else when it is done.
func (f *fake) order(c control.Command, ack func()) {
	entry := journal.Entry{Kind: journal.Ack, Detail: c.Do.String()}
	if c.Do.Exit != nil || c.Do.Signal != "" || c.Do.KillLauncher { // whoever sees the launcher die may end us the next moment
		f.note(entry)
		ack()
		f.act(nil, *c.Do)
		return
	}
	if !lasts(*c.Do) && !c.Do.CloseStdout { // closing waits for the writer that may be stuck
		f.act(nil, *c.Do)
		f.note(entry)
		return
	}
	done := make(chan struct{})
	go func() { f.act(nil, *c.Do); close(done) }()
	select {
	case <-done:
	case <-time.After(settle):
	}
	f.note(entry)
}
