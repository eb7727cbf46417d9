//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/tools"
)

// The differential test: the same lines to our fake and to go-sdk's own server, answers compared. Known, wanted differences are in
// normalise and nowhere else.

// speaker is a server that lines are written to and read from.
type speaker interface {
	send(lines ...string)
	line() string
}

// sdkServer is go-sdk's server with our tools, on pipes.
type sdkServer struct {
	t      *testing.T
	w      io.Writer
	r      *bufio.Reader
	server *mcp.Server
}

func (s *sdkServer) send(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(s.w, l+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *sdkServer) line() string {
	s.t.Helper()
	l, err := s.r.ReadString('\n')
	if err != nil {
		s.t.Fatalf("go-sdk ended: %v", err)
	}
	return l
}

func startSDK(t *testing.T) *sdkServer {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	for _, d := range tools.Definitions(tools.Names()) {
		addTool(server, d)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Run(ctx, &mcp.IOTransport{Reader: inR, Writer: outW})
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
		<-done
	})
	return &sdkServer{t: t, w: inW, r: bufio.NewReader(outR), server: server}
}

func addTool(server *mcp.Server, d tools.Definition) {
	tool := &mcp.Tool{
		Name: d.Name, Description: d.Description, InputSchema: d.InputSchema,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: d.Annotations.ReadOnlyHint, IdempotentHint: d.Annotations.IdempotentHint,
			DestructiveHint: d.Annotations.DestructiveHint, OpenWorldHint: d.Annotations.OpenWorldHint,
		},
	}
	server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := tools.Run(ctx, d.Name, req.Params.Arguments, tools.Hooks{
			Progress: func(done, total int) {
				if token := req.Params.GetProgressToken(); token != nil {
					_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						ProgressToken: token, Progress: float64(done), Total: float64(total),
					})
				}
			},
		})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}, IsError: res.IsError,
		}, nil
	})
}

// exchange sends one line and returns what comes back: for a request everything up to its response.
func exchange(t *testing.T, s speaker, line string) []any {
	t.Helper()
	var sent struct{ ID any }
	if err := json.Unmarshal([]byte(line), &sent); err != nil {
		t.Fatal(err)
	}
	s.send(line)
	var out []any
	for sent.ID != nil {
		var m map[string]any
		if err := json.Unmarshal([]byte(s.line()), &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, normalise(m))
		if m["id"] != nil {
			return out
		}
	}
	return out
}

// normalise takes out what may differ: who the server is, the order of the tools, the wording of errors. go-sdk has no code for
// some errors (0), for which we send -32600.
func normalise(m map[string]any) any {
	if e, ok := m["error"].(map[string]any); ok {
		delete(e, "message")
		if e["code"] == 0.0 {
			e["code"] = -32600.0
		}
	}
	if r, ok := m["result"].(map[string]any); ok {
		if _, ok := r["serverInfo"]; ok {
			r["serverInfo"] = "somebody"
		}
		if meta, ok := r["_meta"].(map[string]any); ok && meta["io.modelcontextprotocol/serverInfo"] != nil {
			meta["io.modelcontextprotocol/serverInfo"] = "somebody"
		}
		if list, ok := r["tools"].([]any); ok {
			name := func(t any) string { m, _ := t.(map[string]any); return fmt.Sprint(m["name"]) }
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(name(a), name(b)) })
		}
	}
	return m
}

func compare(t *testing.T, ours, sdk speaker, lines []string) {
	t.Helper()
	for _, l := range lines {
		a, b := exchange(t, ours, l), exchange(t, sdk, l)
		if !reflect.DeepEqual(a, b) {
			ja, _ := json.Marshal(a)
			jb, _ := json.Marshal(b)
			t.Errorf("to %s\nwe answer     %s\ngo-sdk answers %s", l, ja, jb)
		}
	}
}

// request writes a request; params is the inside of the object, "-" for none at all.
func request(id, method, params string) string {
	if params == "-" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params)
}

// toolCalls are calls of every tool, right and wrong, with this _meta in front.
func toolCalls(meta string) []string {
	var out []string
	for i, c := range []string{
		`"name":"echo","arguments":{"nonce":"a"}`, `"name":"echo","arguments":{"nonce":"a","text":"b <&> c"}`,
		`"name":"echo","arguments":{}`, `"name":"echo"`, `"name":"echo","arguments":{"nonce":5}`,
		`"name":"add","arguments":{"a":1,"b":2.5,"nonce":"n"}`, `"name":"sleep","arguments":{"ms":1,"nonce":"n"}`,
		`"name":"sleep","arguments":{"ms":-1}`, `"name":"fail","arguments":{"nonce":"n"}`,
		`"name":"big","arguments":{"bytes":100000,"nonce":"n"}`, `"name":"effect","arguments":{"nonce":"n"}`,
		`"name":"effect","arguments":{}`, `"name":"progress","arguments":{"n":2,"nonce":"n"}`,
		`"name":"env","arguments":{"name":"SURELY_NOT_SET"}`, `"name":"nosuch","arguments":{}`, `"name":7`, ``,
	} {
		if meta != "" && c != "" {
			c = meta + "," + c
		} else {
			c = meta + c
		}
		out = append(out, request(fmt.Sprint(100+i), "tools/call", c))
	}
	return out
}

func TestLegacyAnswersAreGoSDKs(t *testing.T) {
	for _, v := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28", "1999-01-01"} {
		t.Run(v, func(t *testing.T) {
			init := request("1", "initialize",
				fmt.Sprintf(`"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}`, v))
			lines := []string{
				request("0", "tools/list", "-"), request(`"early"`, "ping", "-"), request("2", "initialize", "-"),
				init, initialized, init,
				request("3", "ping", "-"), request(`"s"`, "ping", ""), request("4", "tools/list", "-"),
				request("5", "tools/list", ""), request("6", "tools/list", `"cursor":"bad"`),
				request("7", "prompts/list", "-"), request("8", "resources/list", ""), request("9", "resources/templates/list", "-"),
				request("10", "logging/setLevel", `"level":"info"`), request("11", "no/such", "-"),
				request("12", "server/discover", "-"), request("13", "notifications/initialized", "-"),
				request("14", "tools/call", "-"),
				`{"jsonrpc":"2.0","method":"notifications/nosuch"}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}`,
				request("16", "tools/call", `"_meta":{"progressToken":"p"},"name":"progress","arguments":{"n":3}`),
			}
			if v == "2026-07-28" {
				// Asked for by initialize it is answered with 2025-11-25. After that go-sdk takes half of the session for a modern one.
				lines = lines[:5]
			} else {
				lines = append(lines, toolCalls("")...)
			}
			compare(t, spawn(t, folder(t, script.Script{})), startSDK(t), lines)
		})
	}
}

func TestModernAnswersAreGoSDKs(t *testing.T) {
	const (
		version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		caps    = `"io.modelcontextprotocol/clientCapabilities":{}`
		info    = `"io.modelcontextprotocol/clientInfo":`
	)
	lines := []string{
		request("1", "server/discover", `"_meta":{`+version+`}`),
		request("2", "server/discover", `"_meta":{`+version+`,`+info+`5,`+caps+`}`),
		request("3", "server/discover", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01",`+caps+`}`),
		request("4", "server/discover", `"_meta":{`+version+`,`+caps+`}`),
		request("5", "server/discover", modernMeta), request("6", "tools/list", modernMeta),
		request("7", "ping", modernMeta), request("8", "initialize", modernMeta), request("9", "logging/setLevel", modernMeta),
		request("10", "resources/subscribe", modernMeta), request("11", "no/such", modernMeta),
		request("12", "prompts/list", modernMeta), request("13", "resources/list", modernMeta),
		request("14", "resources/templates/list", modernMeta),
		request("15", "tools/list", modernMeta+`,"cursor":"bad"`),
		request("16", "subscriptions/listen", modernMeta),
		request("17", "subscriptions/listen", modernMeta+`,"notifications":{}`),
		request("18", "tools/call", strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"progressToken":7,`, 1)+
			`,"name":"progress","arguments":{"n":3}`),
		request("19", "ping", "-"),
	}
	compare(t, spawn(t, folder(t, script.Script{})), startSDK(t), append(lines, toolCalls(modernMeta)...))
}

func TestModernSubscriptionsAreGoSDKs(t *testing.T) {
	d := folder(t, script.Script{})
	ours, sdk := spawn(t, d), startSDK(t)
	next := func(s speaker) any {
		var m map[string]any
		if err := json.Unmarshal([]byte(s.line()), &m); err != nil {
			t.Fatal(err)
		}
		return normalise(m)
	}
	same := func(what string) {
		t.Helper()
		if a, b := next(ours), next(sdk); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: we send %v, go-sdk sends %v", what, a, b)
		}
	}
	for _, s := range []speaker{ours, sdk} {
		s.send(request(`"l"`, "subscriptions/listen", modernMeta+`,"notifications":{"toolsListChanged":true,"promptsListChanged":true}`))
	}
	same("acknowledgement")
	if err := order(t, d, 1, control.Command{Do: &script.Action{Notify: "notifications/tools/list_changed"}}); err != nil {
		t.Fatal(err)
	}
	extra, _ := tools.Lookup("extra-1")
	addTool(sdk.server, extra)
	same("list_changed")
	for _, s := range []speaker{ours, sdk} {
		s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}`)
	}
	same("end of the subscription")
}

// TestGoSDKsClientIsSatisfied lets go-sdk's client use the fake in both eras: a peer that checks more than we do.
func TestGoSDKsClientIsSatisfied(t *testing.T) {
	for _, v := range []string{"", "2025-11-25", "2024-11-05"} {
		t.Run("version "+v, func(t *testing.T) {
			l := spawn(t, folder(t, script.Script{}))
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			changed := make(chan struct{}, 1)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			session, err := client.Connect(ctx, &mcp.IOTransport{Reader: l.out, Writer: l.in},
				&mcp.ClientSessionOptions{ProtocolVersion: v})
			if err != nil {
				t.Fatal(err)
			}
			list, err := session.ListTools(ctx, nil)
			if err != nil || len(list.Tools) != len(tools.Names()) {
				t.Fatalf("%+v %v", list, err)
			}
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"nonce": "x"}})
			if err != nil || res.Content[0].(*mcp.TextContent).Text != "x" {
				t.Fatalf("%+v %v", res, err)
			}
			if err := order(t, l.state, 1, do(script.Action{Notify: "notifications/tools/list_changed"})); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("the change was not heard of")
			}
			if err := session.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
				t.Errorf("close: %v", err)
			}
			if s := l.status(); !s.Exited() || s.ExitStatus() != 0 {
				t.Fatalf("%+v", s)
			}
		})
	}
}
