package lab

import (
	"context"
	"time"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/internal/mono"
)

const (
	tickEvery = 50 * time.Millisecond
	// tickLate is the lateness worth recording. Less is what any machine does to a timer, and less than any declared wait.
	tickLate = 5 * time.Millisecond
	// stallAfter is a lateness that no load explains: the machine slept, or was stopped.
	stallAfter = 5 * time.Second
	// spawnEvery is the pace of control spawns from the first step to the end of the recovery. Each costs about ten milliseconds of one core.
	spawnEvery = time.Second
)

func now() mono.Time { return mono.Now() }

// metronome records how late timers come until it is told to stop.
func metronome(stop <-chan struct{}, rec *recorder) {
	t := time.NewTimer(tickEvery)
	defer t.Stop()
	for due := now().Add(tickEvery); ; due = now().Add(tickEvery) {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		at := now()
		switch late := at.Sub(due); {
		case late >= stallAfter:
			rec.add(history.Event{T: at, Kind: history.Stall, D: int64(late)})
		case late >= tickLate:
			rec.add(history.Event{T: at, Kind: history.Tick, D: int64(late)})
		}
		t.Reset(tickEvery)
	}
}

// spawns starts a control fake at a modest pace, and records how long each took to its first good call: the part of the machine that
// timers do not show.
func (l *lab) spawns(ctx context.Context, stop <-chan struct{}) {
	for wait(ctx, stop, spawnEvery) {
		l.spawnOnce(ctx)
	}
}

// spawnOnce records one control spawn. One that fails tells nothing here; the control before and after does.
func (l *lab) spawnOnce(ctx context.Context) {
	begun := now()
	if err := l.stdioControl(ctx, "metronome", l.metronomeDir); err != nil {
		return
	}
	at := now()
	l.rec.add(history.Event{T: at, Kind: history.Spawned, D: int64(at.Sub(begun))})
}
