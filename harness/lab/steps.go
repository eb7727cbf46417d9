package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/harness/budget"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

// What a step expects of a call.
const (
	wantOK    = scenario.ExpectOK
	wantError = scenario.ExpectError
	wantAny   = scenario.ExpectAny
)

// waitMargin is added to a declared wait: what is due at its end takes a moment to happen.
const waitMargin = 50 * time.Millisecond

// steps does the scenario's steps one after the other. Results are recorded, not judged. The error is ctx's own or a *FaultError.
func (l *lab) steps(ctx context.Context) error {
	defer l.async.Wait()
	for n, st := range l.plan.Scenario.Steps {
		if l.plan.Twin && partOfFault(st) || st.Before != "" {
			continue
		}
		l.rec.add(history.Event{Kind: history.StepBegin, Step: n, Detail: scenario.Text(st)})
		detail, err := l.step(ctx, n, st)
		e := history.Event{Kind: history.StepEnd, Step: n, OK: detail == "" && err == nil, Detail: detail}
		if err != nil {
			e.Detail = err.Error()
		}
		l.rec.add(e)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// partOfFault are the steps that a twin leaves out.
func partOfFault(st scenario.Step) bool {
	return st.Inject != "" || st.Kill != "" || st.Lift != "" || st.Await != "" || st.Target != ""
}

// step does one step. detail says what did not come out as expected; err ends the scenario.
func (l *lab) step(ctx context.Context, n int, st scenario.Step) (detail string, err error) {
	switch {
	case l.session() == nil && (st.Reconnect != "" || st.ListTools != ""):
		return "there is no target", nil // it did not start again
	case st.Call != "":
		return l.callStep(ctx, n, st), nil
	case st.Inject != "" || st.Kill != "":
		return "", l.injectStep(ctx, n, st)
	case st.Await != "":
		if i := l.onAt(l.plan.Scenario.ServerOf(st), ""); i != nil {
			return "", l.awaitObserved(ctx, i)
		}
	case st.Lift != "":
		if i := l.onAt(l.plan.Scenario.ServerOf(st), st.Lift); i != nil {
			return "", l.lift(ctx, i)
		}
	case st.Wait != "":
		d := l.waitFor(st)
		wait(ctx, nil, d)
		if d == 0 {
			return "the target declares no " + st.Wait, nil
		}
	case st.Reconnect != "":
		return l.reconnect(ctx, st.Reconnect), nil
	case st.ListTools != "":
		return l.listStep(ctx, n, st), nil
	case st.Seen != "":
		return l.seenStep(ctx, n, st), nil
	case st.Target != "":
		return l.targetStep(ctx, st)
	}
	return "", nil
}

func (l *lab) injectStep(ctx context.Context, n int, st scenario.Step) error {
	for _, in := range l.injections {
		if in.Step != n {
			continue
		}
		if err := l.inject(ctx, in); err != nil {
			return err
		}
		if st.Kill == "" {
			return nil
		}
		return l.awaitObserved(ctx, l.on[len(l.on)-1])
	}
	return nil
}

// callStep makes the step's calls and says which did not end as expected.
func (l *lab) callStep(ctx context.Context, n int, st scenario.Step) (detail string) {
	server, tool := st.CallTarget()
	k := call{
		server: server, tool: tool, args: st.Args, load: history.LoadStep, fast: st.Fast, step: n,
		timeout: st.Timeout.D(), want: st.Expect,
	}
	if k.want == "" {
		k.want = wantOK
	}
	if l.plan.Twin && k.want == wantError {
		k.want, k.fast = wantAny, false // nothing is wrong there that could make it fail
	}
	if st.Pad > 0 {
		k.args = map[string]any{"text": strings.Repeat("x", st.Pad)}
		for name, v := range st.Args {
			k.args[name] = v
		}
	}
	bad := make(chan string, max(1, st.Parallel)*max(1, st.Times))
	begun := make(chan string, cap(bad))
	k.begun = func(nonce string) { begun <- nonce }
	lanes := newLoad()
	for range max(1, st.Parallel) {
		lanes.wg.Go(func() {
			for range max(1, st.Times) {
				if s := unexpected(k.want, l.through(ctx, k)); s != "" {
					bad <- s
				}
			}
		})
	}
	if st.Async {
		ended := make(chan struct{})
		l.async.Go(func() {
			lanes.wg.Wait()
			close(ended)
		})
		l.awaitInFlight(ctx, server, max(1, st.Parallel), begun, ended)
		return ""
	}
	lanes.wg.Wait()
	select {
	case s := <-bad:
		if more := len(bad); more > 0 {
			return fmt.Sprintf("%s (and %d more)", s, more)
		}
		return s
	default:
		return ""
	}
}

// flightWait is how long a call may take to reach its server, on a quiet machine, where it takes a millisecond. One that does not has met
// something on its way, which is what some scenarios want.
const flightWait = 100 * time.Millisecond

// awaitInFlight waits until the first n of a step's calls have been read by the server, so that what follows meets them in flight.
func (l *lab) awaitInFlight(ctx context.Context, server string, n int, begun <-chan string, ended <-chan struct{}) {
	waiting := map[string]bool{}
	for range n {
		select {
		case nonce := <-begun:
			waiting[nonce] = true
		case <-ended:
			return
		}
	}
	delete(waiting, "") // a tool without a nonce cannot be followed
	s := l.serverNamed(server)
	if s == nil {
		return
	}
	f := journal.Follow(s.dir.JournalPath())
	for deadline := time.Now().Add(l.stretched(flightWait)); len(waiting) > 0 && time.Now().Before(deadline); {
		entries, err := f.Poll()
		for _, e := range entries {
			if e.Kind == journal.Request {
				delete(waiting, e.Nonce)
			}
		}
		if err != nil || !wait(ctx, ended, siteLook) {
			return
		}
	}
}

// through makes a call through the target that runs now.
func (l *lab) through(ctx context.Context, k call) outcome {
	s := l.session()
	if s == nil {
		return outcome{}
	}
	return l.calls.do(ctx, s, k)
}

func unexpected(want string, o outcome) string {
	switch {
	case want == wantOK && !o.good && o.err != nil:
		return "failed: " + o.err.Message
	case want == wantOK && !o.good:
		return "the answer was not the call's own"
	case want == wantError && o.good:
		return "succeeded"
	}
	return ""
}

// waitFor is how long a wait step waits; 0 when the target declares no such time.
func (l *lab) waitFor(st scenario.Step) time.Duration {
	if d, ok := st.WaitFor(); ok {
		return d
	}
	t := l.profile.Timings
	if t == nil {
		return 0
	}
	d := declaredWait(t, st.Wait)
	if d <= 0 {
		return 0
	}
	return l.stretched(d) + waitMargin
}

const (
	// jitterMost is how much longer than its schedule a backoff with jitter may be.
	jitterMost = 1.5
	// processStart is what one start of a server that dies at once takes, on a quiet machine.
	processStart = 100 * time.Millisecond
)

func declaredWait(t *target.Timings, word string) time.Duration {
	switch word {
	case scenario.WaitCooldown:
		return t.Cooldown.D()
	case scenario.WaitBackoff:
		return max(t.BackoffMin.D(), t.BackoffMax.D())
	case scenario.WaitLiveness:
		return t.Liveness.D() * time.Duration(t.LivenessMisses+1)
	case scenario.WaitBudget:
		if t.Retries == 0 && t.BackoffMin == 0 {
			return 0
		}
		var sum time.Duration
		for n, d := 0, t.BackoffMin.D(); n < t.Retries; n++ {
			sum += d
			d = min(2*d, max(t.BackoffMin.D(), t.BackoffMax.D()))
		}
		return time.Duration(float64(sum)*jitterMost) + time.Duration(max(1, t.Retries))*processStart
	case scenario.WaitParked:
		if t.ParkedRetry == 0 {
			return 0
		}
		return t.ParkedRetry.D() + t.Connect.D()
	}
	return 0
}

// reconnect asks the target for a manual reconnect.
func (l *lab) reconnect(ctx context.Context, server string) (detail string) {
	s := l.session()
	if !s.Supports(scenario.NeedReconnect) {
		return "the target does not support it"
	}
	ctx, cancel := context.WithTimeout(ctx, l.stretched(l.reconnectBound()))
	defer cancel()
	if err := s.Reconnect(ctx, server); err != nil {
		return err.Message
	}
	return ""
}

// reconnectBound is how long a manual reconnect may take: it skips every wait, so stopping what was there and one connect must do.
func (l *lab) reconnectBound() time.Duration {
	if t := l.profile.Timings; t != nil && t.Connect > 0 {
		return 3*t.StopGrace.D() + t.Connect.D()
	}
	return 2 * l.oneWay()
}

// listStep lists until the offer is as expected, or for a moment: a target may take a change in the background.
func (l *lab) listStep(ctx context.Context, n int, st scenario.Step) (detail string) {
	deadline := time.Now().Add(budget.Fast(l.profile, l.slack()))
	for {
		tools, err := l.list(ctx, history.LoadStep, n, st.ListTools)
		detail = offer(st, tools, err, l.toolsOf(st.ListTools))
		if detail == "" || time.Now().After(deadline) || !wait(ctx, nil, budget.Poll) {
			return detail
		}
	}
}

func offer(st scenario.Step, tools []string, err error, all []string) string {
	missing := slices.DeleteFunc(slices.Clone(all), func(t string) bool { return slices.Contains(tools, t) })
	switch {
	case err != nil:
		return err.Error()
	case st.Tools == scenario.ToolsNone && len(tools) > 0:
		return fmt.Sprintf("still offered: %s", strings.Join(tools, ", "))
	case st.Tools == scenario.ToolsAll && len(missing) > 0:
		return fmt.Sprintf("not offered: %s", strings.Join(missing, ", "))
	}
	return ""
}

var errList = errors.New("listing failed")

// list asks the target for its tools and records the answer; it returns the names of one server's.
func (l *lab) list(ctx context.Context, load string, step int, server string) ([]string, error) {
	begun := now()
	ctx, cancel := context.WithTimeout(ctx, l.stretched(2*l.calls.usual))
	defer cancel()
	tools, derr := l.session().List(ctx)
	at := now()
	e := history.Event{T: at, Kind: history.ListEnd, Load: load, Step: step, Server: server, Tools: tools, OK: derr == nil, D: int64(at.Sub(begun))}
	if derr != nil {
		e.Err = clipError(derr)
	}
	l.rec.add(e)
	if derr != nil {
		return nil, fmt.Errorf("%w: %s", errList, derr.Message)
	}
	return namesOf(tools, server), nil
}

func namesOf(tools []driver.Tool, server string) []string {
	var names []string
	for _, t := range tools {
		if t.Server == server {
			names = append(names, t.Name)
		}
	}
	return names
}
