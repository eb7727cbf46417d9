package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/internal/mono"
)

// recorder is the history while it is made. Each event is on disk before add returns, so that a crash loses nothing. It is safe for
// concurrent use.
type recorder struct {
	mu     sync.Mutex
	events []history.Event
	pulse  []history.Event // those that tell how slow the machine is
	file   *os.File        // nil: kept in memory only
	err    error           // the first failure to write
}

func newRecorder(path string) (*recorder, error) {
	if path == "" {
		return &recorder{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the history: %w", err)
	}
	return &recorder{file: f}, nil
}

// add records an event, now unless it brings a time of its own, and returns its time.
func (r *recorder) add(e history.Event) mono.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.T == 0 {
		e.T = mono.Now()
	}
	r.events = append(r.events, e)
	switch e.Kind {
	case history.RunStart, history.Tick, history.Spawned, history.Inject:
		r.pulse = append(r.pulse, e)
	}
	if r.file == nil {
		return e.T
	}
	b, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(b, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("writing the history: %w", err)
	}
	return e.T
}

// sofar returns a copy of all events yet, in the order in which they were recorded.
func (r *recorder) sofar() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]history.Event(nil), r.events...)
}

// slack is how much slower than usual the machine was from then until now, from the beginning of the run when from is 0. It is asked
// for at every call, so it looks at the few events that tell.
func (r *recorder) slack(from mono.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if from == 0 && len(r.pulse) > 0 {
		from = r.pulse[0].T
	}
	return budget.SlackIn(r.pulse, from, mono.Now())
}

// close ends the file and returns all events.
func (r *recorder) close() ([]history.Event, error) {
	events := r.sofar()
	if r.file != nil {
		if err := r.file.Close(); err != nil && r.err == nil {
			r.err = fmt.Errorf("writing the history: %w", err)
		}
	}
	return events, r.err
}
