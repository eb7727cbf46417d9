package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// modernVersion is the first revision without a handshake.
const modernVersion = "2026-07-28"

var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const (
	listChangedMethod = "notifications/tools/list_changed"
	listenMethod      = "subscriptions/listen"
)

// healthy answers a request as a healthy server does. It may take as long as the tool does.
func (f *fake) healthy(r *request) {
	if !r.call() {
		f.notified(r)
		return
	}
	result, fail := f.answer(r)
	switch {
	case fail != nil:
		f.reply(r, answer{ID: r.id, Error: fail}.encode())
	case result != nil:
		f.reply(r, answer{ID: r.id, Result: result}.encode())
	}
}

func failure(code int64, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// notified takes in a notification; unknown ones do not matter.
func (f *fake) notified(r *request) {
	if r.method != "notifications/cancelled" {
		return
	}
	f.mu.Lock()
	target := f.calls[idKey(r.params.RequestID)]
	f.mu.Unlock()
	if target != nil {
		target.cancelled.Store(true)
		target.cancel()
	}
}

// answer returns the result, or the error, or neither for a call that was cancelled meanwhile.
func (f *fake) answer(r *request) (any, *rpcError) {
	if fail := f.admit(r); fail != nil {
		return nil, fail
	}
	if r.bad {
		return nil, failure(codeBadParams, "invalid params of %s", r.method)
	}
	switch r.method {
	case "initialize":
		return f.initialize(r)
	case "ping", "logging/setLevel":
		return emptyResult{}, nil
	case "server/discover":
		return discoverResult{
			base: f.base(r), cacheable: uncached, SupportedVersions: f.versions(), Capabilities: offered,
		}, nil
	case "tools/list":
		return f.listTools(r)
	case "prompts/list":
		return listResult{base: f.base(r), cacheable: uncached, Prompts: nothing}, nil
	case "resources/list":
		return listResult{base: f.base(r), cacheable: uncached, Resources: nothing}, nil
	case "resources/templates/list":
		return listResult{base: f.base(r), cacheable: uncached, Templates: nothing}, nil
	case "tools/call":
		return f.callTool(r)
	case listenMethod:
		return f.listen(r)
	}
	if strings.HasPrefix(r.method, "notifications/") {
		return nil, failure(codeInvalid, "unexpected id for %q", r.method)
	}
	return nil, failure(codeNoMethod, "method not found: %q", r.method)
}

var (
	uncached = cacheable{CacheScope: "public"}
	offered  = capabilities{Tools: toolsCapability{ListChanged: true}}
	nothing  = []any{} // "omitempty" keeps it, since it looks at the interface
)

// admit decides by era whether a request may be answered at all.
func (f *fake) admit(r *request) *rpcError {
	if r.modern {
		return f.admitModern(r)
	}
	switch r.method {
	case "server/discover":
		return failure(codeNoMethod, "%q is only supported in protocol version >= %s", r.method, modernVersion)
	case "initialize", "ping":
		if f.script.Era != script.Modern {
			return nil
		}
	}
	if f.script.Era == script.Modern {
		return f.modernOnly(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.legacy {
		return failure(codeInvalid, "method %q is invalid during session initialization", r.method)
	}
	return nil
}

// modernOnly is what a server without a handshake says to a client that wants one.
func (f *fake) modernOnly(r *request) *rpcError {
	switch r.method {
	case "initialize":
		return f.unsupported(r.params.ProtocolVersion)
	case "ping":
		return failure(codeNoMethod, "method not found: %q", r.method)
	}
	return failure(codeBadParams, "missing _meta field %q", "io.modelcontextprotocol/protocolVersion")
}

func (f *fake) unsupported(asked string) *rpcError {
	return &rpcError{
		Code: codeUnsupported, Message: "unsupported protocol version",
		Data: unsupportedVersion{Supported: f.versions(), Requested: asked},
	}
}

// admitModern checks the _meta that each modern request must carry (spec-V1), and refuses what that revision removed.
func (f *fake) admitModern(r *request) *rpcError {
	m := r.params.Meta
	if len(m.ClientInfo) > 0 && !isObject(m.ClientInfo) {
		return failure(codeBadParams, "invalid _meta field %q", "io.modelcontextprotocol/clientInfo")
	}
	if !isObject(m.Capabilities) {
		return failure(codeBadParams, "missing or invalid _meta field %q", "io.modelcontextprotocol/clientCapabilities")
	}
	if v := m.version(); !slices.Contains(f.versions(), v) {
		return f.unsupported(v)
	}
	switch r.method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return failure(codeNoMethod, "%q is not supported in the new protocol", r.method)
	}
	return nil
}

func isObject(b json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) }

// versions this server speaks, newest first.
func (f *fake) versions() []string {
	switch f.script.Era {
	case script.Modern:
		return []string{modernVersion}
	case script.Legacy:
		return legacyVersions
	}
	return append([]string{modernVersion}, legacyVersions...)
}

// base is what every modern result carries; nothing for legacy ones.
func (f *fake) base(r *request) base {
	if !r.modern {
		return base{}
	}
	return base{Meta: &resultMeta{ServerInfo: f.self()}, ResultType: "complete"}
}

func (f *fake) self() *implementation {
	return &implementation{Name: f.ident.Server, Version: buildinfo.Version}
}

func (f *fake) initialize(r *request) (any, *rpcError) {
	if !r.given {
		return nil, failure(codeInvalid, `missing required "params"`)
	}
	f.mu.Lock()
	again := f.legacy
	f.legacy = true
	f.mu.Unlock()
	if again {
		return nil, failure(codeInvalid, "duplicate %q received", r.method)
	}
	v := legacyVersions[0]
	if slices.Contains(legacyVersions, r.params.ProtocolVersion) {
		v = r.params.ProtocolVersion
	}
	return initializeResult{Capabilities: offered, ProtocolVersion: v, ServerInfo: *f.self()}, nil
}

func (f *fake) listTools(r *request) (any, *rpcError) {
	if r.params.Cursor != "" {
		return nil, failure(codeBadParams, "invalid params") // there is one page only
	}
	return listResult{base: f.base(r), cacheable: uncached, Tools: tools.Definitions(f.tools())}, nil
}

// tools is the set that is offered now. It is read from disk each time: other lives may have changed it.
func (f *fake) tools() []string {
	if names, ok := f.dir.Tools(); ok {
		return names
	}
	return tools.Start(f.script.Tools)
}

func (f *fake) callTool(r *request) (any, *rpcError) {
	if !r.given {
		return nil, failure(codeInvalid, `missing required "params"`)
	}
	if !slices.Contains(f.tools(), r.tool) {
		return nil, failure(codeBadParams, "unknown tool %q", r.tool)
	}
	if !f.execute(r) {
		return nil, nil
	}
	return f.toolResult(r, *r.done), nil
}

func (f *fake) toolResult(r *request, res tools.Result) callResult {
	if more := r.pad - len(res.Text) - len(r.nonce); more > 0 {
		res.Text += strings.Repeat("x", more) + r.nonce
	}
	return callResult{base: f.base(r), Content: []content{{"text", res.Text}}, IsError: res.IsError}
}

// execute runs the tool, once: an effect that a rule has brought about already is not repeated. It reports whether there is a
// result; there is none when the call was cancelled.
func (f *fake) execute(r *request) bool {
	if r.done != nil {
		return true
	}
	res, err := tools.Run(r.ctx, r.tool, r.params.Arguments, tools.Hooks{
		Executed: func(string) { f.note(r.entry(journal.Executed)) },
		Progress: func(done, total int) { f.progress(r, done, total) },
	})
	if err != nil {
		return false
	}
	r.done = &res
	return true
}

func (f *fake) progress(r *request, done, total int) {
	if token := r.params.Meta.ProgressToken; len(token) > 0 {
		f.send(answer{Method: "notifications/progress", Params: progressed{token, done, total}})
	}
}
