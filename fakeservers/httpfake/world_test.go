package httpfake

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/fakeservers/control"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/internal/ready"
)

// patience bounds every wait for something that must happen; it is never waited out in a test that passes.
const patience = 20 * time.Second

const legacyVersion = "2025-11-25"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "child":
			os.Exit(Main(os.Args[2:]))
		case "user":
			os.Exit(RunHTTP(os.Args[2], "", "127.0.0.1:0"))
		}
	}
	os.Exit(m.Run())
}

// eras runs a test with a client of each era; version is what it asks for.
func eras(t *testing.T, f func(t *testing.T, version string)) {
	t.Run("legacy", func(t *testing.T) { f(t, legacyVersion) })
	t.Run("modern", func(t *testing.T) { f(t, modernVersion) })
}

// world is one fake server's folder and its lives.
type world struct {
	t    testing.TB
	dir  *state.Dir
	live *child
}

// child is one life: a real process.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	info  ready.Info
}

func newWorld(t testing.TB, s script.Script) *world {
	t.Helper()
	if err := script.Validate(s); err != nil {
		t.Fatal(err)
	}
	d, err := state.Create(t.TempDir()+"/srv", s)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: d}
	w.start("127.0.0.1:0")
	return w
}

func (w *world) start(listen string, more ...string) *child {
	w.t.Helper()
	args := append([]string{"child", "--server", "srv", "--state", w.dir.Path(), "--listen", listen}, more...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		stdin.Close()
		if cmd.ProcessState == nil {
			_ = cmd.Wait()
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	i, err := ready.Await(ctx, w.dir.File(ReadyFile), cmd.Process.Pid)
	if err != nil {
		w.t.Fatal(err)
	}
	w.live = &child{cmd, stdin, i}
	return w.live
}

func (w *world) url() string { return "http://" + w.live.info.Address + Path }

func (w *world) phase(p script.Phase) {
	w.t.Helper()
	if err := w.dir.SetPhase(p); err != nil {
		w.t.Fatal(err)
	}
	w.order(control.Command{Phase: p})
}

func (w *world) order(c control.Command) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := control.Send(ctx, w.dir, w.live.info.Life, c); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) entries() []journal.Entry {
	w.t.Helper()
	es, err := journal.Read(w.dir.JournalPath())
	if err != nil {
		w.t.Fatal(err)
	}
	return es
}

func (w *world) count(match func(journal.Entry) bool) int {
	n := 0
	for _, e := range w.entries() {
		if match(e) {
			n++
		}
	}
	return n
}

// await waits until n entries match.
func (w *world) await(n int, match func(journal.Entry) bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); w.count(match) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%d entries instead of %d in %s", w.count(match), n, w.story())
		}
	}
}

func (w *world) story() string {
	var b strings.Builder
	for _, e := range w.entries() {
		line, _ := json.Marshal(e)
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func kind(k journal.Kind, nonce string) func(journal.Entry) bool {
	return func(e journal.Entry) bool { return e.Kind == k && e.Nonce == nonce }
}

// client is a go-sdk client on connections of its own.
func (w *world) client(version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	w.t.Helper()
	s, err := w.connect(version, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) connect(version string, opts *mcp.ClientOptions) (*mcp.ClientSession, error) {
	w.t.Helper()
	tr := &http.Transport{}
	w.t.Cleanup(tr.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: w.url(), HTTPClient: &http.Client{Transport: tr},
		DisableStandaloneSSE: opts == nil, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		w.t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func call(ctx context.Context, s *mcp.ClientSession, tool, nonce string) (string, error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"nonce": nonce}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func (w *world) echo(s *mcp.ClientSession, nonce string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if got, err := call(ctx, s, "echo", nonce); err != nil || got != nonce {
		w.t.Fatalf("echo %s: %q, %v\n%s", nonce, got, err, w.story())
	}
}

// reply is an HTTP answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends one modern request without go-sdk, so that the test sees the bare answer.
func (w *world) post(tool, nonce string, header ...string) (reply, error) {
	w.t.Helper()
	body := `{"jsonrpc":"2.0","id":"x7","method":"tools/call","params":{"name":"` + tool + `","arguments":{"nonce":"` +
		nonce + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion +
		`","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequest(http.MethodPost, w.url(), bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", modernVersion)
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", tool)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b)}, err
}
