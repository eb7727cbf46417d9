package httpfake

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorder is the response writer that go-sdk and the fault layer write to. It notes what was sent and lets the fault layer
// push further events into an open stream. Safe for concurrent use, which http.ResponseWriter is not.
type recorder struct {
	http.ResponseWriter
	// begun is called once, just before the first byte goes out.
	begun func(status int, h http.Header)

	mu       sync.Mutex
	status   int // 0 = nothing was sent
	err      error
	answered bool // an answer to a JSON-RPC request was written whole
}

// WriteHeader sends the status.
func (r *recorder) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header(status)
}

func (r *recorder) header(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	r.begun(status, r.Header())
	r.ResponseWriter.WriteHeader(status)
}

// Write sends bytes. go-sdk writes an event, or a whole JSON body, at once.
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header(http.StatusOK)
	n, err := r.ResponseWriter.Write(b)
	if err != nil {
		r.err = err
	} else if isAnswer(b) {
		r.answered = true
	}
	return n, err
}

// FlushError is how http.ResponseController flushes.
func (r *recorder) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header(http.StatusOK)
	err := http.NewResponseController(r.ResponseWriter).Flush()
	if err != nil {
		r.err = err
	}
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// sent says what has gone out so far: the status (0 = nothing) and whether a JSON-RPC answer is part of it.
func (r *recorder) sent() (status int, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status, r.answered && r.err == nil
}

// push writes one event into an open stream.
func (r *recorder) push(data []byte) error {
	b := append([]byte("event: message\ndata: "), data...)
	if _, err := r.Write(append(b, "\n\n"...)); err != nil {
		return err
	}
	return r.FlushError()
}

// isAnswer tells an answer from a notification or a request of the server: it has a result or an error. It reads no further than
// to the first key that tells, since results can be large.
func isAnswer(b []byte) bool {
	for _, field := range []string{"data: ", "data:"} {
		if i := bytes.Index(b, []byte(field)); i >= 0 && bytes.HasPrefix(b, []byte("event:")) {
			b = b[i+len(field):]
			break
		}
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		switch key {
		case "result", "error":
			return true
		case "method":
			return false
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return false
		}
	}
	return false
}

// streams are the open streams over which a server may speak unasked: a legacy session's GET, a modern client's
// subscriptions/listen.
type streams struct {
	mu   sync.Mutex
	open map[*recorder]json.RawMessage // the id of the subscriptions/listen request; nil for a GET
}

// add opens a stream if the answer that begins is one.
func (s *streams) add(r *recorder, h http.Header, subscription json.RawMessage) {
	if !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*recorder]json.RawMessage{}
	}
	s.open[r] = subscription
}

func (s *streams) remove(r *recorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, r)
}

// notify pushes a notification into every open stream, times times, and returns how many streams there were. A stream whose
// client is gone is about to be removed by its own handler.
func (s *streams) notify(method string, times int) int {
	s.mu.Lock()
	open := make(map[*recorder]json.RawMessage, len(s.open))
	for r, id := range s.open {
		open[r] = id
	}
	s.mu.Unlock()
	for r, id := range open {
		data := notification(method, id)
		for range max(times, 1) {
			if r.push(data) != nil {
				break
			}
		}
	}
	return len(open)
}

// notification is the line; a modern client tells its subscriptions apart by the id in _meta.
func notification(method string, subscription json.RawMessage) []byte {
	type params struct {
		Meta map[string]json.RawMessage `json:"_meta,omitempty"`
	}
	n := struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{JSONRPC: "2.0", Method: method}
	if subscription != nil {
		n.Params.Meta = map[string]json.RawMessage{mcp.MetaKeySubscriptionID: subscription}
	}
	b, err := json.Marshal(n)
	if err != nil {
		panic(err) // a string and an id that was parsed before: cannot happen
	}
	return b
}
