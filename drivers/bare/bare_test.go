package bare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/driver"
)

const patience = 20 * time.Second

// TestMain plays the stdio server when it is started with that argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "play-server" {
		newServer(nil).Run(context.Background(), &mcp.StdioTransport{})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newServer makes a server whose tool "hang" answers when done is closed: a stateless server of go-sdk does
// not end a tool's context when its client has gone.
func newServer(done <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	type args struct {
		Nonce string `json:"nonce"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Nonce}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "pid"}, func(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(os.Getpid())}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-done:
		}
		return nil, nil, errors.New("given up")
	})
	return s
}

// start runs the driver's Main in this process, as the harness would run the program.
func start(t *testing.T) (*driver.Client, <-chan int) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		c := Main(nil, inR, outW, io.Discard)
		inR.Close()
		outW.Close()
		code <- c
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return driver.NewClient(inW, outR), code
}

func do(t *testing.T, c *driver.Client, r driver.Request) driver.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := c.Do(ctx, r)
	if err != nil {
		t.Fatalf("%s: %v", r.Op, err)
	}
	return resp
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func httpServer(t *testing.T, era string) *httptest.Server {
	done := make(chan struct{})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer(done) },
		&mcp.StreamableHTTPOptions{Stateless: era == "modern"})
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestCallsOverBothTransportsInBothEras(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			g := NewWithT(t)
			c, code := start(t)
			r := do(t, c, driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
				Era: era,
				Servers: []driver.Server{
					{Name: "child", Command: self(t), Args: []string{"play-server"}},
					{Name: "web", URL: httpServer(t, era).URL},
					{Name: "lost", Command: "/nonexistent/server"},
				},
				Settings: driver.Settings{StopGraceMS: 500},
			}})
			g.Expect(r.OK).To(BeTrue())
			g.Expect(r.Info.Supports).To(BeEmpty())

			r = do(t, c, driver.Request{Op: driver.OpList})
			g.Expect(r.Tools).To(ConsistOf(
				driver.Tool{Server: "child", Name: "echo"}, driver.Tool{Server: "child", Name: "hang"},
				driver.Tool{Server: "child", Name: "pid"}, driver.Tool{Server: "web", Name: "echo"},
				driver.Tool{Server: "web", Name: "hang"}, driver.Tool{Server: "web", Name: "pid"}))

			for _, server := range []string{"child", "web"} {
				r = do(t, c, driver.Request{
					Op: driver.OpCall, Server: server, Tool: "echo",
					Args: json.RawMessage(fmt.Sprintf(`{"nonce":%q}`, server)),
				})
				g.Expect(r.Error).To(BeNil())
				g.Expect(r.Result.Text).To(Equal(server))
			}

			r = do(t, c, driver.Request{Op: driver.OpCall, Server: "lost", Tool: "echo"})
			g.Expect(r.Error.Kind).To(Equal(driver.KindNoSession))
			g.Expect(r.Error.Outcome).To(Equal(driver.OutcomeNotSent))

			r = do(t, c, driver.Request{Op: driver.OpCall, Server: "web", Tool: "hang", Args: json.RawMessage(`{"nonce":"x"}`), TimeoutMS: 20})
			g.Expect(r.Error.Kind).To(Equal(driver.KindTimeout))

			for _, op := range []string{driver.OpStatus, driver.OpReconnect} {
				r = do(t, c, driver.Request{Op: op, Server: "web"})
				g.Expect(r.Error.Kind).To(Equal(driver.KindOther))
				g.Expect(r.Error.Message).To(ContainSubstring("not supported"))
			}

			r = do(t, c, driver.Request{Op: driver.OpClose})
			g.Expect(r.OK).To(BeTrue(), "%+v", r.Error)
			g.Expect(<-code).To(BeZero())
		})
	}
}

// What makes it the naive one: a server that died is never started again.
func TestNeverReconnects(t *testing.T) {
	g := NewWithT(t)
	c, code := start(t)
	do(t, c, driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
		Servers:  []driver.Server{{Name: "child", Command: self(t), Args: []string{"play-server"}}},
		Settings: driver.Settings{StopGraceMS: 200},
	}})
	call := func(tool string) driver.Response {
		return do(t, c, driver.Request{Op: driver.OpCall, Server: "child", Tool: tool, Args: json.RawMessage(`{"nonce":"1"}`)})
	}
	r := call("pid")
	g.Expect(r.Error).To(BeNil())
	pid, err := strconv.Atoi(r.Result.Text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pid).NotTo(Equal(os.Getpid()))
	p, err := os.FindProcess(pid)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Kill()).To(Succeed())

	g.Eventually(func() string {
		if r := call("echo"); r.Error != nil {
			return r.Error.Kind
		}
		return ""
	}).WithTimeout(patience).Should(Equal(driver.KindTransport))
	g.Consistently(func() *driver.Error { return call("echo").Error }).WithTimeout(50 * time.Millisecond).ShouldNot(BeNil())

	do(t, c, driver.Request{Op: driver.OpClose})
	g.Expect(<-code).To(BeZero())
	g.Expect(errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)).To(BeTrue())
}

func TestArgumentsAreRefused(t *testing.T) {
	NewWithT(t).Expect(Main([]string{"x"}, nil, nil, io.Discard)).To(Equal(2))
}
