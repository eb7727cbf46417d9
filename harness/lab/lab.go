// Package lab is one scenario's running world: keeper, fakes, proxies, target, journal. Run takes a scenario through it and returns the
// history. The lab does not judge, it does not even look at what it recorded, except to know when to go on.
//
//	folder, keeper, servers          world.go
//	control, before                  control.go
//	target, baseline                 target.go
//	bystander load begins            load.go
//	steps: calls, faults, waits      steps.go, faults.go, site.go, calls.go
//	steps: the target's own life     targetlife.go
//	faults that are still on: lifted
//	recovery ladder                  ladder.go, with the metronome's control spawns
//	control, after
//	target closed, leftovers         finish.go
//	journals merged, all ended
//
// Everything that a lab starts is below its keeper, and all of it is gone when Run returns. It imports faults, fakeservers and
// harness/target, never the supervisor and never an oracle. A newcomer most often adds a step (steps.go) or a rung (ladder.go).
package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
	"github.com/unwedge/unwedge/internal/mono"
)

// Plan is what a lab is to run.
type Plan struct {
	Scenario scenario.Scenario // valid, see Scenario.Validate
	Era      script.Era        // Legacy or Modern: what servers and target are pinned to
	Profile  target.Profile
	Programs target.Programs
	// Dir gets history.jsonl, line by line while the run goes on; empty keeps the history in memory only.
	Dir string
	// Twin leaves every fault out.
	Twin bool
	// Seed decides about pauses and nonces; the same seed makes the same ones.
	Seed uint64
	// Secret is the canary that servers get as a token, and that must appear nowhere.
	Secret string
	// MaxRecovery caps every budget; 0 = budget.DefaultCap.
	MaxRecovery time.Duration
	// Up is told what the target says of itself when it has started; nil is fine.
	Up func(driver.Info)
}

// HistoryFile is the name of the history in Plan.Dir.
const HistoryFile = "history.jsonl"

// lab is one run while it goes on. Fields are set before the goroutines that read them start, unless said otherwise.
type lab struct {
	plan       Plan
	profile    target.Profile // with the scenario's settings
	rec        *recorder
	keeper     *keeper.Keeper
	folder     string // temporary
	host       string // this lab's own loopback address
	stderr     *os.File
	injections []scenario.Injection
	faulted    []string

	servers      []*server
	proxyAPI     string
	metronomeDir *state.Dir
	held         held
	ours         sync.Map // pid -> start time of processes of the lab's own

	calls   *caller
	current atomic.Pointer[running] // nil while the target is restarted
	targets int                     // how many were started

	closing    chan struct{}
	background sync.WaitGroup // ends after closing is closed and the lab's context is done
	async      sync.WaitGroup // calls of async steps

	on         []*injection // in the order of injection; used by the steps' goroutine only
	liftedAt   map[string]mono.Time
	before     history.Event   // the target's resources at its baseline; Pid says whose
	down       map[string]bool // servers that a fault has hit before the target was started
	faultless  bool            // no fault failed to do what it should
	stopped    bool            // the target is stopped by a step; used by the steps' goroutine only
	randomLock sync.Mutex
	source     *rand.Rand
}

// Run takes the plan's scenario through a world of its own. The history is returned in the order of its times, as far as it
// came, also with an error. Errors: ctx's own when it was interrupted, or what kept the world from being built; whatever the target
// did is in the history instead.
func Run(ctx context.Context, p Plan) ([]history.Event, error) {
	l, err := open(ctx, p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.keeper.Gone():
			cancel(fmt.Errorf("in the middle of a run: %w", keeper.ErrGone))
		case <-ctx.Done():
		}
	}()
	err = l.run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if ctx.Err() != nil && !errors.Is(err, keeper.ErrGone) {
		l.rec.add(history.Event{Kind: history.Interrupt})
		l.mergeJournals() // they tell what the run was waiting for
	}
	cancel(nil)
	return l.close(err)
}

func open(ctx context.Context, p Plan) (_ *lab, err error) {
	l := &lab{
		plan: p, profile: budget.With(p.Profile, p.Scenario.Settings), host: ownAddress(),
		closing: make(chan struct{}), liftedAt: map[string]mono.Time{}, down: map[string]bool{}, faultless: true,
		source: rand.New(rand.NewPCG(p.Seed, 0)),
	}
	l.faulted = faultedServers(p.Scenario)
	if !p.Twin {
		l.injections = p.Scenario.Injections()
	}
	if l.folder, err = os.MkdirTemp("", keeper.ScratchPrefix+"lab-"); err != nil {
		return nil, fmt.Errorf("opening a lab: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening a lab: %w", err), os.RemoveAll(l.folder))
		}
	}()
	file := ""
	if p.Dir != "" {
		if err := os.MkdirAll(p.Dir, 0o755); err != nil {
			return nil, err
		}
		file = filepath.Join(p.Dir, HistoryFile)
	}
	if l.rec, err = newRecorder(file); err != nil {
		return nil, err
	}
	if l.stderr, err = os.Create(filepath.Join(l.folder, "stderr")); err != nil {
		return nil, err
	}
	l.calls = &caller{rec: l.rec, run: strconv.FormatUint(p.Seed, 36), usual: l.profile.CallTimeout(), slack: l.slack}
	l.keeper, err = keeper.Start(ctx, p.Programs.Small("keeper", "--scratch", l.folder))
	return l, err
}

// faultedServers are those whose recovery is asked for: where faults are injected, else where the script does something, else all.
func faultedServers(s scenario.Scenario) []string {
	if f := s.Faulted(); len(f) > 0 {
		return f
	}
	all := slices.Sorted(maps.Keys(s.Servers))
	scripted := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return len(s.Servers[name].Script.Rules) == 0
	})
	if len(scripted) > 0 {
		return scripted
	}
	return all
}

// run is the whole way of a scenario, from an empty world to a target that has been closed.
func (l *lab) run(ctx context.Context) error {
	l.rec.add(history.Event{Kind: history.RunStart, Detail: l.plan.Scenario.ID})
	ticking := newLoad()
	ticking.run(func(stop <-chan struct{}) { metronome(stop, l.rec) })
	defer ticking.stop()
	if err := l.build(ctx); err != nil {
		return fmt.Errorf("building the world: %w", err)
	}
	l.controls(ctx, "before")
	if err := l.injectBeforeStart(ctx); err != nil {
		return err
	}
	if err := l.startTarget(ctx); err != nil {
		if !errors.Is(err, target.ErrStart) {
			return err
		}
		l.notStarted(ctx, err)
		return nil
	}
	if l.baseline(ctx) {
		if err := l.scenario(ctx); err != nil {
			return err
		}
	}
	l.controls(ctx, "after")
	l.finish(ctx)
	if ctx.Err() == nil {
		l.mergeJournals()
		ticking.stop()
		l.rec.add(history.Event{Kind: history.RunEnd})
	}
	return ctx.Err()
}

// scenario is what happens between a good baseline and the last look at the world.
func (l *lab) scenario(ctx context.Context) error {
	load := newLoad()
	defer load.stop()
	for _, s := range l.servers {
		if !s.faulted {
			load.run(l.bystander(ctx, s.name))
		}
	}
	load.run(func(stop <-chan struct{}) { l.spawns(ctx, stop) })
	err := l.steps(ctx)
	for _, i := range l.on {
		if lerr := l.lift(ctx, i); err == nil {
			err = lerr
		}
	}
	var fe *FaultError
	if err != nil && !errors.As(err, &fe) {
		return err
	}
	l.revive(ctx)
	if !l.faultless {
		return nil // it proves nothing, so there is no recovery to wait for
	}
	l.ladder(ctx)
	l.look(ctx, "after", history.LoadExtra)
	return ctx.Err()
}

// close ends everything and returns the history.
func (l *lab) close(err error) ([]history.Event, error) {
	close(l.closing)
	kerr := l.keeper.Close()
	l.held.close()
	l.background.Wait()
	events, rerr := l.rec.close()
	slices.SortStableFunc(events, func(a, b history.Event) int { return compare(a.T, b.T) })
	return events, errors.Join(err, kerr, rerr, l.stderr.Close(), os.RemoveAll(l.folder))
}

func compare(a, b mono.Time) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (l *lab) serverNamed(name string) *server {
	for _, s := range l.servers {
		if s.name == name {
			return s
		}
	}
	return nil
}

// random is a duration below d, from the run's seed.
func (l *lab) random(d time.Duration) time.Duration {
	l.randomLock.Lock()
	defer l.randomLock.Unlock()
	return time.Duration(l.source.Int64N(int64(d)))
}

// slack is how much slower than usual the machine was so far.
func (l *lab) slack() float64 { return l.rec.slack(0) }

// stretched is d on this machine, now.
func (l *lab) stretched(d time.Duration) time.Duration {
	return time.Duration(float64(d) * l.slack())
}

// oneWay is what one connect and one call may take.
func (l *lab) oneWay() time.Duration {
	if t := l.profile.Timings; t != nil {
		return t.Connect.D() + l.calls.usual
	}
	return l.calls.usual
}
