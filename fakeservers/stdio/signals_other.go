//go:build !unix

package stdio

import (
	"os"
	"os/signal"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// killedStatus stands in for a death by signal, which this platform does not have.
const killedStatus = 1

func (f *fake) watchSignals() {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt)
	go func() {
		for s := range c {
			f.note(journal.Entry{Kind: journal.Signal, Detail: s.String()})
			f.happened(engine.Event{On: script.OnSignal})
			if !f.ignoreTERM.Load() {
				f.exit(killedStatus, s.String())
			}
		}
	}()
}

// raise ends the process; stopping is not possible here.
func (f *fake) raise(name string) {
	if name != "STOP" {
		f.exit(killedStatus, "signal "+name)
	}
}
