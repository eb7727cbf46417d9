package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	server "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/unwedge/unwedge/fakeservers/journal"
)

func TestPassesBytesBothWaysOnAnAddressThatStays(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.echo("hello")
	if host, _, err := net.SplitHostPort(w.proxy.Address()); err != nil || host != "127.0.0.1" {
		t.Fatalf("address %q", w.proxy.Address())
	}
}

func TestVanishedFlowIsSilentAndNewFlowsAreHealthy(t *testing.T) {
	w := newWorld(t)
	old := w.dial()
	old.echo("before")
	far := w.upstream.accepted(t)
	w.vanish()

	old.say("lost")
	w.awaitEntry(func(e journal.Entry) bool {
		return e.Bytes == len("lost") && strings.HasPrefix(e.Detail, "upstream 1:")
	})
	old.mustBeSilent()
	w.dial().echo("fresh")
	if got := far.received(); got != "before" {
		t.Errorf("the server received %q on the vanished flow", got)
	}
	if err := far.ended(); err != nil {
		t.Errorf("the server's end of the vanished flow ended: %v", err)
	}
	if _, ok := w.find(func(e journal.Entry) bool { return strings.HasPrefix(e.Detail, "upstream 2:") }); ok {
		t.Error("something happened to the fresh flow")
	}
}

func TestWhatTheServerSaysOnAVanishedFlowIsLostToo(t *testing.T) {
	w := newWorld(t)
	old := w.dial()
	old.echo("before")
	far := w.upstream.accepted(t)
	w.vanish()
	far.say(t, "late answer")
	w.awaitEntry(func(e journal.Entry) bool {
		return e.Bytes == len("late answer") && strings.HasPrefix(e.Detail, "downstream 1:")
	})
	old.mustBeSilent()
}

func TestCloseOfAVanishedFlowIsHiddenFromTheOtherEnd(t *testing.T) {
	for _, closer := range []string{"client", "server"} {
		t.Run(closer, func(t *testing.T) {
			w := newWorld(t)
			old := w.dial()
			old.echo("before")
			far := w.upstream.accepted(t)
			w.vanish()
			if closer == "client" {
				old.conn.Close()
				w.awaitEntry(detail("upstream 1: end of flow hidden"))
				if err := far.ended(); err != nil {
					t.Errorf("the server saw the end: %v", err)
				}
			} else {
				far.conn.Close()
				w.awaitEntry(detail("downstream 1: end of flow hidden"))
				old.mustBeSilent()
			}
			// One after another: the hidden flow is no obstacle for later commands.
			w.vanish()
			w.dial().echo("fresh")
		})
	}
}

func TestVanishIsNotHeldUpByAReaderThatIsSlow(t *testing.T) {
	w := newWorld(t)
	old := w.dial()
	old.echo("before")
	far := w.upstream.accepted(t)
	far.stopReading()
	old.fill() // until nothing moves any more
	w.vanish()
	old.drainInto() // swallowed: it moves again
	w.dial().echo("fresh")
}

func TestHealCutsOldFlowsAndKeepsTheAddress(t *testing.T) {
	w := newWorld(t)
	old := w.dial()
	old.echo("before")
	address := w.proxy.Address()
	if err := w.proxy.AddToxic(t.Context(), "latency", "downstream", map[string]any{"latency": 3_600_000}); err != nil {
		t.Fatal(err)
	}
	w.vanish()
	if err := w.proxy.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.proxy.Address() != address {
		t.Fatalf("address changed from %s to %s", address, w.proxy.Address())
	}
	old.mustEnd()
	fresh := w.dial()
	fresh.echo("healed")
	w.vanish() // the new proxy has its own passive toxics
	fresh.say("lost")
	fresh.mustBeSilent()
}

func TestAddToxicTakesSeveralOfOneType(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	for range 2 {
		if err := w.proxy.AddToxic(t.Context(), "latency", "upstream", map[string]any{"latency": 1}); err != nil {
			t.Fatal(err)
		}
	}
	c.echo("slowly")
	err := w.proxy.AddToxic(t.Context(), "no_such_toxic", "upstream", nil)
	if err == nil || !unknownToxic(err) {
		t.Fatalf("got %v", err)
	}
}

func TestDownAndUpTwoHundredTimes(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		c := w.dial()
		c.echo("up")
		if err := w.proxy.Down(t.Context()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		c.mustEnd()
		if conn, err := net.Dial("tcp", w.proxy.Address()); err == nil {
			conn.Close()
			t.Fatalf("cycle %d: accepted while down", i)
		}
		if err := w.proxy.Up(t.Context()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
	}
}

func TestAToxiproxyWithoutOurToxicsSaysSo(t *testing.T) {
	api := httptest.NewServer(server.NewServer(server.NewMetricsContainer(nil), zerolog.Nop()).Routes())
	defer api.Close()
	up := newEcho(t)
	p, err := New(t.Context(), Config{API: api.URL, Name: "srv", Listen: "127.0.0.1:0", Upstream: up.addr()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, proxy: p, upstream: up}
	w.dial().echo("plain")
	if err := p.Vanish(t.Context()); !errors.Is(err, ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
	if err := p.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACommandThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func() (int, error) { <-release; return 0, nil }
		_, err := command(context.Background(), "stop srv", hang)
		var hung *HungError
		if !errors.As(err, &hung) || hung.Command != "stop srv" {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := command(ctx, "stop srv", hang); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestChildEndsWithItsStdinAndOnTerm(t *testing.T) {
	for name, end := range map[string]func(*child) error{
		"eof":  func(c *child) error { return c.stdin.Close() },
		"term": func(c *child) error { return c.cmd.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			c := startChild(t)
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAJournalThatCannotBeOpenedIsSaidAtOnce(t *testing.T) {
	up := newEcho(t)
	c := startChild(t)
	_, err := New(t.Context(), Config{
		API: c.api, Name: "srv", Listen: "127.0.0.1:0", Upstream: up.addr(),
		Journal: filepath.Join(t.TempDir(), "missing", "journal.jsonl"),
	})
	if err == nil || !strings.Contains(err.Error(), "journal") {
		t.Fatalf("got %v", err)
	}
}

func BenchmarkHop(b *testing.B) {
	w := newWorld(b)
	run := func(address string) func(*testing.B) {
		return func(b *testing.B) {
			c := w.dialTo(address)
			buf := make([]byte, 64)
			for b.Loop() {
				if _, err := c.conn.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c.conn, buf); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("direct", run(w.upstream.addr()))
	b.Run("proxied", run(w.proxy.Address()))
}

func BenchmarkChildStart(b *testing.B) {
	for b.Loop() {
		c := startChild(b)
		c.stdin.Close()
		if err := c.cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
