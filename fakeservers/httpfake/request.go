package httpfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/engine"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
)

// modernVersion is the first revision without sessions; revisions are dates and compare as text.
const modernVersion = "2026-07-28"

// maxBody is how much of a body the fault layer reads, which is go-sdk's own limit. What is longer is handed on as it comes, so
// that go-sdk says 413.
const maxBody = mcp.DefaultMaxRequestBodyBytes

// message is what the fault layer knows of one JSON-RPC message.
type message struct {
	method    string // empty: an answer of the client to a request of ours
	id        string // as it was written; empty for a notification
	tool      string
	nonce     string
	arguments json.RawMessage // of a tools/call
	modern    bool            // it carries the modern revision's _meta
}

// request is one HTTP request with what was understood of it.
type request struct {
	http     *http.Request
	body     []byte
	messages []message // those of the body that were understood
	modern   bool
	control  bool
}

// read reads the whole body, which also is what lets net/http notice that the client has gone.
func read(r *http.Request) (*request, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	q := &request{http: r, body: body, control: r.Header.Get(ControlHeader) != ""}
	q.messages = parse(body)
	q.modern = r.Header.Get("Mcp-Protocol-Version") >= modernVersion
	for _, m := range q.messages {
		q.modern = q.modern || m.modern
	}
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	return q, nil
}

// parse understands what it can; what it cannot is for go-sdk to refuse.
func parse(body []byte) []message {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil
	}
	raw := []json.RawMessage{body}
	if body[0] == '[' && json.Unmarshal(body, &raw) != nil {
		return nil
	}
	var out []message
	for _, b := range raw {
		if m, err := parseOne(b); err == nil {
			out = append(out, m)
		}
	}
	return out
}

var errNoMessage = errors.New("no JSON-RPC message")

func parseOne(b []byte) (message, error) {
	var wire struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(b, &wire); err != nil {
		return message{}, err
	}
	if wire.Method == "" && wire.ID == nil {
		return message{}, errNoMessage
	}
	m := message{method: wire.Method, id: string(wire.ID)}
	if m.id == "null" {
		m.id = ""
	}
	var params struct {
		Meta      map[string]json.RawMessage `json:"_meta"`
		Name      string                     `json:"name"`
		Arguments json.RawMessage            `json:"arguments"`
	}
	if json.Unmarshal(wire.Params, &params) == nil { // params that are no object are the method's own business
		_, m.modern = params.Meta[mcp.MetaKeyProtocolVersion]
		if m.method == "tools/call" {
			m.tool, m.arguments, m.nonce = params.Name, params.Arguments, tools.Nonce(params.Arguments)
		}
	}
	return m, nil
}

// first is the message that a reply answers; the zero message when there is none.
func (q *request) first() message {
	if len(q.messages) == 0 {
		return message{}
	}
	return q.messages[0]
}

// era is the word for the journal.
func (q *request) era() string {
	if q.modern {
		return string(script.Modern)
	}
	return string(script.Legacy)
}

// events are what the engine is asked about, in this order: the HTTP request as such, then each message in it. The former
// carries the first message's method and tool, so that an OnHTTP rule can be as narrow as one wants.
func (q *request) events() []engine.Event {
	m := q.first()
	out := []engine.Event{{On: script.OnHTTP, Method: m.method, Tool: m.tool, HTTP: q.http.Method}}
	for _, m := range q.messages {
		if m.method != "" {
			out = append(out, engine.Event{On: script.OnRequest, Method: m.method, Tool: m.tool, HTTP: q.http.Method})
		}
	}
	return out
}
