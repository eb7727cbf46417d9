package httplink

import (
	"context"
	"net/http"
	"time"
)

// initializedAgain is the pause before the second try of notifications/initialized: long enough for a server
// that restarts a worker, short enough for a connect.
const initializedAgain = 100 * time.Millisecond

// notify sends what nobody waits for: a notification, or our response to a server's request. It never fails
// for go-sdk, which would poison the session, or in the case of notifications/initialized give up the
// connect, over a message that many servers do not even read. If the server really missed something, the next
// call says so.
func (l *Link) notify(req *http.Request, m *message) (*http.Response, error) {
	tries := 1
	if m.method == methodInitialized {
		tries = 2
	}
	for ; ; tries-- {
		f := l.notifyOnce(req, m)
		if err := req.Context().Err(); f != nil && err != nil {
			return nil, err
		}
		if f == nil || tries == 1 || !f.worthAnotherTry() {
			return empty(req, http.StatusAccepted, http.Header{}, nil), nil
		}
		pause(req.Context(), initializedAgain)
	}
}

func (l *Link) notifyOnce(req *http.Request, m *message) *Failure {
	x := l.begin(req.Context(), m, share(req.Context(), notifyTimeout))
	resp, f := x.send(req)
	if f == nil && resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		x.linger(resp.Body)
		return nil
	}
	if f == nil {
		f, _ = x.status(resp)
	}
	x.end()
	f.Notification = true
	l.fail(req.Context(), f)
	return f
}

func (f *Failure) worthAnotherTry() bool {
	switch f.Kind {
	case KindConnect, KindTransport, KindUnavailable, KindRateLimited:
		return true
	}
	return false
}

// endSession handles go-sdk's DELETE. It is a courtesy to the server; go-sdk sends it under the lock that
// every other call needs, so the answer comes within DeleteTimeout whatever the server does, and at once when
// the link is aborted: then the request goes on alone. A session that the server has forgotten is not
// deleted.
func (l *Link) endSession(req *http.Request) (*http.Response, error) {
	done := empty(req, http.StatusNoContent, http.Header{}, nil)
	if l.SessionGone() || req.Header.Get(headerSession) == "" {
		return done, nil
	}
	if l.isAborted() {
		go l.deleteOnce(req, context.WithoutCancel(req.Context()))
	} else {
		l.deleteOnce(req, req.Context())
	}
	return done, nil
}

func (l *Link) deleteOnce(req *http.Request, caller context.Context) {
	abort := l.ctx
	if l.isAborted() {
		abort = context.Background()
	}
	x := l.beginUnder(abort, caller, &message{}, l.opts.DeleteTimeout)
	resp, f := x.send(req)
	switch {
	case f != nil:
		x.end()
	case resp.StatusCode < 300 || resp.StatusCode == http.StatusMethodNotAllowed:
		x.linger(resp.Body)
		return
	default:
		f, _ = x.status(resp)
	}
	if f.Kind == KindSessionGone {
		return // that is what was asked for
	}
	f.Notification = true
	l.fail(caller, f)
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
