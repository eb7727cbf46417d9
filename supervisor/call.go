package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/breaker"
	"github.com/unwedge/unwedge/supervisor/internal/sent"
)

// maxResends bounds how often one call is sent again because nothing of it had left. A call that was sent is sent
// again at most once, however harmless it says it is: it may be what kills the server.
const maxResends = 3

// call makes one call on whatever session is live, or will be within the caller's time.
func (o *owner) call(caller context.Context, tool string, args any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(caller, o.set.CallTimeout)
	defer cancel()
	if caller.Err() != nil {
		e := &Error{Server: o.server.Name, Kind: KindTimeout, Sent: NotSent, What: "the caller's deadline had passed before the call began", Cause: caller.Err()}
		if errors.Is(caller.Err(), context.Canceled) {
			e.Kind, e.What = KindCancelled, "the caller had given up before the call began"
		}
		return nil, o.toCaller(e, tool)
	}
	var failed *Error // by the session not
	var not *session
	for sends := 1; ; sends++ {
		s, permit, e := o.admit(ctx, not)
		if failed != nil && (e != nil || failed.Sent != NotSent && !s.declares(tool)) {
			permit.Ignore()
			return nil, o.toCaller(failed, tool) // what happened to the call says more than why it was not sent again
		}
		if e != nil {
			return nil, o.toCaller(e, tool)
		}
		if failed != nil {
			o.count.resends.Add(1)
		}
		res, e := o.once(caller, ctx, s, permit, tool, args)
		if e == nil {
			return res, nil
		}
		again := mayResend(e, sends, s, tool)
		if failed != nil && failed.Sent == OutcomeUnknown && e.Sent == NotSent {
			e = failed // that the last send did not leave does not undo the one before
		}
		if !again {
			return nil, o.toCaller(e, tool)
		}
		failed, not = e, s
	}
}

// admit waits for a live session and asks the breaker, in this order: so the breaker is never asked about a server
// that is not there, and no probe goes to a dead one (SUP-2, NousResearch/hermes-agent#16788).
func (o *owner) admit(ctx context.Context, not *session) (*session, breaker.Permit, *Error) {
	for {
		s, e := o.session(ctx, not)
		if e != nil {
			return nil, breaker.Permit{}, e
		}
		permit, e := o.allow()
		if e != nil && s.link.doomed() { // it has died meanwhile; with the next session the breaker is closed
			not = s
			continue
		}
		return s, permit, e
	}
}

// mayResend is the rule of SUP-4: what was certainly not sent, or what declares itself harmless, and only after
// the session itself has failed.
func mayResend(e *Error, sends int, s *session, tool string) bool {
	if e.Kind != KindTransport && e.Kind != KindSession || !s.link.doomed() {
		return false
	}
	if e.Sent == NotSent {
		return sends <= maxResends
	}
	return sends == 1 && e.Sent == OutcomeUnknown && s.declares(tool)
}

// allow asks the breaker.
func (o *owner) allow() (breaker.Permit, *Error) {
	permit, err := o.breaker.Allow()
	if err == nil {
		return permit, nil
	}
	e := &Error{Server: o.server.Name, Kind: KindOpen, Sent: NotSent, Cause: err}
	var open *breaker.OpenError
	if errors.As(err, &open) {
		e.RetryAfter = open.RetryAfter()
		e.What = "rejected, since too many calls have failed: " + open.Error()
		if last := o.board.get().LastError; last != "" {
			e.What += " (last failure: " + last + ")"
		}
	}
	return breaker.Permit{}, e
}

// callContext carries the mark of one send down to the transport. It costs one allocation.
type callContext struct {
	context.Context
	mark sent.Mark
}

func (c *callContext) Value(key any) any {
	if key == sent.Key {
		return &c.mark
	}
	return c.Context.Value(key)
}

// once sends the call on one session and settles the permit.
func (o *owner) once(
	caller, ctx context.Context, s *session, permit breaker.Permit, tool string, args any,
) (*mcp.CallToolResult, *Error) {
	defer permit.Ignore() // a panic below must not keep the slot; else the first settling counts
	c := &callContext{Context: ctx}
	began, rx := time.Now(), s.link.rx()
	o.count.calls.Add(1)
	s.inflight.Add(1)
	res, err := s.link.call(c, &mcp.CallToolParams{Name: tool, Arguments: args})
	s.inflight.Add(-1)
	if err == nil {
		permit.Success()
		s.good()
		return res, nil
	}

	e := classifyCall(o, failure{caller: caller, ctx: ctx, sess: s, mark: &c.mark, err: err, took: time.Since(began)})
	e.Tool = tool
	o.count.failures.Add(1)
	o.noteError(e)
	switch {
	case e.Sent == Answered:
		s.answered.Add(1)
	case e.Kind == KindTimeout:
		o.count.timeouts.Add(1)
		o.suspect(s, permit, began, rx)
	}
	o.settle(s, permit, e, time.Since(began))
	return nil, e
}

// settle applies the policy of SUP-12. The death of a session is answered by another session, not by the breaker: all
// the calls that were in flight would be as many strikes for one death.
func (o *owner) settle(s *session, permit breaker.Permit, e *Error, took time.Duration) {
	switch {
	case s.link.doomed(), e.Sent == NotSent, e.Kind == KindTimeout && !o.fair(took):
		permit.Ignore()
	case o.set.BreakerCounts(e.Kind):
		permit.Failure()
	case e.Sent == Answered && e.Kind == KindTool:
		permit.Success() // it is up and answers
	default:
		permit.Ignore()
	}
}

// fair reports whether a call that took so long had time enough for its timeout to say something about the
// server, not about a caller in a hurry.
func (o *owner) fair(took time.Duration) bool { return took >= o.set.CallTimeout/2 }

// suspect looks for a session that is alive but hung (SUP-9): several timeouts in a row and a whole call timeout of
// silence, or a half-open probe without a byte since the breaker opened.
func (o *owner) suspect(s *session, permit breaker.Permit, began time.Time, rx uint64) {
	row, silent := s.timedOut(began, rx)
	switch {
	case row >= o.set.HungAfter && silent >= o.set.CallTimeout:
		o.mail.tell(request{kind: reqHung, sess: s, text: "is hung (calls timed out, one after the other, and it sent nothing meanwhile)"})
	case permit.Probe() && o.fair(time.Since(began)) && s.link.rx() == s.rxAtOpen.Load():
		o.mail.tell(request{kind: reqHung, sess: s, text: "is hung (it has sent nothing since the circuit breaker opened)"})
	}
}
