package httplink

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// callStream is the body of a call's event stream as go-sdk sees it: only whole events, only JSON-RPC, only
// this call's answer, and always an answer at the end. After the answer it ends at once, even if the server
// keeps the stream open.
//
// An end without an answer is left to go-sdk only if it can resume: then it asks for the rest, see resume.
// That is so in the legacy era, once an event with an id has come in this very stream (a resumed stream that
// brings nothing new is not resumed again). The modern era has no resumption, so its ids are taken away.
type callStream struct {
	x       *exchange
	status  int
	body    io.ReadCloser
	events  *eventReader
	out     bytes.Buffer
	lastID  string // the last one handed to go-sdk from this stream
	withIDs bool
	err     error // what Read gives when out is empty; set when the server's part has ended
}

func newCallStream(x *exchange, resp *http.Response) *callStream {
	version := ""
	if resp.Request != nil {
		version = resp.Request.Header.Get(headerVersion)
	}
	return &callStream{
		x: x, status: resp.StatusCode, body: resp.Body,
		events:  newEventReader(resp.Body, x.l.opts.MaxBody),
		withIDs: version < firstModern,
	}
}

// Read implements io.Reader. It is called by one goroutine, as Close is.
func (s *callStream) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.err != nil {
			return 0, s.err
		}
		e, err := s.events.next()
		if err != nil {
			s.err = s.stop(err)
			continue
		}
		s.take(e)
	}
	return s.out.Read(p)
}

// take hands on one event. What is no message for this call is dropped, its id is kept: it has been seen.
func (s *callStream) take(e event) {
	if !s.withIDs {
		e.id, e.retry = "", ""
	}
	final := false
	if e.hasData && len(bytes.TrimSpace(e.data)) > 0 && (e.name == "" || e.name == "message") {
		out, isFinal, err := answerTo(s.x.m, e.data)
		if err != nil {
			s.x.l.count.noise.Add(1)
			e.data, e.hasData = nil, false
		} else {
			e.data, final = out, isFinal
		}
	}
	if e.id != "" {
		s.lastID = e.id
	}
	if e.hasData || e.id != "" {
		e.writeTo(&s.out)
	}
	if final {
		s.err = io.EOF
		s.x.linger(s.body)
	}
}

// stop handles the end of the stream without an answer, and gives the error for Read: io.EOF after an error
// event, or for go-sdk to resume; the caller's own if its context has ended.
func (s *callStream) stop(err error) error {
	f := s.x.broken(err, "the stream ended without an answer")
	f.Status, f.ContentType = s.status, typeStream
	s.body.Close()
	s.x.end()
	switch {
	case s.x.caller.Err() != nil:
		s.x.l.fail(s.x.caller, f)
		return s.x.caller.Err()
	case f.Kind == KindTransport && s.lastID != "":
		s.x.l.remember(s.lastID, s.x)
		return io.EOF
	}
	s.x.l.fail(s.x.caller, f)
	failEvent(s.x.m, f).writeTo(&s.out)
	return io.EOF
}

// Close implements io.Closer.
func (s *callStream) Close() error {
	if s.err == nil { // given up before its end
		s.err = http.ErrBodyReadAfterClose
		s.x.cancel(errCaller)
		s.body.Close()
		s.x.end()
	}
	return nil
}

func failEvent(m *message, f *Failure) event {
	return event{data: errorReply(m.rawID, f.wire()), hasData: true}
}

// remember keeps which call a stream belongs to until go-sdk asks for its rest, or the caller gives up.
func (l *Link) remember(lastID string, x *exchange) {
	l.mu.Lock()
	l.resumes[lastID] = x
	l.mu.Unlock()
	context.AfterFunc(x.caller, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.resumes[lastID] == x {
			delete(l.resumes, lastID)
		}
	})
}

// resume asks for the rest of a call's stream. go-sdk ends the session if that is answered by anything but a
// stream, so a stream it is: with the call's failure in it.
func (l *Link) resume(req *http.Request) (*http.Response, error) {
	lastID := req.Header.Get(headerLastEvent)
	l.mu.Lock()
	was := l.resumes[lastID]
	delete(l.resumes, lastID)
	l.mu.Unlock()
	if was == nil { // its caller has gone
		return answer(req, typeStream, http.NoBody, ""), nil
	}
	x := l.begin(req.Context(), was.m, 0)
	x.resuming = true
	resp, f := x.send(req)
	switch {
	case f != nil:
		x.end()
	case resp.StatusCode == http.StatusOK && mediaType(resp) == typeStream:
		return answer(req, typeStream, newCallStream(x, resp), ""), nil
	default:
		f, _ = x.status(resp)
		f.Detail = "the rest of a cut stream was refused: " + f.Detail
	}
	l.fail(req.Context(), f)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	failEvent(was.m, f).writeTo(&b)
	return answer(req, typeStream, io.NopCloser(&b), ""), nil
}
