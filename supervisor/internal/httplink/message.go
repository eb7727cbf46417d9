package httplink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	methodPing        = "ping"
)

// message is what go-sdk wants to send: a call, a notification, or a response.
type message struct {
	body   []byte
	id     jsonrpc.ID
	rawID  json.RawMessage
	method string
	// private: it is the link's own probe, and says nothing about the handshake.
	private bool
}

func (m *message) isCall() bool { return m.method != "" && m.id.IsValid() }

// readMessage reads and closes the request's body. A body that is no JSON-RPC is sent on as it is, like a
// notification.
func readMessage(req *http.Request) (*message, error) {
	if req.Body == nil {
		return &message{}, nil
	}
	body, err := io.ReadAll(req.Body)
	if cerr := req.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return parseMessage(body), nil
}

func parseMessage(body []byte) *message {
	m := &message{body: body}
	var wire struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(body, &wire) != nil {
		return m
	}
	m.method = wire.Method
	var id any
	if len(wire.ID) > 0 && json.Unmarshal(wire.ID, &id) == nil {
		m.id, _ = jsonrpc.MakeID(id)
		m.rawID = wire.ID
	}
	return m
}

// wireError is the error object of a reply.
type wireError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// errorReply is a reply that go-sdk turns into the error of the call with this id, and of no other.
func errorReply(id json.RawMessage, e wireError) []byte {
	b, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, e})
	if err != nil { // the data of a server's error is at fault; it was decoded from JSON, so this cannot be
		b, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": wireError{Code: e.Code, Message: e.Message}})
	}
	return b
}

// forged are the codes by which go-sdk says "connection closed" to itself. It takes them from a server too,
// and would report a healthy session as closed.
var forged = map[int64]bool{-32003: true, -32004: true}

// repaired keeps a server's error, but not a code that means something else to go-sdk.
func (e wireError) repaired() wireError {
	if forged[e.Code] {
		e.Message = fmt.Sprintf("%s (server's code %d)", e.Message, e.Code)
		e.Code = -32603
	}
	return e
}

var (
	errOtherID  = errors.New("it answers another request")
	errNoAnswer = errors.New("it is not an answer")
	errEmpty    = errors.New("it has neither result nor error")
)

// answerTo checks one message that came back, and gives what may be handed to go-sdk. final: it answers the
// call m. An error whose id is null is legal JSON-RPC, and fatal to go-sdk; it came as the answer to m, so it
// gets m's id.
func answerTo(m *message, data []byte) (out []byte, final bool, err error) {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		if e := looseError(data); e != nil && m.isCall() {
			return errorReply(m.rawID, e.repaired()), true, nil
		}
		return nil, false, err
	}
	resp, ok := msg.(*jsonrpc.Response)
	switch {
	case !ok:
		return data, false, nil
	case resp.ID != m.id:
		return nil, false, errOtherID
	case resp.Error == nil && len(bytes.TrimSpace(resp.Result)) == 0:
		return nil, false, errEmpty
	}
	if e, ok := errors.AsType[*jsonrpc.Error](resp.Error); ok && forged[e.Code] {
		return errorReply(m.rawID, wireError{e.Code, e.Message, e.Data}.repaired()), true, nil
	}
	return data, true, nil
}

// looseError finds the error of a reply whose id is null or left out. nil: it is none.
func looseError(data []byte) *wireError {
	var r struct {
		ID     *json.RawMessage `json:"id"`
		Method *string          `json:"method"`
		Error  *wireError       `json:"error"`
	}
	if json.Unmarshal(data, &r) != nil || r.Method != nil || r.Error == nil || r.Error.Code == 0 && r.Error.Message == "" {
		return nil
	}
	if r.ID != nil && string(*r.ID) != "null" {
		return nil
	}
	return r.Error
}
