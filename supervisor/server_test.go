//go:build unix

package supervisor

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

// Servers that are deaf, silent, of one era only, that do not start, or whose list is broken.

func TestSUP6_ADeafServerIsReplacedAndBlocksNobody(t *testing.T) {
	set := scaled()
	set.WriteTimeout = 200 * time.Millisecond
	w := newWorld(t, set)
	dir := w.serve("srv", AnyEra)
	w.serve("other", AnyEra)
	w.good("srv")
	go w.tool("srv", "deaf", nil)
	w.until("it is deaf", func() bool { return len(testserver.Lines(dir, "deaf")) > 0 })
	e := w.bad("srv", "effect", m{"nonce": strings.Repeat("x", 1<<20)})
	if e.Kind != KindTransport || !strings.Contains(e.What, "reads nothing any more") {
		t.Errorf("got %v", e.What)
	}
	w.good("other")
	w.good("srv")
}

func TestSUP6_AWithdrawnCallIsNotSent(t *testing.T) {
	set := scaled()
	set.WriteTimeout = time.Minute
	w := newWorld(t, set)
	dir := w.serve("srv", AnyEra)
	w.good("srv")
	go w.tool("srv", "deaf", nil)
	w.until("it is deaf", func() bool { return len(testserver.Lines(dir, "deaf")) > 0 })
	for i, size := range []int{1 << 20, 10} {
		ctx, cancel := context.WithTimeout(w.ctx, time.Second) // to marshal a megabyte takes a while
		_, err := w.Call(ctx, "srv", "effect", m{"nonce": strings.Repeat("x", size)})
		cancel()
		e := as[*Error](err)
		if e == nil || e.Kind != KindTimeout || (e.Sent == NotSent) != (i == 1) {
			t.Errorf("%d bytes: got %v", size, err)
		}
	}
	if got := testserver.Lines(dir, "effects"); len(got) != 0 {
		t.Errorf("effects: %v", got)
	}
}

func TestSUP6_EveryHandshakeFindsItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want Era
	}{
		"both":           {nil, Modern},
		"legacy only":    {[]string{"era=legacy"}, Legacy},
		"modern only":    {[]string{"era=modern"}, Modern},
		"discover mute":  {[]string{"era=legacy", "discover=silent"}, Legacy},
		"discover kills": {[]string{"era=legacy", "discover=exit"}, Legacy},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaled())
			dir := w.serve("srv", AnyEra, c.args...)
			w.good("srv") // also when the first process died of the question
			if got := w.status("srv").Era; got != c.want {
				t.Errorf("speaks %q, want %q", got, c.want)
			}
			before := len(testserver.Lines(dir, "lives"))
			for range 3 { // and it is remembered
				w.signal("srv", syscall.SIGKILL)
				w.good("srv")
			}
			if got := len(testserver.Lines(dir, "lives")) - before; got != 3 {
				t.Errorf("%d processes for 3 deaths", got)
			}
		})
	}
}

func TestSUP6_APinIsKept(t *testing.T) {
	w := newWorld(t, scaled())
	w.serve("old", Modern, "era=legacy")
	w.serve("new", Legacy, "era=modern")
	for _, name := range []string{"old", "new"} {
		if e := w.bad(name, "echo", nil); e.Kind != KindProtocol {
			t.Errorf("%s: got %v", name, e)
		}
	}
}

func TestSUP6_SilentServersDoNotHoldAnybody(t *testing.T) {
	set := scaled()
	set.ConnectTimeout = 300 * time.Millisecond
	for _, mute := range []string{"initialize", "tools/list"} {
		w := newWorld(t, set)
		dir := w.serve("srv", Legacy, "mute="+mute)
		e := w.bad("srv", "echo", nil)
		if e.Kind != KindTimeout || e.Sent != NotSent || !strings.Contains(e.What, "connect timeout") {
			t.Errorf("%s: got %v", mute, e)
		}
		w.until("it is parked", func() bool { return w.status("srv").State == StateParked })
		for i, pid := range testserver.Lines(dir, "lives") {
			if n, _ := strconv.Atoi(pid); i < 5 && alive(n) { // NousResearch/hermes-agent#59349
				t.Errorf("%s: process %s of an attempt that failed is alive", mute, pid)
			}
		}
	}
}

func TestSUP1_ACrashLoopBacksOffAndHeals(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		dir := w.serve("srv", era, "fail=2-5")
		w.good("srv")
		w.signal("srv", syscall.SIGKILL)
		w.until("it heals", func() bool {
			_, err := w.tool("srv", "echo", m{"nonce": "n"})
			if err != nil && !strings.Contains(err.Error(), "refuses to start") && !strings.Contains(err.Error(), "killed by SIGKILL") {
				t.Errorf("an error that does not say why: %v", err)
			}
			return err == nil
		})
		if n := len(testserver.Lines(dir, "lives")); n != 6 {
			t.Errorf("%d lives, want 6", n)
		}
	})
}

func TestSUP1_ACommandThatIsNotThere(t *testing.T) {
	w := newWorld(t, scaled())
	if err := w.Add(Server{Name: "srv", Command: "/no/such/program"}); err != nil {
		t.Fatal(err)
	}
	e := w.bad("srv", "echo", nil)
	if e.Kind != KindTransport || e.Sent != NotSent || !strings.Contains(e.Error(), "cannot be") {
		t.Errorf("got %v", e)
	}
	w.awaitState("srv", StateParked)
}

func TestSUP5_RealListChanges(t *testing.T) {
	eachEra(t, func(t *testing.T, era Era) {
		w := newWorld(t, scaled())
		dir := w.serve("srv", era)
		w.good("srv")
		before := len(testserver.Lines(dir, "lists"))
		if _, err := w.tool("srv", "misbehave", m{"how": "changed", "n": 200}); err != nil {
			t.Fatal(err)
		}
		w.until("the new tool is there", func() bool {
			for _, tool := range w.Tools() {
				if tool.Tool.Name == "extra" {
					return true
				}
			}
			return false
		})
		time.Sleep(3 * listQuiet) // a third list would come now
		if got := len(testserver.Lines(dir, "lists")) - before; got > 2 {
			t.Errorf("%d lists for 200 notifications", got)
		}
	})
}

func TestSUP5_ABrokenListDoesNotCostTheSession(t *testing.T) {
	w := newWorld(t, scaled())
	w.serve("srv", AnyEra, "list=fail")
	w.good("srv")
	if s := w.status("srv"); s.State != StateReady || !strings.Contains(s.LastError, "tools/list") {
		t.Errorf("got %+v", s)
	}
}
