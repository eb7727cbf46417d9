// Package plaintest is what the tests of the drivers without a supervisor share: a server of go-sdk as a process of its own or
// over HTTP, and a driver run in the test's process. Tests only.
package plaintest

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
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/unwedge/unwedge/harness/driver"
)

// Patience is what nothing in these tests takes.
const Patience = 20 * time.Second

const playServer = "play-server"

// Main is for TestMain: it plays the stdio server when the test binary is started as one.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == playServer {
		_ = newServer(nil).Run(context.Background(), &mcp.StdioTransport{}) // ends when its client has gone
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Child is a stdio server: the test binary itself.
func Child(t *testing.T, name string) driver.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return driver.Server{Name: name, Command: exe, Args: []string{playServer}}
}

// Web is a server over HTTP. It ends with the test.
func Web(t *testing.T, name, era string) driver.Server {
	t.Helper()
	done := make(chan struct{})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer(done) },
		&mcp.StreamableHTTPOptions{Stateless: era == "modern"})
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
	})
	return driver.Server{Name: name, URL: s.URL}
}

// Args are the arguments of every tool.
type Args struct {
	Nonce string `json:"nonce"`
	File  string `json:"file,omitempty"`
}

// newServer makes a server with the tools echo, pid, hang, and die, which writes its nonce into a file and ends the process
// before it answers. hang answers when done is closed: a stateless server of go-sdk does not end a tool's context when its
// client has gone.
func newServer(done <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	add := func(name string, do func(context.Context, Args) (string, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, a Args) (*mcp.CallToolResult, any, error) {
			text, err := do(ctx, a)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
		})
	}
	add("echo", func(_ context.Context, a Args) (string, error) { return a.Nonce, nil })
	add("pid", func(context.Context, Args) (string, error) { return strconv.Itoa(os.Getpid()), nil })
	add("hang", func(ctx context.Context, _ Args) (string, error) {
		select {
		case <-ctx.Done():
		case <-done:
		}
		return "", errors.New("given up")
	})
	add("die", func(_ context.Context, a Args) (string, error) {
		f, err := os.OpenFile(a.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, a.Nonce)
		}
		if err != nil {
			return "", err
		}
		os.Exit(1)
		return "", nil
	})
	return s
}

// Driver is a driver's Main, run in this process as the harness would run the program.
type Driver struct {
	t      *testing.T
	client *driver.Client
	Code   <-chan int // its exit code, once
}

// Start runs a driver until the test ends.
func Start(t *testing.T, main func(args []string, stdin io.Reader, stdout, stderr io.Writer) int) *Driver {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	code := make(chan int, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := main(nil, inR, outW, io.Discard)
		_, _ = inR.Close(), outW.Close() // a pipe's Close never fails
		code <- c
	}()
	t.Cleanup(func() { // its servers end with it
		_ = inW.Close()
		select {
		case <-ended:
		case <-time.After(Patience):
			t.Error("the driver did not end")
		}
		_ = outR.Close()
	})
	return &Driver{t: t, client: driver.NewClient(inW, outR), Code: code}
}

// Do sends one request and waits for its answer.
func (d *Driver) Do(r driver.Request) driver.Response {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), Patience)
	defer cancel()
	resp, err := d.client.Do(ctx, r)
	if err != nil {
		d.t.Fatalf("%s: %v", r.Op, err)
	}
	return resp
}

// Call calls a tool.
func (d *Driver) Call(server, tool string, a Args) driver.Response {
	d.t.Helper()
	args, err := json.Marshal(a)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Do(driver.Request{Op: driver.OpCall, Server: server, Tool: tool, Args: args})
}

// Process asks a server for its process.
func (d *Driver) Process(server string) *os.Process {
	d.t.Helper()
	r := d.Call(server, "pid", Args{})
	if r.Error != nil {
		d.t.Fatal(r.Error)
	}
	pid, err := strconv.Atoi(r.Result.Text)
	if err != nil || pid == os.Getpid() {
		d.t.Fatalf("pid %q: %v", r.Result.Text, err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}
