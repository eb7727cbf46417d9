package httpfake

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

// baselinePrefix begins the nonces of the lab's baseline calls: the life that answers one is the serving life.
const baselinePrefix = "base-"

// half is one era: a go-sdk server and its handler.
type half struct {
	server  *mcp.Server
	handler http.Handler
}

// sdk is the healthy server: a stateless half for the modern revision, a stateful half for older ones, one tool set for both.
type sdk struct {
	life *life

	mu             sync.Mutex
	names          []string // tools served now
	modern, legacy half
}

func newSDK(l *life, names []string) *sdk {
	s := &sdk{life: l, names: names}
	s.modern, s.legacy = s.make(true), s.make(false)
	return s
}

// serve answers as a healthy server does.
func (s *sdk) serve(w http.ResponseWriter, q *request) {
	if s.refused(w, q) {
		return
	}
	s.mu.Lock()
	h := s.legacy
	if q.modern {
		h = s.modern
	}
	if s.life.script.Era == script.Legacy {
		h = s.legacy // which says -32022 to modern requests
	}
	s.mu.Unlock()
	h.handler.ServeHTTP(w, q.http)
}

// refused answers what go-sdk would accept although the script limits the server to the other era.
func (s *sdk) refused(w http.ResponseWriter, q *request) bool {
	m := q.first()
	switch {
	case s.life.script.Era == script.Legacy && m.method == "server/discover":
		writeError(w, http.StatusBadRequest, m.id, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "method not found",
		})
	case s.life.script.Era == script.Modern && !q.modern && q.http.Method == http.MethodPost:
		data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: []string{modernVersion}})
		if err != nil {
			panic(err) // strings only: cannot happen
		}
		writeError(w, http.StatusBadRequest, m.id, &jsonrpc.Error{
			Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data,
		})
	case s.life.script.Era == script.Modern && !q.modern:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	default:
		return false
	}
	return true
}

func (s *sdk) make(stateless bool) half {
	opts := &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	}
	if era := s.life.script.Era; era != script.Both {
		opts.SupportedProtocolVersions = slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool {
			return (v >= modernVersion) != (era == script.Modern)
		})
	}
	server := mcp.NewServer(&mcp.Implementation{Name: s.life.server, Version: buildinfo.Version}, opts)
	server.AddSendingMiddleware(onlyScriptedChanges)
	for _, d := range tools.Definitions(s.names) {
		s.addTool(server, d)
	}
	get := func(*http.Request) *mcp.Server { return server }
	return half{server, mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: stateless})}
}

// onlyScriptedChanges keeps go-sdk from telling of changes to the tool set by itself: whether clients hear of them, and how
// often, is what scripts are about (actions set_tools and notify).
func onlyScriptedChanges(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "notifications/tools/list_changed" {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// setTools changes the tool set of both halves.
func (s *sdk) setTools(change []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.names
	s.names = tools.Change(before, change)
	gone := slices.DeleteFunc(slices.Clone(before), func(n string) bool { return slices.Contains(s.names, n) })
	for _, h := range []half{s.modern, s.legacy} {
		h.server.RemoveTools(gone...)
		for _, d := range tools.Definitions(s.names) {
			if !slices.Contains(before, d.Name) {
				s.addTool(h.server, d)
			}
		}
	}
	return slices.Clone(s.names)
}

// forget drops all sessions: whoever comes with one is told 404. What is in flight is still answered; streams end.
func (s *sdk) forget() {
	s.mu.Lock()
	old := s.legacy
	s.legacy = s.make(false)
	s.mu.Unlock()
	for session := range old.server.Sessions() {
		go func() { _ = session.Close() }() // waits for calls in flight; that the session was gone is fine
	}
}

func (s *sdk) addTool(server *mcp.Server, d tools.Definition) {
	tool := &mcp.Tool{Name: d.Name, Description: d.Description, InputSchema: d.InputSchema, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint:    d.Annotations.ReadOnlyHint,
		IdempotentHint:  d.Annotations.IdempotentHint,
		DestructiveHint: d.Annotations.DestructiveHint,
		OpenWorldHint:   d.Annotations.OpenWorldHint,
	}}
	server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.call(ctx, d.Name, req)
	})
}

// call runs a tool for a client that go-sdk serves.
func (s *sdk) call(ctx context.Context, name string, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	control := req.Extra != nil && req.Extra.Header.Get(ControlHeader) != ""
	token := req.Params.GetProgressToken()
	res, err := s.life.execute(ctx, control, name, req.Params.Arguments, func(done, total int) {
		if token == nil {
			return
		}
		// A client that has gone does not matter to the tool.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(done), Total: float64(total),
		})
	})
	if unknown, ok := errors.AsType[*tools.ErrUnknown](err); ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: unknown.Error()}
	}
	if err != nil {
		return nil, err
	}
	return result(res.Text, res.IsError), nil
}

func result(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}

// execute runs a tool and journals its effect.
func (l *life) execute(
	ctx context.Context, control bool, name string, args json.RawMessage, progress func(done, total int),
) (tools.Result, error) {
	role := l.role
	if control {
		role = RoleControl
	}
	res, err := tools.Run(ctx, name, args, tools.Hooks{
		Executed: func(nonce string) {
			l.write(journal.Entry{Kind: journal.Executed, Role: role, Method: "tools/call", Tool: name, Nonce: nonce})
		},
		Progress: progress,
	})
	// Said before the answer goes out: who has read the answer may rely on it.
	if nonce := tools.Nonce(args); err == nil && role == "" && strings.HasPrefix(nonce, baselinePrefix) {
		l.note(l.dir.SetServing(l.number))
	}
	return res, err
}
