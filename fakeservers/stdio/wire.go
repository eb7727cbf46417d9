package stdio

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON-RPC and MCP error codes.
const (
	codeParse       = -32700
	codeInvalid     = -32600
	codeNoMethod    = -32601
	codeBadParams   = -32602
	codeUnsupported = -32022 // the protocol version asked for is none of ours (modern era)
)

// message is what a client wrote: a request, a notification (no id) or a response (no method).
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// params is what a fake looks at in any method's params.
type params struct {
	Meta      meta            `json:"_meta"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// initialize
	ProtocolVersion string `json:"protocolVersion"`
	// tools/list
	Cursor string `json:"cursor"`
	// notifications/cancelled
	RequestID json.RawMessage `json:"requestId"`
	// subscriptions/listen
	Notifications *subscriptions `json:"notifications"`
}

// meta is the part of _meta that matters.
type meta struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Version       json.RawMessage `json:"io.modelcontextprotocol/protocolVersion"`
	ClientInfo    json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
}

// version is the protocol version of a modern request; "" when it carries none.
func (m meta) version() string {
	var s string
	if json.Unmarshal(m.Version, &s) != nil {
		return ""
	}
	return s
}

type subscriptions struct {
	Tools bool `json:"toolsListChanged,omitempty"`
}

// answer is one message that the fake writes.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// encode makes the line, newline included. What is encoded is ours, so that it cannot fail.
func (a answer) encode() []byte {
	a.Version = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		panic("answer cannot be encoded: " + err.Error())
	}
	return b.Bytes()
}

// Results. resultType and serverInfo are filled in for modern requests only.
type (
	implementation struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	resultMeta struct {
		ServerInfo     *implementation `json:"io.modelcontextprotocol/serverInfo,omitempty"`
		SubscriptionID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId,omitempty"`
	}
	base struct {
		Meta       *resultMeta `json:"_meta,omitempty"`
		ResultType string      `json:"resultType,omitempty"`
	}
	cacheable struct {
		TTLMs      int    `json:"ttlMs"`
		CacheScope string `json:"cacheScope"`
	}
	toolsCapability struct {
		ListChanged bool `json:"listChanged"`
	}
	capabilities struct {
		Tools toolsCapability `json:"tools"`
	}
	initializeResult struct {
		Capabilities    capabilities   `json:"capabilities"`
		ProtocolVersion string         `json:"protocolVersion"`
		ServerInfo      implementation `json:"serverInfo"`
	}
	discoverResult struct {
		base
		cacheable
		SupportedVersions []string     `json:"supportedVersions"`
		Capabilities      capabilities `json:"capabilities"`
	}
	listResult struct {
		base
		cacheable
		Tools     any `json:"tools,omitempty"`
		Prompts   any `json:"prompts,omitempty"`
		Resources any `json:"resources,omitempty"`
		Templates any `json:"resourceTemplates,omitempty"`
	}
	content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	callResult struct {
		base
		Content []content `json:"content"`
		IsError bool      `json:"isError,omitempty"`
	}
	emptyResult struct{ base }

	unsupportedVersion struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}
	listChanged struct {
		Meta *resultMeta `json:"_meta,omitempty"`
	}
	acknowledged struct {
		Meta          *resultMeta   `json:"_meta"`
		Notifications subscriptions `json:"notifications"`
	}
	progressed struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Progress      int             `json:"progress"`
		Total         int             `json:"total,omitempty"`
	}
)

// idKey makes ids comparable: 3 and "3" stay different, white space does not matter.
func idKey(id json.RawMessage) string { return string(bytes.TrimSpace(id)) }

// isCall says whether the id makes it a request that wants an answer.
func isCall(id json.RawMessage) bool { return len(id) > 0 && idKey(id) != "null" }

// withID puts the request's id where a raw reply wants it.
func withID(raw string, id json.RawMessage) string {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return strings.ReplaceAll(raw, "{{id}}", string(id))
}
