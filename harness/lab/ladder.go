package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/internal/mono"
)

// The recovery ladder. The faults are lifted and the world is healthy; now it is found out what it takes until every faulted server
// answers again. Each rung is recorded for the servers that need it, and so is success; the oracle makes the class of it.

const (
	// inARow is how many good calls must follow one another: one could be luck.
	inARow = 3
	// probePause is the pace of the probe load, probesAtOnce how many calls may be out when they hang: a hung call must not hide
	// the recovery behind it.
	probePause   = 100 * time.Millisecond
	probesAtOnce = 3
	// latePart is how much longer than its budget a recovery under load is waited for, so that one that comes late is told from one
	// that does not come; lateMost bounds it.
	latePart = 0.5
	lateMost = 30 * time.Second
	// unknownBound is how long a recovery is waited for when the target declares no timings: two common cooldowns and a call.
	unknownBound = 150 * time.Second
	// quietMargin is what the quiet rung adds to the longest time that the target declares, quietMost bounds that pause.
	quietMargin = 500 * time.Millisecond
	quietMost   = 2 * time.Minute
	// fewCalls is how many calls follow a pause or a manual reconnect: enough for a row after some that fail, and no new load.
	fewCalls = 2 * inARow
	// freshBound is what a new target may take beyond two declared connects and calls: it has to load.
	freshBound = 5 * time.Second
)

// ladder climbs until every faulted server is good. A twin stays on the ground: it only shows the load.
func (l *lab) ladder(ctx context.Context) {
	left := slices.Clone(l.faulted)
	for _, rung := range []func(context.Context, []string) []string{l.underLoad, l.quiet, l.poke, l.restart} {
		left = rung(ctx, left)
		if len(left) == 0 || ctx.Err() != nil || l.plan.Twin {
			return
		}
	}
}

// underLoad keeps a steady load on each server until it is good, its budget is over, or nothing can come any more.
func (l *lab) underLoad(ctx context.Context, servers []string) []string {
	begun := now()
	return l.eachServer(servers, history.RungLoad, func(server string) bool {
		from, ok := l.liftedAt[server]
		if !ok {
			from = begun
		}
		// Steps may have used up the budget after the lift; a few calls are due all the same.
		least := begun.Add(inARow * 2 * probePause)
		return l.probe(ctx, probing{server: server, rung: history.RungLoad, atOnce: probesAtOnce, deadline: func() mono.Time {
			return max(least, from.Add(l.recoveryBound(server, from)))
		}})
	})
}

// recoveryBound is the time from the lift until waiting makes no more sense. It grows while the machine is slow.
func (l *lab) recoveryBound(server string, from mono.Time) time.Duration {
	limit := l.plan.MaxRecovery
	if limit <= 0 {
		limit = budget.DefaultCap
	}
	slack := l.rec.slack(from)
	b := budget.For(l.profile, l.faultsOf(server), slack, limit)
	if !b.Known() {
		return min(time.Duration(float64(unknownBound)*slack), limit)
	}
	return b.Total + min(time.Duration(float64(b.Total)*latePart), lateMost)
}

func (l *lab) faultsOf(server string) []faults.Info {
	var out []faults.Info
	for _, in := range l.injections {
		if in.Server == server {
			out = append(out, in.Fault.What())
		}
	}
	return out
}

// quiet lets everything rest for longer than any time that the target declares, then calls.
func (l *lab) quiet(ctx context.Context, servers []string) []string {
	if l.targetGone() {
		return servers
	}
	l.rung(servers, history.RungQuiet)
	if !wait(ctx, l.session().Exited(), l.stretched(l.quietPause())) {
		return servers
	}
	return l.eachQuietly(ctx, servers, probing{rung: history.RungQuiet, atMost: fewCalls}, l.oneWay()+time.Second)
}

func (l *lab) quietPause() time.Duration {
	t := l.profile.Timings
	if t == nil {
		return min(unknownBound/2, quietMost)
	}
	longest := max(t.Cooldown.D(), t.BackoffMin.D(), t.BackoffMax.D(), t.ParkedRetry.D(), t.DemandInterval.D(),
		t.ProbeLease.D(), t.Liveness.D()*time.Duration(max(1, t.LivenessMisses)))
	return min(longest+quietMargin, quietMost)
}

// poke asks for a manual reconnect, where there is such a thing.
func (l *lab) poke(ctx context.Context, servers []string) []string {
	if l.targetGone() || !l.session().Supports(scenario.NeedReconnect) {
		return servers
	}
	l.rung(servers, history.RungPoke)
	for _, server := range servers {
		if detail := l.reconnect(ctx, server); detail != "" {
			l.rec.add(history.Event{Kind: history.Rung, Rung: history.RungPoke, Server: server, Detail: clip(detail)})
		}
	}
	return l.eachQuietly(ctx, servers, probing{rung: history.RungPoke, atMost: fewCalls}, l.oneWay()+time.Second)
}

// restart ends the target and starts a fresh one: what the user would have to do.
func (l *lab) restart(ctx context.Context, servers []string) []string {
	l.rung(servers, history.RungRestart)
	l.stopTarget(ctx)
	if err := l.startTarget(ctx); err != nil {
		for _, server := range servers {
			l.rec.add(history.Event{Kind: history.Rung, Rung: history.RungRestart, Server: server, Detail: clip(err.Error())})
		}
		return servers
	}
	return l.eachQuietly(ctx, servers, probing{rung: history.RungRestart}, 2*l.oneWay()+freshBound)
}

// eachQuietly calls each server, one call at a time, until it is good or the bound is over.
func (l *lab) eachQuietly(ctx context.Context, servers []string, p probing, bound time.Duration) []string {
	begun := now()
	p.atOnce, p.deadline = 1, func() mono.Time { return begun.Add(l.stretched(bound)) }
	return l.eachOf(servers, func(server string) bool {
		p := p
		p.server = server
		return l.probe(ctx, p)
	})
}

func (l *lab) rung(servers []string, rung string) {
	for _, s := range servers {
		l.rec.add(history.Event{Kind: history.Rung, Rung: rung, Server: s})
	}
}

func (l *lab) eachServer(servers []string, rung string, good func(server string) bool) []string {
	l.rung(servers, rung)
	return l.eachOf(servers, good)
}

// eachOf does all servers side by side and returns those that are not good.
func (l *lab) eachOf(servers []string, good func(server string) bool) []string {
	results := make([]bool, len(servers))
	var wg sync.WaitGroup
	for n, server := range servers {
		wg.Go(func() { results[n] = good(server) })
	}
	wg.Wait()
	var left []string
	for n, server := range servers {
		if !results[n] {
			left = append(left, server)
		}
	}
	return left
}

// probing says how a server is called until it is good.
type probing struct {
	server, rung string
	atOnce       int // calls that may be out at the same time
	atMost       int // calls altogether; 0 is without limit
	deadline     func() mono.Time
}

// probe calls a server at a steady pace until it was good inARow times, the deadline has passed or the target is gone. All calls
// that it began have ended when it returns.
func (l *lab) probe(ctx context.Context, p probing) bool {
	s := l.session()
	if s == nil {
		return false
	}
	r := &row{}
	free := make(chan struct{}, p.atOnce)
	var wg sync.WaitGroup
	made := 0
	for now() < p.deadline() && (p.atMost == 0 || made < p.atMost) && !r.full() && ctx.Err() == nil && !l.targetGone() {
		select {
		case free <- struct{}{}:
			made++
			begun := now()
			wg.Go(func() {
				defer func() { <-free }()
				o := l.through(ctx, call{server: p.server, tool: toolEcho, load: history.LoadProbe, want: wantAny})
				if r.add(begun, o) {
					l.rec.add(history.Event{
						Kind: history.Good, Server: p.server, Rung: p.rung, Call: r.calls[0],
						Detail: fmt.Sprintf("%d good calls in a row", inARow),
					})
				}
			})
		default:
		}
		wait(ctx, s.Exited(), probePause)
	}
	wg.Wait()
	return r.full()
}

// row counts good calls in a row, in the order in which they end. A bad one breaks the row, unless it began before the row did: then it is
// a late witness of what was before.
type row struct {
	mu    sync.Mutex
	begun mono.Time // when the first call of the row began
	calls []int64
}

// add reports whether this call was the one that filled the row.
func (r *row) add(begun mono.Time, o outcome) (filled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.calls) >= inARow:
		return false
	case o.good:
		if len(r.calls) == 0 {
			r.begun = begun
		}
		r.calls = append(r.calls, o.id)
	case begun >= r.begun:
		r.calls = nil
	}
	return len(r.calls) == inARow
}

func (r *row) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls) >= inARow
}
