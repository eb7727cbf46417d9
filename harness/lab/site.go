package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/internal/mono"
	"github.com/unwedge/unwedge/internal/proc"
)

const (
	// siteLook is how often files and process states are looked at while something is awaited.
	siteLook = 3 * time.Millisecond
	// tellBound is one try to tell a live fake something. A healthy one answers in a millisecond; then it is looked at whether it was
	// stopped or has died, and told again.
	tellBound = 300 * time.Millisecond
)

// errNoLife says that no life of the server is known.
var errNoLife = errors.New("the server was never started")

// site is one injection's view of its server. Once it has found the serving life it stays with that one.
type site struct {
	lab    *lab
	server *server
	since  mono.Time // entries before it do not count

	mu      sync.Mutex
	serving faults.Process
}

func (s *site) Server() string { return s.server.name }

// Wire is nil, not a nil *Proxy in an interface, for a server without one.
func (s *site) Wire() faults.Wire {
	if s.server.wire == nil {
		return nil
	}
	return s.server.wire
}

// lives are all lives that the target has spawned, by number.
func (s *site) lives() (map[int]faults.Process, error) {
	entries, err := journal.Read(s.server.dir.JournalPath())
	if err != nil {
		return nil, err
	}
	out := map[int]faults.Process{}
	for _, e := range entries {
		if e.Kind == journal.Spawn && e.Role == "" {
			out[e.Life] = faults.Process{Pid: e.Pid, Start: e.Start, Life: e.Life}
		}
	}
	return out, nil
}

// Serving is the life that answered the latest baseline call; when that one was dead already at the first look, since an earlier
// fault of the scenario has hit it, the latest.
func (s *site) Serving(context.Context) (faults.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving.Pid != 0 {
		return s.serving, nil
	}
	lives, err := s.lives()
	if err != nil {
		return faults.Process{}, err
	}
	n, _ := s.server.dir.Serving()
	p, ok := lives[n]
	if !ok || !proc.Alive(p.Pid, p.Start) {
		if p, err = latest(lives); err != nil {
			return p, err
		}
	}
	s.serving = p
	return p, nil
}

func (s *site) Latest() (faults.Process, error) {
	lives, err := s.lives()
	if err != nil {
		return faults.Process{}, err
	}
	return latest(lives)
}

func latest(lives map[int]faults.Process) (faults.Process, error) {
	var last faults.Process
	for n, p := range lives {
		if n > last.Life {
			last = p
		}
	}
	if last.Pid == 0 {
		return last, errNoLife
	}
	return last, nil
}

// SetPhase writes the phase first: a life that begins from then on reads it. Those that began before are told.
func (s *site) SetPhase(ctx context.Context, p script.Phase) error {
	if err := s.server.dir.SetPhase(p); err != nil {
		return err
	}
	n, err := s.server.dir.Lives()
	if err != nil {
		return err
	}
	for life := 1; life <= n; life++ {
		if err := s.tell(ctx, life, control.Command{Phase: p}); err != nil {
			return fmt.Errorf("setting the phase to %s: %w", p, err)
		}
	}
	return nil
}

func (s *site) Do(ctx context.Context, a script.Action) error {
	p, err := s.Serving(ctx)
	if err != nil {
		return err
	}
	return s.tell(ctx, p.Life, control.Command{Do: &a})
}

// tell gives a command to a life until it has acknowledged, is dead, or, since it will not hear of anything, stopped.
func (s *site) tell(ctx context.Context, life int, c control.Command) error {
	for {
		state, err := s.look(life)
		if err != nil || state != lifeRuns {
			return err
		}
		try, cancel := context.WithTimeout(ctx, tellBound)
		err = control.Send(try, s.server.dir, life, c)
		cancel()
		var refused *control.RefusedError
		switch {
		case err == nil, errors.As(err, &refused):
			return err
		case !wait(ctx, nil, siteLook):
			return fmt.Errorf("telling life %d: %w (%w)", life, ctx.Err(), err)
		}
	}
}

type lifeState int

const (
	lifeRuns lifeState = iota
	lifeStopped
	lifeDead
)

// pidOf is the pid of a life that has not written into the journal yet, 0 when it is unknown.
func (s *site) pidOf(life int) int {
	b, err := os.ReadFile(s.server.dir.File(filepath.Join("lives", strconv.Itoa(life))))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// look says how a life is. One of which nothing is known yet is just starting.
func (s *site) look(life int) (lifeState, error) {
	lives, err := s.lives()
	if err != nil {
		return lifeDead, err
	}
	p, ok := lives[life]
	if !ok {
		p.Pid = s.pidOf(life)
	}
	if p.Pid == 0 {
		return lifeRuns, nil
	}
	i, err := proc.Read(p.Pid)
	switch {
	case errors.Is(err, proc.ErrGone):
		return lifeDead, nil
	case errors.Is(err, proc.ErrUnsupported):
		return lifeRuns, nil
	case err != nil:
		return lifeDead, err
	case i.Dead() || p.Start != 0 && i.Start != p.Start:
		return lifeDead, nil
	case i.Stopped():
		return lifeStopped, nil
	}
	return lifeRuns, nil
}

func (s *site) Signal(p faults.Process, sig os.Signal) error {
	n, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v: %w", sig, errors.ErrUnsupported)
	}
	lives, err := s.lives()
	if err != nil {
		return err
	}
	if own, ok := lives[p.Life]; !ok || own != p {
		return fmt.Errorf("%v is no life of server %s", p, s.server.name)
	}
	err = s.lab.keeper.Signal(p.Pid, p.Start, n)
	if errors.Is(err, keeper.ErrNotOurs) && !proc.Alive(p.Pid, p.Start) {
		return fmt.Errorf("signal %v to %v: %w", n, p, os.ErrProcessDone)
	}
	return err
}

func (s *site) AwaitGone(ctx context.Context, p faults.Process) error {
	return proc.AwaitExit(ctx, p.Pid, p.Start)
}

func (s *site) AwaitStopped(ctx context.Context, p faults.Process) error {
	return s.awaitState(ctx, p, true)
}

func (s *site) AwaitRunning(ctx context.Context, p faults.Process) error {
	return s.awaitState(ctx, p, false)
}

func (s *site) awaitState(ctx context.Context, p faults.Process, stopped bool) error {
	for {
		i, err := proc.Read(p.Pid)
		switch {
		case err != nil && !errors.Is(err, proc.ErrGone):
			return err
		case err != nil || i.Dead() || i.Start != p.Start:
			return fmt.Errorf("%v: %w", p, os.ErrProcessDone)
		case i.Stopped() == stopped:
			return nil
		}
		if !wait(ctx, nil, siteLook) {
			return ctx.Err()
		}
	}
}

func (s *site) AwaitEntry(ctx context.Context, match func(journal.Entry) bool) (journal.Entry, error) {
	f := journal.Follow(s.server.dir.JournalPath())
	for {
		entries, err := f.Poll()
		for _, e := range entries {
			if e.T >= s.since && e.Role == "" && match(e) {
				return e, nil
			}
		}
		if err != nil {
			return journal.Entry{}, err
		}
		if !wait(ctx, nil, siteLook) {
			return journal.Entry{}, ctx.Err()
		}
	}
}
