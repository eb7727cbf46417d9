package httplink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// StreamState is what happened to the stream of server-initiated messages.
type StreamState string

const (
	// StreamLost: it broke or ended, or could not be opened; it is being tried again.
	StreamLost StreamState = "lost"
	// StreamReopened: it is open again; messages may have been missed.
	StreamReopened StreamState = "reopened"
	// StreamRefused: the server does not offer one; it is not tried again.
	StreamRefused StreamState = "refused"
)

// listener keeps a stream of server-initiated messages open: the standalone GET of the legacy era, or the
// modern era's subscriptions/listen. go-sdk sees one stream that opens at once and ends only with the
// session; so it cannot hang in Connect while the server is silent, does not end the session when five
// re-openings in a row fail, and does not forget a subscription that was cut.
//
// What a server says in it is handed on, except for answers: nobody asks anything in these streams.
type listener struct {
	l       *Link
	req     *http.Request
	m       *message // subscriptions/listen, or empty for a GET
	pipe    *io.PipeWriter
	lastID  string
	retry   time.Duration // what the server asked for with retry:
	tries   int           // in a row that brought no event and did not last
	serial  int
	refused *Failure
}

// listenGet handles go-sdk's standalone GET. After an abort it gets "not offered", which ends its tries.
func (l *Link) listenGet(req *http.Request) (*http.Response, error) {
	if l.isAborted() {
		return empty(req, http.StatusMethodNotAllowed, http.Header{}, nil), nil
	}
	return l.listen(req, &message{}), nil
}

// listenPost handles subscriptions/listen. Its call stays open for as long as the server grants it; if the
// server refuses, the call gets the refusal as its answer.
func (l *Link) listenPost(req *http.Request, m *message) (*http.Response, error) {
	return l.listen(req, m), nil
}

func (l *Link) listen(req *http.Request, m *message) *http.Response {
	r, w := io.Pipe()
	s := &listener{l: l, req: req, m: m, pipe: w}
	go s.run()
	return answer(req, typeStream, r, "")
}

// run opens the stream again and again, until the caller or the link ends, or the server says that there is none.
func (s *listener) run() {
	ctx, cancel := context.WithCancel(s.req.Context())
	defer cancel()
	defer context.AfterFunc(s.l.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { s.pipe.CloseWithError(io.ErrUnexpectedEOF) })() // frees a blocked write, and go-sdk's read
	defer s.pipe.CloseWithError(io.ErrUnexpectedEOF)
	for ctx.Err() == nil {
		s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.refused != nil {
			s.giveUp(ctx)
			return
		}
		if s.tries++; s.tries == 1 {
			s.l.tell(StreamLost)
		}
		pause(ctx, s.delay())
	}
}

// giveUp leaves a stream that says no more. A subscription's call is answered, a GET stays open in silence:
// ending it would make go-sdk try again.
func (s *listener) giveUp(ctx context.Context) {
	s.l.tell(StreamRefused)
	if s.m.isCall() {
		var b bytes.Buffer
		failEvent(s.m, s.refused).writeTo(&b)
		_, _ = s.pipe.Write(b.Bytes())
		return
	}
	<-ctx.Done()
}

func (s *listener) delay() time.Duration {
	d := s.l.opts.StreamRetryMin << min(s.tries-1, 16)
	if d <= 0 || d > s.l.opts.StreamRetryMax {
		d = s.l.opts.StreamRetryMax
	}
	return max(d, min(s.retry, s.l.opts.StreamRetryMax))
}

// once opens the stream and hands on what comes, until it ends.
func (s *listener) once(ctx context.Context) {
	x := s.l.begin(ctx, s.message(), 0)
	defer x.end()
	req := s.req
	if s.lastID != "" && !s.m.isCall() {
		req = s.req.Clone(s.req.Context())
		req.Header.Set(headerLastEvent, s.lastID)
	}
	resp, f := x.send(req)
	switch {
	case f != nil:
	case resp.StatusCode == http.StatusOK && mediaType(resp) == typeStream:
		f = s.pump(x, resp)
	default:
		f = s.refusal(x, resp)
	}
	if f != nil && ctx.Err() == nil {
		f.Notification = true // no call of the caller's: it must not end up in its recorder
		s.l.fail(ctx, f)
	}
}

// message gives each subscription after the first an id of its own (spec-M3). Answers are for nobody, so the
// id may be a private one.
func (s *listener) message() *message {
	s.serial++
	if !s.m.isCall() || s.serial == 1 {
		return s.m
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(s.m.body, &fields) != nil {
		return s.m
	}
	fields["id"] = json.RawMessage(strconv.Quote(fmt.Sprintf("unwedge-listen-%d", s.serial)))
	body, err := json.Marshal(fields)
	if err != nil {
		return s.m
	}
	return parseMessage(body)
}

// refusal reads an answer that is no stream, and decides whether there is any use in asking again: not if the
// server says that it has no such thing, or no such session. A conflict or a failing server is asked again,
// ever more slowly.
func (s *listener) refusal(x *exchange, resp *http.Response) *Failure {
	ok := resp.StatusCode >= 200 && resp.StatusCode <= 299
	f, rpc := x.status(resp)
	if ok {
		f.Kind = KindNotMCP
	}
	f.Detail = "no stream of server messages: " + f.Detail
	switch {
	case f.Kind == KindSessionGone, rpc != nil && s.m.isCall() && !f.saysNothingOfTheEra(),
		f.Status == http.StatusMethodNotAllowed, f.Status == http.StatusNotImplemented, f.Status == http.StatusNotFound:
		s.refused = f
	}
	return f
}

// pump hands on the events of one stream. Its end is a failure only if it brought nothing and did not last:
// servers and proxies end idle streams all the time.
func (s *listener) pump(x *exchange, resp *http.Response) *Failure {
	defer resp.Body.Close()
	if s.tries > 0 {
		s.l.count.reopened.Add(1)
		s.l.tell(StreamReopened)
	}
	opened := time.Now()
	events := newEventReader(resp.Body, s.l.opts.MaxBody)
	for first := true; ; first = false {
		e, err := events.next()
		if err == nil {
			s.tries = 0
			if s.hand(x.m, e) {
				continue
			}
			return s.refused
		}
		switch {
		case time.Since(opened) >= s.l.opts.StreamRetryMax:
			s.tries = 0
		case first:
			return x.broken(err, "the stream of server messages ended")
		}
		return nil
	}
}

// hand passes one event on; false: the stream is at its end, since nobody reads any more or the subscription
// was answered. An error as its answer is a refusal.
func (s *listener) hand(m *message, e event) bool {
	if ms, err := strconv.ParseInt(e.retry, 10, 32); err == nil && ms > 0 {
		s.retry = time.Duration(ms) * time.Millisecond
	}
	if e.id != "" {
		s.lastID = e.id
	}
	if !e.hasData || len(bytes.TrimSpace(e.data)) == 0 || e.name != "" && e.name != "message" {
		return true
	}
	out, final, err := answerTo(m, e.data)
	switch {
	case err != nil:
		s.l.count.noise.Add(1)
		return true
	case final:
		if rpc := errorIn(out); rpc != nil {
			s.refused = &Failure{Kind: KindRefused, Method: m.method, RPCCode: rpc.Code, Detail: s.l.clean(rpc.Message)}
		}
		return false
	}
	var b bytes.Buffer
	event{data: out, hasData: true}.writeTo(&b) // without id: resuming is done here
	_, err = s.pipe.Write(b.Bytes())
	return err == nil
}

func (l *Link) tell(s StreamState) {
	if l.opts.OnStream != nil {
		l.opts.OnStream(s)
	}
}
