package httpfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
)

// do does a rule's actions in order and reports whether the request is settled: answered, or not to be answered at all. x is nil
// when no request is there to be answered.
func (l *life) do(x *exchange, actions []script.Action) (settled bool) {
	silent := false
	for _, a := range actions {
		switch {
		case x != nil && l.aboutRequest(x, a):
			settled = true
		case a.Drop, a.HangHTTP:
			silent = true
		default:
			l.aboutServer(a)
		}
	}
	if silent && !settled && x != nil {
		l.hang(x)
	}
	return settled || silent
}

// aboutRequest does the actions that answer the request, or take its connection away.
func (l *life) aboutRequest(x *exchange, a script.Action) (settled bool) {
	switch {
	case a.Effect:
		l.effect(x)
		return false
	case a.Reply != nil:
		l.reply(x, *a.Reply)
	case a.Healthy:
		l.healthy(x)
	case a.Status != nil:
		status(x.w, *a.Status)
		_ = x.w.FlushError() // the recorder keeps the error
	case a.Reset:
		l.reset(x)
	default:
		return false
	}
	return true
}

// aboutServer does the actions that need no request.
func (l *life) aboutServer(a script.Action) {
	switch {
	case a.Delay > 0:
		// Whether the client still waits does not matter: a slow server has the effect all the same.
		select {
		case <-time.After(a.Delay.D()):
		case <-l.over:
		}
	case a.Notify != "":
		l.streams.notify(a.Notify, a.NotifyTimes)
	case len(a.SetTools) > 0:
		l.note(l.dir.SetTools(l.sdk.setTools(a.SetTools)))
	case a.ForgetSessions:
		l.sdk.forget()
		l.sessions.forgotten(l.session)
	case a.Exit != nil:
		l.write(journal.Entry{Kind: journal.Exit, Code: *a.Exit})
		l.cleanUp()
		os.Exit(*a.Exit)
	case a.Signal == "KILL", a.Signal == "SEGV":
		l.cleanUp()
		raise(a.Signal)
	case a.Signal != "":
		raise(a.Signal)
	}
}

// effect runs the tool of a tools/call without answering. A healthy answer later tells what came of it, and does not run it again.
func (l *life) effect(x *exchange) {
	m := x.first()
	if m.tool == "" || x.done != nil {
		return
	}
	res, err := l.execute(x.http.Context(), x.control, m.tool, m.arguments, nil)
	if err != nil {
		return // no such tool, or nobody waits for it any more: nothing happened
	}
	x.done = &res
}

// reply answers with what the script says.
func (l *life) reply(x *exchange, with script.Reply) {
	m := x.first()
	switch {
	case with.Raw != "":
		id := m.id
		if id == "" {
			id = "null"
		}
		writeJSON(x.w, http.StatusOK, []byte(strings.ReplaceAll(with.Raw, "{{id}}", id)))
	case m.id == "": // a notification wants no answer
		x.w.WriteHeader(http.StatusAccepted)
	case with.Error != nil:
		writeError(x.w, errorStatus(x, with.Error.Code), m.id, &jsonrpc.Error{
			Code: with.Error.Code, Message: with.Error.Message,
		})
	default:
		writeResult(x.w, m.id, result(with.Text+with.IsError, with.IsError != ""))
	}
	l.replied(x)
}

// reset cuts the connection with a RST.
func (l *life) reset(x *exchange) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 or a connection that is gone: net/http's own way to cut it
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone needs no RST
	}
	_ = conn.Close()
}

// hang keeps the request open without an answer until the client goes or the process ends; the connection is cut then, since
// an empty answer would be one.
func (l *life) hang(x *exchange) {
	select {
	case <-x.http.Context().Done():
	case <-l.over:
	}
	panic(http.ErrAbortHandler)
}

func status(w http.ResponseWriter, s script.Status) {
	for k, v := range s.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(s.Code)
	_, _ = w.Write([]byte(s.Body)) // the recorder keeps the error
}

// errorStatus is the HTTP status that the modern revision wants for an error, as go-sdk's server has it; older ones say 200.
func errorStatus(x *exchange, code int64) int {
	if !x.modern {
		return http.StatusOK
	}
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// answer is a JSON-RPC answer with its id as the client wrote it.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

func writeResult(w http.ResponseWriter, id string, result any) {
	writeAnswer(w, http.StatusOK, answer{ID: json.RawMessage(id), Result: result})
}

func writeError(w http.ResponseWriter, status int, id string, e *jsonrpc.Error) {
	if id == "" {
		id = "null"
	}
	writeAnswer(w, status, answer{ID: json.RawMessage(id), Error: e})
}

func writeAnswer(w http.ResponseWriter, status int, a answer) {
	a.JSONRPC = "2.0"
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts, numbers and an id that was parsed before: cannot happen
	}
	writeJSON(w, status, b)
}

func writeJSON(w http.ResponseWriter, status int, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the recorder keeps the error
}

var errNoRequest = errors.New("needs a request to act on")

// orderable refuses by command what needs a request.
func orderable(a script.Action) error {
	switch {
	case a.StdioOnly():
		return fmt.Errorf("an http fake cannot %s", a.Verb())
	case a.Reply != nil, a.Healthy, a.Effect, a.Drop, a.Status != nil, a.Reset, a.HangHTTP:
		return fmt.Errorf("%s: %w", a.Verb(), errNoRequest)
	}
	return nil
}
