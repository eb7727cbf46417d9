package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

const (
	// baselineCalls is how many good calls each server must answer before anything is done to it.
	baselineCalls = 4
	// baselinePause is between two calls of a baseline that is not good yet: many targets connect lazily.
	baselinePause = 100 * time.Millisecond
	// baselineBound is what a target may take for it, beyond two declared connects and calls.
	baselineBound = 10 * time.Second
	// listSettle is how long a target may take to offer all tools after its servers have answered calls, on a quiet machine.
	listSettle = time.Second
)

// running is a target that was started.
type running struct {
	target.Session
	ending atomic.Bool // by us: its exit is expected
}

// session is the target that runs now, nil while it is restarted.
func (l *lab) session() target.Session {
	if r := l.current.Load(); r != nil {
		return r
	}
	return nil
}

func (l *lab) startTarget(ctx context.Context) error {
	c, err := l.config()
	if err != nil {
		return err
	}
	l.targets++
	l.rec.add(history.Event{Kind: history.TargetGo})
	s, err := target.Start(ctx, l.profile, target.Env{
		Keeper: l.keeper, Programs: l.plan.Programs, Config: c,
		Dir: filepath.Join(l.folder, "target-"+strconv.Itoa(l.targets)),
		Events: func(e driver.Event) {
			l.rec.add(history.Event{Kind: history.Target, Server: e.Server, Target: &e})
		},
	})
	if err != nil {
		return err
	}
	r := &running{Session: s}
	i := s.Info()
	if l.plan.Up != nil {
		l.plan.Up(i)
	}
	l.rec.add(history.Event{Kind: history.TargetUp, Pid: s.Pid(), Detail: i.Name + " " + i.Version})
	l.current.Store(r)
	l.background.Go(func() { l.watchExit(r) })
	return nil
}

func (l *lab) watchExit(r *running) {
	select {
	case <-r.Exited():
	case <-l.closing:
		return
	}
	l.rec.add(history.Event{Kind: history.TargetExit, Pid: r.Pid(), Detail: r.ExitStatus(), Expected: r.ending.Load()})
	if tail := r.StderrTail(); tail != "" {
		l.rec.add(history.Event{Kind: history.Stderr, Text: tail})
	}
}

// baseline calls every server until it is good. It marks the lives that serve, for the faults.
func (l *lab) baseline(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.stretched(2*l.oneWay()+baselineBound))
	defer cancel()
	results := make([]bool, len(l.servers))
	all := newLoad()
	for n, s := range l.servers {
		if l.down[s.name] {
			results[n] = true
			continue
		}
		all.wg.Go(func() { results[n] = l.baselineOf(ctx, s) })
	}
	all.wg.Wait()
	ok := true
	for _, good := range results {
		ok = ok && good
	}
	if ok {
		l.look(ctx, "baseline", history.LoadBaseline)
	}
	return ok
}

func (l *lab) baselineOf(ctx context.Context, s *server) bool {
	good, failed := 0, 0
	var last outcome
	for good < baselineCalls && ctx.Err() == nil && !l.targetGone() {
		o := l.through(ctx, call{server: s.name, tool: toolEcho, load: history.LoadBaseline, want: wantAny})
		if o.good {
			good++
			continue
		}
		good, failed = 0, failed+1
		if ctx.Err() == nil { // else it was cut short, and the one before says more
			last = o
		}
		wait(ctx, nil, baselinePause)
	}
	e := history.Event{Kind: history.Baseline, Server: s.name, OK: good == baselineCalls}
	e.Detail = fmt.Sprintf("%d good calls in a row, %d failed before", good, failed)
	if !e.OK {
		e.Detail = fmt.Sprintf("%d calls failed", failed)
		if last.err != nil {
			e.Detail += ", the last with: " + clip(last.err.Message)
		}
	}
	l.rec.add(e)
	return e.OK
}

func (l *lab) targetGone() bool {
	s := l.session()
	if s == nil {
		return true
	}
	select {
	case <-s.Exited():
		return true
	default:
		return false
	}
}

// look records what the target offers, says of itself and needs, at a quiet moment.
func (l *lab) look(ctx context.Context, when, load string) {
	if l.targetGone() || ctx.Err() != nil {
		return
	}
	s := l.session()
	l.settleList(ctx, load)
	if s.Supports(scenario.NeedStatus) {
		ctx, cancel := context.WithTimeout(ctx, l.stretched(l.calls.usual))
		defer cancel()
		if servers, err := s.Status(ctx); err == nil {
			l.rec.add(history.Event{Kind: history.Status, Servers: servers, Detail: when})
		}
	}
	l.resources(ctx, s, when)
}

// settleList waits a moment until all tools of all servers are offered, then records the offer once, whatever it is.
func (l *lab) settleList(ctx context.Context, load string) {
	deadline := time.Now().Add(l.stretched(listSettle))
	for {
		bounded, cancel := context.WithTimeout(ctx, l.stretched(l.calls.usual))
		tools, err := l.session().List(bounded)
		cancel()
		if err == nil && l.allOffered(tools) || time.Now().After(deadline) || !wait(ctx, nil, budget.Poll) {
			break
		}
	}
	_, _ = l.list(ctx, load, 0, "") // what went wrong is in the history
}

func (l *lab) allOffered(tools []driver.Tool) bool {
	for _, s := range l.servers {
		if i := l.onAt(s.name, ""); i != nil && i.On() {
			continue // its fault is on
		}
		if len(namesOf(tools, s.name)) < len(l.toolsOf(s.name)) {
			return false
		}
	}
	return true
}
