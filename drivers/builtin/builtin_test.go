package builtin

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/supervisor"
)

const patience = 30 * time.Second

// TestMain plays the stdio server when it is started with that argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "play-server" {
		play()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play() {
	s := mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	type args struct {
		Nonce string `json:"nonce"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Nonce}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, args) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

type harness struct {
	*driver.Client
	t      *testing.T
	events chan driver.Event
	code   chan int
}

func start(t *testing.T) *harness {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &harness{t: t, events: make(chan driver.Event, 1000), code: make(chan int, 1)}
	go func() {
		c := Main(nil, inR, outW, io.Discard)
		inR.Close()
		outW.Close()
		h.code <- c
	}()
	t.Cleanup(func() {
		inW.Close()
		<-h.Gone()
		outR.Close()
	})
	h.Client = driver.NewClient(inW, outR, driver.WithEvents(func(e driver.Event) { h.events <- e }))
	return h
}

func (h *harness) do(r driver.Request) driver.Response {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	resp, err := h.Do(ctx, r)
	if err != nil {
		h.t.Fatalf("%s: %v", r.Op, err)
	}
	return resp
}

// configure uses timings like those of the scenarios.
func (h *harness) configure(era string, servers ...driver.Server) driver.Response {
	h.t.Helper()
	return h.do(driver.Request{Op: driver.OpConfigure, Config: &driver.Config{
		Era: era, Servers: servers,
		Settings: driver.Settings{
			CallTimeoutMS: 10_000, ConnectTimeoutMS: 10_000, BackoffMinMS: 10, BackoffMaxMS: 50, CooldownMS: 100,
			ParkedRetryMS: 200, DemandIntervalMS: 50, LivenessMS: -1, StopGraceMS: 500,
		},
	}})
}

func (h *harness) call(server, tool, nonce string) driver.Response {
	args, _ := json.Marshal(map[string]string{"nonce": nonce})
	return h.do(driver.Request{Op: driver.OpCall, Server: server, Tool: tool, Args: args})
}

func child(t *testing.T, name string) driver.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return driver.Server{Name: name, Command: exe, Args: []string{"play-server"}}
}

func TestTheWholeProtocol(t *testing.T) {
	for _, era := range []string{"legacy", "modern", ""} {
		t.Run("era="+era, func(t *testing.T) {
			g := NewWithT(t)
			h := start(t)
			r := h.configure(era, child(t, "good"), driver.Server{Name: "lost", Command: "/nonexistent/server"})
			g.Expect(r.OK).To(BeTrue(), "%+v", r.Error)
			g.Expect(r.Info.Supports).To(ConsistOf("status", "reconnect", "events"))

			r = h.do(driver.Request{Op: driver.OpList})
			g.Expect(r.Tools).To(ConsistOf(driver.Tool{Server: "good", Name: "echo"}, driver.Tool{Server: "good", Name: "die"}))
			r = h.call("good", "echo", "n1")
			g.Expect(r.Error).To(BeNil())
			g.Expect(r.Result.Text).To(Equal("n1"))

			r = h.call("good", "die", "n2")
			g.Expect(r.Error).NotTo(BeNil())
			g.Expect(r.Error.Kind).To(Equal(driver.KindTransport))
			g.Expect(r.Error.Outcome).To(Equal(driver.OutcomeUnknown))
			g.Expect(r.Error.Message).To(ContainSubstring("status 3"))
			r = h.call("good", "echo", "n3")
			g.Expect(r.Error).To(BeNil())
			g.Expect(r.Result.Text).To(Equal("n3"))

			r = h.do(driver.Request{Op: driver.OpReconnect, Server: "good"})
			g.Expect(r.OK).To(BeTrue(), "%+v", r.Error)
			r = h.do(driver.Request{Op: driver.OpReconnect, Server: "nobody"})
			g.Expect(r.Error.Kind).To(Equal(driver.KindNoSession))

			r = h.do(driver.Request{Op: driver.OpStatus})
			g.Expect(r.Servers).To(HaveLen(2))
			for _, s := range r.Servers {
				if s.Name == "good" {
					g.Expect(s.State).To(Equal(string(supervisor.StateReady)))
					g.Expect(s.Tools).To(Equal(2))
					g.Expect(s.Pid).To(BeNumerically(">", 0))
				} else {
					g.Expect(s.Pid).To(BeZero())
				}
			}
			g.Eventually(h.events).WithTimeout(patience).Should(Receive(SatisfyAll(
				HaveField("Server", "good"), HaveField("Kind", string(supervisor.EventListed)))))

			r = h.do(driver.Request{Op: driver.OpClose})
			g.Expect(r.OK).To(BeTrue(), "%+v", r.Error)
			g.Expect(<-h.code).To(BeZero())
		})
	}
}

func TestBadConfigurationIsAnError(t *testing.T) {
	g := NewWithT(t)
	h := start(t)
	r := h.configure("", driver.Server{Name: "neither"})
	g.Expect(r.OK).To(BeFalse())
	g.Expect(r.Error.Message).To(ContainSubstring("neither"))
}

func TestCloseWithoutConfigure(t *testing.T) {
	g := NewWithT(t)
	h := start(t)
	g.Expect(h.do(driver.Request{Op: driver.OpClose}).OK).To(BeTrue())
	g.Expect(<-h.code).To(BeZero())
}

// failure does not translate kinds, so they must be the same words.
func TestKindsAreTheProtocolsOwn(t *testing.T) {
	g := NewWithT(t)
	for kind, want := range map[supervisor.Kind]string{
		supervisor.KindTransport: driver.KindTransport, supervisor.KindSession: driver.KindSession,
		supervisor.KindAuth: driver.KindAuth, supervisor.KindRate: driver.KindRate, supervisor.KindProtocol: driver.KindProtocol,
		supervisor.KindTool: driver.KindTool, supervisor.KindCancelled: driver.KindCancelled,
		supervisor.KindTimeout: driver.KindTimeout, supervisor.KindOpen: driver.KindOpen,
		supervisor.KindNoSession: driver.KindNoSession, supervisor.KindClosed: driver.KindClosed,
	} {
		e := failure(&supervisor.Error{Kind: kind, Tool: "x", Sent: supervisor.NotSent, RetryAfter: 1500 * time.Millisecond})
		g.Expect(e.Kind).To(Equal(want))
		g.Expect(e.Outcome).To(Equal(driver.OutcomeNotSent))
		g.Expect(e.RetryAfterMS).To(Equal(int64(1500)))
		g.Expect(e.Message).NotTo(BeEmpty())
	}
	g.Expect(failure(nil)).To(BeNil())
	answered := failure(&supervisor.Error{Kind: supervisor.KindTool, Tool: "x", Sent: supervisor.Answered})
	g.Expect(answered.Outcome).To(Equal(driver.OutcomeAnswered))
	g.Expect(failure(context.Canceled).Kind).To(Equal(driver.KindOther))
}

func TestSettings(t *testing.T) {
	g := NewWithT(t)
	g.Expect(settings(driver.Settings{})).To(Equal(supervisor.Settings{}))
	g.Expect(settings(driver.Settings{LivenessMS: -1}).Liveness).To(BeNumerically("<", 0))
	g.Expect(settings(driver.Settings{LivenessMS: 250}).Liveness).To(Equal(250 * time.Millisecond))
}
