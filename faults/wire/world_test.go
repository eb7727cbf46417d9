package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/faults"
	"github.com/unwedge/unwedge/internal/ready"
)

var _ faults.Wire = (*Proxy)(nil)

// patience bounds every wait for something that must happen; it is never waited out in a test that passes.
const patience = 20 * time.Second

// silence is how long a vanished flow is listened to. It can only ever miss a defect, never report a false one.
const silence = 50 * time.Millisecond

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "child":
			os.Exit(Main(os.Args[2:]))
		case "http-child":
			os.Exit(httpfake.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// child is a real `unwedge internal proxy`.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	api   string
}

func startChild(t testing.TB) *child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "proxy.json")
	cmd := exec.Command(os.Args[0], "child", "--listen", "127.0.0.1:0", "--ready", file)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if cmd.ProcessState == nil {
			if err := cmd.Wait(); err != nil {
				t.Errorf("the proxy child: %v", err)
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	i, err := ready.Await(ctx, file, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return &child{cmd, stdin, i.Address}
}

// world is a proxy child with one proxy in front of an echo server.
type world struct {
	t        testing.TB
	proxy    *Proxy
	upstream *echoServer
	journal  string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	c := startChild(t)
	w := &world{t: t, upstream: newEcho(t), journal: filepath.Join(t.TempDir(), "journal.jsonl")}
	p, err := New(t.Context(), Config{
		API: c.api, Name: "srv", Listen: "127.0.0.1:0", Upstream: w.upstream.addr(), Journal: w.journal,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = p
	return w
}

func (w *world) vanish() {
	w.t.Helper()
	if err := w.proxy.Vanish(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) find(match func(journal.Entry) bool) (journal.Entry, bool) {
	w.t.Helper()
	es, err := journal.Read(w.journal)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range es {
		if e.Kind != journal.Wire || e.Server != "srv" || e.Pid == 0 {
			w.t.Fatalf("strange entry %+v", e)
		}
		if match(e) {
			return e, true
		}
	}
	return journal.Entry{}, false
}

func (w *world) awaitEntry(match func(journal.Entry) bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, ok := w.find(match); ok {
			return
		}
	}
	es, _ := journal.Read(w.journal)
	w.t.Fatalf("no such entry in %+v", es)
}

func detail(want string) func(journal.Entry) bool {
	return func(e journal.Entry) bool { return e.Detail == want }
}

// near is the client's end of a flow.
type near struct {
	t    testing.TB
	conn net.Conn
}

func (w *world) dial() *near { return w.dialTo(w.proxy.Address()) }

func (w *world) dialTo(address string) *near {
	w.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return &near{w.t, c}
}

func (n *near) say(s string) {
	n.t.Helper()
	if _, err := io.WriteString(n.conn, s); err != nil {
		n.t.Fatal(err)
	}
}

func (n *near) echo(s string) {
	n.t.Helper()
	n.say(s)
	n.deadline(patience)
	b := make([]byte, len(s))
	if _, err := io.ReadFull(n.conn, b); err != nil || string(b) != s {
		n.t.Fatalf("said %q, heard %q, %v", s, b, err)
	}
}

// mustBeSilent: neither bytes nor FIN nor RST, the read runs into its deadline.
func (n *near) mustBeSilent() {
	n.t.Helper()
	n.deadline(silence)
	k, err := n.conn.Read(make([]byte, 1))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		n.t.Fatalf("the vanished flow was not silent: %d bytes, %v", k, err)
	}
}

func (n *near) mustEnd() {
	n.t.Helper()
	n.deadline(patience)
	_, err := io.Copy(io.Discard, n.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n.t.Fatal("the flow was not cut")
	}
}

// fill writes until a write gets stuck.
func (n *near) fill() {
	n.t.Helper()
	b := make([]byte, 1<<20)
	for {
		if err := n.conn.SetWriteDeadline(time.Now().Add(silence)); err != nil {
			n.t.Fatal(err)
		}
		_, err := n.conn.Write(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
}

// drainInto writes more than any buffer on the way can hold.
func (n *near) drainInto() {
	n.t.Helper()
	if err := n.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.conn.Write(make([]byte, 32<<20)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *near) deadline(d time.Duration) {
	n.t.Helper()
	if err := n.conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		n.t.Fatal(err)
	}
}

// echoServer answers every byte with itself and hands out its ends of the flows in the order of their coming.
type echoServer struct {
	l    net.Listener
	fars chan *far
}

func newEcho(t testing.TB) *echoServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &echoServer{l, make(chan *far, 4096)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f := &far{conn: c}
			f.gate.L = &f.mu
			s.fars <- f
			t.Cleanup(func() { c.Close() })
			go f.run()
		}
	}()
	return s
}

func (s *echoServer) addr() string { return s.l.Addr().String() }

func (s *echoServer) accepted(t testing.TB) *far {
	t.Helper()
	select {
	case f := <-s.fars:
		return f
	case <-time.After(patience):
		t.Fatal("no flow came")
		return nil
	}
}

// far is the server's end of a flow.
type far struct {
	conn   net.Conn
	mu     sync.Mutex
	gate   sync.Cond
	got    strings.Builder
	err    error
	paused bool
}

func (f *far) run() {
	b := make([]byte, 64<<10)
	for {
		n, err := f.conn.Read(b)
		f.mu.Lock()
		f.got.Write(b[:n])
		f.err = err
		for f.paused {
			f.gate.Wait()
		}
		f.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := f.conn.Write(b[:n]); err != nil {
			return
		}
	}
}

// stopReading is for good: run stays at the gate once it has read one more chunk.
func (f *far) stopReading() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = true
}

func (f *far) received() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got.String()
}

func (f *far) ended() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *far) say(t testing.TB, s string) {
	t.Helper()
	if _, err := io.WriteString(f.conn, s); err != nil {
		t.Fatal(err)
	}
}
