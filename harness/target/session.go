package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/keeper"
)

// Kinds that only the harness gives, never a target.
const (
	// KindNoAnswer: the harness gave up waiting; the target said nothing.
	KindNoAnswer = "harness:no-answer"
	// KindTargetGone: the target's process ended, or it closed its streams.
	KindTargetGone = "harness:target-gone"
)

// ErrStart says that a target did not come up; the errors that match it are *StartError.
var ErrStart = errors.New("the target did not start")

// StartError says why a target did not come up.
type StartError struct {
	Target string
	Doing  string // "starting it", "configuring it"
	Reason string
	Last   string // the end of what it wrote, stderr and lines that were no protocol; may be empty
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("target %s: %s: %s", e.Target, e.Doing, e.Reason)
	if e.Last != "" {
		s += "; it last wrote: " + e.Last
	}
	return s
}

// Is makes errors.Is(err, ErrStart) true.
func (e *StartError) Is(target error) bool { return target == ErrStart }

const (
	// configureGrace is what a target may take to load and to answer beyond its connect timeout: interpreters are slow to start.
	configureGrace = 20 * time.Second
	// exitDrain is how long the streams of a target that ended are read on, for its last words. A grandchild may hold them open.
	exitDrain = 200 * time.Millisecond
	// quoted is how many of the last lines an error shows.
	quoted = 5
)

// Env is what a target is started in.
type Env struct {
	Keeper   *keeper.Keeper
	Programs Programs
	Dir      string // a folder of its own; its home and temporary files go here
	Config   driver.Config
	// Events is called for each event of the target, in order; it must not block. nil is fine.
	Events func(driver.Event)
}

// session is a running driver target.
type session struct {
	profile Profile
	proc    *keeper.Proc
	client  *driver.Client
	stderr  *tail
	info    driver.Info
	exited  chan struct{}
}

// Start starts a target and configures it. The error is a *StartError, ctx's own, or one of the keeper's; the target does not run
// then.
func Start(ctx context.Context, p Profile, e Env) (Session, error) {
	env, err := scrubbed(e.Dir, p.environment(e.Programs))
	if err != nil {
		return nil, err
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	proc, err := e.Keeper.Spawn(ctx, keeper.Spec{
		Argv: p.command(e.Programs), Env: env, Dir: e.Dir,
		Stdin: pipes.child[0], Stdout: pipes.child[1], Stderr: pipes.child[2],
	})
	pipes.closeChild()
	if err != nil {
		pipes.closeOurs()
		var se *keeper.StartError
		if errors.As(err, &se) {
			return nil, &StartError{Target: p.Name, Doing: "starting it", Reason: err.Error()}
		}
		return nil, err
	}
	var opts []driver.Option
	if e.Events != nil {
		opts = append(opts, driver.WithEvents(e.Events))
	}
	s := &session{
		profile: p, proc: proc, exited: make(chan struct{}),
		client: driver.NewClient(pipes.ours[0], pipes.ours[1], opts...),
		stderr: newTail(pipes.ours[2]),
	}
	go s.watch(pipes)
	if err := s.configure(ctx, e.Config); err != nil {
		_ = s.Kill() // it may have ended
		<-s.Exited()
		return nil, err
	}
	return s, nil
}

// pipes are the three streams; ours are stdin's writing end and the reading ends of the others.
type pipes struct{ child, ours [3]*os.File }

func newPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.child {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeChild()
			p.closeOurs()
			return nil, fmt.Errorf("making the target's pipes: %w", err)
		}
		p.child[i], p.ours[i] = w, r
		if i == 0 {
			p.child[i], p.ours[i] = r, w
		}
	}
	return p, nil
}

func closeFiles(fs [3]*os.File) {
	for _, f := range fs {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeChild() { closeFiles(p.child) }
func (p *pipes) closeOurs()  { closeFiles(p.ours) }

// watch tells of the process's end, once its last words are in.
func (s *session) watch(p *pipes) {
	<-s.proc.Done()
	limit := time.NewTimer(exitDrain)
	defer limit.Stop()
	for _, end := range []<-chan struct{}{s.client.Gone(), s.stderr.done} {
		select {
		case <-end:
		case <-limit.C:
			limit.Reset(0)
		}
	}
	p.closeOurs()
	close(s.exited)
}

func (s *session) configure(ctx context.Context, c driver.Config) error {
	bound := configureGrace
	if s.profile.Timings != nil {
		bound += s.profile.Timings.Connect.D()
	}
	cctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	r, err := s.client.Do(cctx, driver.Request{Op: driver.OpConfigure, Config: &c})
	fail := func(reason string) error {
		return &StartError{Target: s.profile.Name, Doing: "configuring it", Reason: reason, Last: s.lastWords()}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fail(fmt.Sprintf("no answer within %v", bound))
	case err != nil:
		select {
		case <-s.Exited():
			return fail("it ended: " + s.ExitStatus())
		case <-time.After(2 * exitDrain): // an exit is known a moment after the end of its streams
			return fail("it closed its stdout or stdin, and runs on")
		}
	case !r.OK && r.Error != nil:
		return fail(r.Error.Message)
	case !r.OK || r.Info == nil:
		return fail("its answer carries neither info nor error")
	case r.Info.Protocol != driver.Version:
		return fail(fmt.Sprintf("it speaks version %d of the driver protocol, this is version %d", r.Info.Protocol, driver.Version))
	}
	s.info = *r.Info
	return nil
}

// lastWords are the last lines of stdout that were no protocol, and of stderr.
func (s *session) lastWords() string {
	var out []string
	if _, noise := s.client.Noise(); len(noise) > 0 {
		out = append(out, "stdout: "+lastLines(strings.Join(noise, "\n"), quoted))
	}
	if e := lastLines(s.stderr.String(), quoted); e != "" {
		out = append(out, "stderr: "+e)
	}
	return strings.Join(out, "; ")
}

// do sends one request; the error says in the target's words, or in ours, why there is no good answer.
func (s *session) do(ctx context.Context, r driver.Request) (driver.Response, *driver.Error) {
	resp, err := s.client.Do(ctx, r)
	switch {
	case err == nil && resp.OK:
		return resp, nil
	case err == nil && resp.Error != nil:
		return resp, resp.Error
	case err == nil:
		return resp, &driver.Error{Kind: driver.KindOther}
	case errors.Is(err, driver.ErrTargetGone):
		return resp, &driver.Error{Kind: KindTargetGone, Message: err.Error()}
	}
	return resp, &driver.Error{Kind: KindNoAnswer, Message: "the target gave no answer"}
}

func (s *session) Call(ctx context.Context, server, tool string, args json.RawMessage, timeout time.Duration) (*driver.Result, *driver.Error) {
	r, err := s.do(ctx, driver.Request{
		Op: driver.OpCall, Server: server, Tool: tool, Args: args, TimeoutMS: timeout.Milliseconds(),
	})
	if err == nil && r.Result == nil {
		return nil, &driver.Error{Kind: driver.KindOther, Message: "the answer carries neither result nor error"}
	}
	return r.Result, err
}

func (s *session) List(ctx context.Context) ([]driver.Tool, *driver.Error) {
	r, err := s.do(ctx, driver.Request{Op: driver.OpList})
	return r.Tools, err
}

func (s *session) Status(ctx context.Context) ([]driver.ServerStatus, *driver.Error) {
	r, err := s.do(ctx, driver.Request{Op: driver.OpStatus})
	return r.Servers, err
}

func (s *session) Reconnect(ctx context.Context, server string) *driver.Error {
	_, err := s.do(ctx, driver.Request{Op: driver.OpReconnect, Server: server})
	return err
}

func (s *session) Close(ctx context.Context) *driver.Error {
	_, err := s.do(ctx, driver.Request{Op: driver.OpClose})
	if err != nil && err.Kind == KindTargetGone {
		err = nil // it may leave without a word; whether it has left is what counts
	}
	_ = s.client.CloseInput() // the end of stdin says the same
	select {
	case <-s.Exited():
		return err
	case <-ctx.Done():
		if err != nil {
			return err
		}
		return &driver.Error{Kind: KindNoAnswer, Message: "the target answered close and did not end"}
	}
}

func (s *session) Kill() error {
	err := s.proc.Signal(syscall.SIGKILL)
	if errors.Is(err, keeper.ErrNotOurs) {
		return nil // it has ended, or its keeper has
	}
	return err
}

func (s *session) Supports(what string) bool {
	if len(s.profile.Supports) > 0 {
		return slices.Contains(s.profile.Supports, what)
	}
	return slices.Contains(s.info.Supports, what)
}

func (s *session) Info() driver.Info       { return s.info }
func (s *session) Pid() int                { return s.proc.Pid }
func (s *session) Exited() <-chan struct{} { return s.exited }
func (s *session) ExitStatus() string      { return s.proc.Status().String() }
func (s *session) StderrTail() string      { return s.stderr.String() }
