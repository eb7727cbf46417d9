package lab

import (
	"context"
	"sync"
	"time"

	"github.com/unwedge/unwedge/harness/history"
)

// Bystanders are called at this pace, one call at a time: often enough to notice a pause, seldom enough to cost nothing.
const (
	bystanderMin = 50 * time.Millisecond
	bystanderMax = 100 * time.Millisecond
)

// load is background work that is told to stop and then finishes what it has begun, so that the history holds no call that the lab
// cut short.
type load struct {
	stopping chan struct{}
	once     sync.Once
	wg       sync.WaitGroup
}

func newLoad() *load { return &load{stopping: make(chan struct{})} }

func (l *load) run(f func(stop <-chan struct{})) {
	l.wg.Go(func() { f(l.stopping) })
}

// stop returns when all work has ended. It is harmless after the first time.
func (l *load) stop() {
	l.once.Do(func() { close(l.stopping) })
	l.wg.Wait()
}

// every calls f now and then after each pause, until it is told to stop or ctx ends.
func every(ctx context.Context, stop <-chan struct{}, pause func() time.Duration, f func()) {
	for {
		f()
		if !wait(ctx, stop, pause()) {
			return
		}
	}
}

// wait waits for d; false when it was ended before.
func wait(ctx context.Context, stop <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-stop:
	case <-ctx.Done():
	}
	return false
}

// bystander calls a server without a fault. A restart of the target, which is the harness's doing, stops it for that time.
func (l *lab) bystander(ctx context.Context, server string) func(stop <-chan struct{}) {
	pause := func() time.Duration { return bystanderMin + l.random(bystanderMax-bystanderMin) }
	return func(stop <-chan struct{}) {
		every(ctx, stop, pause, func() {
			if s := l.session(); s != nil {
				l.calls.do(ctx, s, call{server: server, tool: toolEcho, load: history.LoadBystander, want: wantOK})
			}
		})
	}
}
