package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/internal/mono"
	"github.com/unwedge/unwedge/internal/proc"
	"github.com/unwedge/unwedge/internal/ready"
)

// httpWorld is a world whose one life serves over HTTP, behind a real proxy. The tests play the client.
type httpWorld struct {
	*world
	proxy *wire.Proxy
}

func (w httpWorld) Wire() faults.Wire { return w.proxy }

func newHTTPWorld(t *testing.T, f faults.Fault) httpWorld {
	t.Helper()
	w := httpWorld{world: newWorld(t, f.What().Rules)}
	fakeAt := w.child(filepath.Join(w.dir.Path(), httpfake.ReadyFile),
		"http", "--server", "srv", "--state", w.dir.Path(), "--listen", "127.0.0.1:0")
	apiFile := filepath.Join(t.TempDir(), "proxy.json")
	api := w.child(apiFile, "proxy", "--listen", "127.0.0.1:0", "--ready", apiFile)
	p, err := wire.New(w.ctx, wire.Config{
		API: api, Name: "srv", Listen: "127.0.0.1:0", Upstream: fakeAt, Journal: w.dir.JournalPath(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = p
	return w
}

// child starts this binary with a verb and waits until it says where it listens. It ends with its stdin, at the latest.
func (w httpWorld) child(readyFile string, args ...string) (address string) {
	w.t.Helper()
	in, hold := w.pipe()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	in.Close()
	l := &life{w: w.world, ended: make(chan struct{})}
	l.proc = faults.Process{Pid: cmd.Process.Pid, Start: proc.StartTime(cmd.Process.Pid), Life: 1}
	go func() { _ = cmd.Wait(); close(l.ended) }()
	w.t.Cleanup(func() { hold.Close(); <-l.ended })
	if args[0] == "http" {
		w.lives = append(w.lives, l)
	}
	i, err := ready.Await(w.ctx, readyFile, cmd.Process.Pid)
	if err != nil {
		w.t.Fatal(err)
	}
	return i.Address
}

// client is a client with connections of its own.
func (w httpWorld) client() *http.Client {
	t := &http.Transport{}
	w.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

// initialize posts the legacy handshake and returns the status.
func (w httpWorld) initialize(ctx context.Context, c *http.Client) (int, http.Header, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.proxy.Address()+httpfake.Path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := c.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, nil, err
	}
	return res.StatusCode, res.Header, nil
}

func (w httpWorld) status(c *http.Client) int {
	w.t.Helper()
	code, _, err := w.initialize(w.ctx, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return code
}

func TestHTTP401Window(t *testing.T) {
	g := NewWithT(t)
	f, _ := faults.ByID("http-401-window")
	w := newHTTPWorld(t, f)
	c := w.client()
	g.Expect(w.status(c)).To(Equal(http.StatusOK), "the rules sleep")

	w.since = mono.Now()
	guard := faults.NewGuard(f, w)
	g.Expect(guard.Inject(w.ctx)).To(Succeed())
	code, header, err := w.initialize(w.ctx, c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(code).To(Equal(http.StatusUnauthorized))
	g.Expect(header.Get("WWW-Authenticate")).To(HavePrefix("Bearer"))
	_, err = guard.Observed(w.ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.journalled(journal.HTTP)).To(ContainElement(HaveField("Code", http.StatusUnauthorized)))

	g.Expect(guard.Lift(w.ctx)).To(Succeed())
	g.Expect(guard.Lifted(w.ctx)).To(Succeed())
	g.Expect(w.status(c)).To(Equal(http.StatusOK))
}

func TestHTTPIdleSilentDrop(t *testing.T) {
	g := NewWithT(t)
	f, _ := faults.ByID("http-idle-silent-drop")
	w := newHTTPWorld(t, f)
	c := w.client()
	g.Expect(w.status(c)).To(Equal(http.StatusOK))

	w.since = mono.Now()
	guard := faults.NewGuard(f, w)
	g.Expect(guard.Inject(w.ctx)).To(Succeed())
	silent := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(w.ctx, 100*time.Millisecond)
		defer cancel()
		_, _, err := w.initialize(ctx, c)
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
		for _, told := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
			g.Expect(errors.Is(err, told)).To(BeFalse(), "the client was told: %v", err)
		}
	}
	silent()
	_, err := guard.Observed(w.ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.status(w.client())).To(Equal(http.StatusOK), "a new connection is not touched")
	g.Expect(guard.Lift(w.ctx)).To(Succeed())
	g.Expect(guard.Lifted(w.ctx)).To(Succeed())
	g.Expect(w.status(w.client())).To(Equal(http.StatusOK))
}
