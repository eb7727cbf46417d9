package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/supervisor/internal/httplink"
	"github.com/unwedge/unwedge/supervisor/internal/redact"
	"github.com/unwedge/unwedge/supervisor/internal/sent"
	"github.com/unwedge/unwedge/supervisor/internal/stdio"
)

// This file decides what failures are (SUP-12). Nothing is decided by the text of an error, and "dead" only by
// what the link says of itself: go-sdk returns io.EOF for a dead process as well as for an answer without a
// result, and ErrConnectionClosed for anything that a healthy server answers with code -32003.

// deathWait bounds the wait for a link that is doomed to say why. Its own waits are shorter.
const deathWait = 500 * time.Millisecond

// failure is all that is known of a failed call.
type failure struct {
	caller context.Context // what the caller gave
	ctx    context.Context // the same, bounded by the call timeout
	sess   *session
	mark   *sent.Mark
	err    error
	took   time.Duration
}

func classifyCall(o *owner, f failure) *Error {
	e := &Error{Server: o.server.Name, Cause: sanitize(o.redact, f.err)}
	l := f.sess.link
	rpc, malformed, refused := as[*jsonrpc.Error](f.err), as[*stdio.FrameError](f.err), as[*stdio.Rejected](f.err)
	http := as[*httplink.Failure](f.err)
	switch {
	case refused != nil: // by our own queue, or because the arguments are no JSON
		e.Kind, e.What = KindProtocol, "the call could not be written: "+refused.Error()
	case malformed != nil:
		e.Kind, e.What = KindProtocol, malformed.Error()
	case rpc != nil:
		e.Kind, e.Sent = KindTool, Answered
		e.What = fmt.Sprintf("the server answered with error %d: %s", rpc.Code, o.redact.String(rpc.Message))
	case http != nil && http.RPCCode != 0 && httpKind(http.Kind) == KindProtocol:
		e.Kind, e.Sent, e.What = KindTool, Answered, "the server answered with "+o.redact.String(http.Error())
	case f.ctx.Err() != nil && !closed(l.dead()):
		e.gaveUp(o, f)
	case http != nil && http.Kind != httplink.KindAborted && http.Kind != httplink.KindCancelled:
		e.Kind, e.What, e.RetryAfter = httpKind(http.Kind), o.redact.String(http.Error()), http.RetryAfter
		if e.Kind == KindAuth || e.Kind == KindRate {
			e.Sent = Answered // it was read and turned away
		}
	case l.doomed() && awaitDeath(l):
		e.dead(o, l, f.mark.Begun())
	case f.ctx.Err() != nil:
		e.gaveUp(o, f)
	case errors.Is(f.err, mcp.ErrConnectionClosed): // the connection is fine: the server says so
		e.Kind, e.Sent = KindTool, Answered
		e.What = "the server answered with the error code of a closed connection"
	default:
		e.Kind = KindProtocol
		e.What = "the answer cannot be read: " + o.redact.String(f.err.Error())
	}
	if e.Sent == OutcomeUnknown && !f.mark.Begun() && (e.Kind != KindTimeout && e.Kind != KindCancelled || l.withdraw(f.mark)) {
		e.Sent = NotSent
	}
	return e
}

// httpKind is the class of what HTTP had to say.
func httpKind(k httplink.Kind) Kind {
	switch k {
	case httplink.KindConnect, httplink.KindTransport, httplink.KindUnavailable, httplink.KindAborted:
		return KindTransport
	case httplink.KindSessionGone:
		return KindSession
	case httplink.KindAuth:
		return KindAuth
	case httplink.KindRateLimited:
		return KindRate
	case httplink.KindTimeout:
		return KindTimeout
	case httplink.KindCancelled:
		return KindCancelled
	}
	return KindProtocol // refused, not MCP, redirected, too large
}

// gaveUp says that time, or the caller, ended a call on a link that is up.
func (e *Error) gaveUp(o *owner, f failure) {
	took := f.took.Round(time.Millisecond)
	switch {
	case errors.Is(f.caller.Err(), context.Canceled):
		e.Kind, e.What = KindCancelled, fmt.Sprintf("the caller gave up after %v", took)
	case f.caller.Err() != nil:
		e.Kind, e.What = KindTimeout, fmt.Sprintf("no answer within the caller's deadline (%v)", took)
	default:
		e.Kind, e.What = KindTimeout, fmt.Sprintf("no answer within the call timeout (%v)", o.set.CallTimeout)
	}
	e.Cause = f.ctx.Err()
}

// dead says that the link ended under a call.
func (e *Error) dead(o *owner, l link, begun bool) {
	d := l.death()
	e.Kind, e.What, e.Exit, e.Stderr = d.kind, o.redact.String(d.what), d.exit, l.facts().stderr
	if begun {
		e.What += " while the call was running"
	} else {
		e.What += " before the call was sent"
	}
	e.Cause = nil // go-sdk's text for it is "EOF"
}

// classifyConnect says why an attempt to connect failed.
func classifyConnect(o *owner, r result) *Error {
	e := &Error{Server: o.server.Name, Kind: KindTransport, Sent: NotSent, Cause: sanitize(o.redact, r.err)}
	what := o.redact.String(r.err.Error())
	if r.link != nil {
		e.Stderr = r.link.facts().stderr
	}
	http := as[*httplink.Failure](r.err)
	switch rpc := as[*jsonrpc.Error](r.err); { // an answer first: go-sdk gives the link up after a refusal
	case errors.Is(r.err, exec.ErrNotFound), as[*exec.Error](r.err) != nil:
		e.What = "cannot be started: " + what
	case r.timeout:
		e.Kind = KindTimeout
		e.What = fmt.Sprintf("was not ready within the connect timeout (%v)", o.set.ConnectTimeout)
	case http != nil:
		e.Kind, e.RetryAfter = httpKind(http.Kind), http.RetryAfter
		e.What = "cannot be connected to: " + what
	case rpc != nil:
		e.Kind = KindProtocol
		e.What = fmt.Sprintf("refused the handshake with error %d: %s", rpc.Code, o.redact.String(rpc.Message))
	case errors.Is(r.err, errWrongEra):
		e.Kind, e.What = KindProtocol, what
	case r.link != nil && r.link.doomed() && awaitDeath(r.link):
		d := r.link.death()
		e.Exit = d.exit
		e.What = o.redact.String(d.what) + " before it was ready"
	default:
		e.What = "cannot be connected to: " + what
	}
	return e
}

var errWrongEra = errors.New("the server does not speak the protocol era that it is pinned to")

// isAnswer reports whether the server answered, if only with an error or something unreadable.
func isAnswer(err error) bool {
	http := as[*httplink.Failure](err)
	return as[*jsonrpc.Error](err) != nil || as[*stdio.FrameError](err) != nil || http != nil && http.RPCCode != 0
}

// notConnected is the error of a call that got no session.
func (o *owner) notConnected() *Error {
	b := o.board.get()
	e := &Error{Server: o.server.Name, Kind: KindNoSession, Sent: NotSent, Stderr: b.StderrTail}
	e.What = "not connected (" + string(b.State) + ")"
	if b.State == StateNeedsAuth {
		e.Kind = KindAuth
	}
	if b.LastError != "" {
		e.What += ": " + b.LastError
	}
	if !b.NextTry.IsZero() {
		e.RetryAfter = max(0, time.Until(b.NextTry))
	}
	return e
}

func (o *owner) closedError(tool string) *Error {
	return &Error{Server: o.server.Name, Tool: tool, Kind: KindClosed, Sent: NotSent, What: "the supervisor no longer runs this server"}
}

// toCaller completes an error for one caller: others may have got the same one.
func (o *owner) toCaller(e *Error, tool string) *Error {
	c := *e
	c.Tool = tool
	switch c.Kind {
	case KindTransport, KindSession:
		if o.live.Load() == nil || c.Exit != "" || c.Sent != NotSent {
			c.Next = o.whatNext()
		}
	case KindNoSession:
		c.Next = o.whatNext()
	case KindAuth:
		c.Next = "the session is kept"
		if o.live.Load() == nil {
			c.Next = o.whatNext()
		}
	case KindTimeout:
		if c.Sent != NotSent {
			c.Next = "the session is kept, and replaced if it stays silent"
		} else {
			c.Next = o.whatNext()
		}
	case KindOpen:
		c.Next = fmt.Sprintf("try again in %v", c.RetryAfter.Round(time.Millisecond))
	}
	return &c
}

func awaitDeath(l link) bool {
	select {
	case <-l.dead():
		return true
	default:
	}
	t := time.NewTimer(deathWait)
	defer t.Stop()
	select {
	case <-l.dead():
		return true
	case <-t.C:
		return false
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// as is errors.As for pointer types that are errors.
func as[T error](err error) T {
	var target T
	errors.As(err, &target)
	return target
}

// sanitize keeps secrets out of what Unwrap gives.
func sanitize(r *redact.Redactor, err error) error {
	if rpc := as[*jsonrpc.Error](err); rpc != nil {
		if text := r.String(rpc.Message); text != rpc.Message || r.String(string(rpc.Data)) != string(rpc.Data) {
			return &jsonrpc.Error{Code: rpc.Code, Message: text}
		}
	}
	if text := r.String(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
