package toxics

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/mono"
)

// link is one direction of a flow, driven by hand as toxiproxy would.
type link struct {
	toxic *VanishToxic
	stub  *toxics.ToxicStub
	in    chan *stream.StreamChunk
	out   chan *stream.StreamChunk
}

func newLink(toxic *VanishToxic) *link {
	l := &link{toxic: toxic, in: make(chan *stream.StreamChunk), out: make(chan *stream.StreamChunk)}
	l.stub = toxics.NewToxicStub(l.in, l.out)
	l.stub.State = toxic.NewState()
	l.run()
	return l
}

func (l *link) run() { go l.stub.Run(&toxics.ToxicWrapper{Toxic: l.toxic, Toxicity: 1}) }

// update is what toxiproxy does for a command: new settings, interrupt, run again.
func (l *link) update(t *testing.T, settings string) {
	t.Helper()
	if err := json.Unmarshal([]byte(settings), l.toxic); err != nil {
		t.Fatal(err)
	}
	l.interrupt()
}

func (l *link) interrupt() {
	if l.stub.InterruptToxic() {
		l.run()
	}
}

func (l *link) send(s string) { l.in <- &stream.StreamChunk{Data: []byte(s)} }

func vanishNow() string { return fmt.Sprintf(`{"vanish_before": %d}`, mono.Now()+1) }

func TestPassesAndKeepsTheOrderWhenInterruptedWhileTheReaderIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(new(VanishToxic))
		l.send("one") // now it waits for the reader
		synctest.Wait()
		for range 3 {
			l.interrupt()
		}
		go func() { l.send("two"); close(l.in) }()
		for _, want := range []string{"one", "two"} {
			if got := string((<-l.out).Data); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if c, open := <-l.out; open {
			t.Errorf("got %q after the end", c.Data)
		}
	})
}

func TestVanishedFlowEndsOnlyAfterTheLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(new(VanishToxic))
		l.update(t, vanishNow())
		l.send("lost")
		close(l.in)
		synctest.Wait()
		l.interrupt() // a command later on still gets its answer
		start := time.Now()
		if c, open := <-l.out; open {
			t.Errorf("passed %q", c.Data)
		}
		if d := time.Since(start); d < DefaultLinger-time.Minute || d > DefaultLinger {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestYoungerFlowsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toxic := new(VanishToxic)
		if err := json.Unmarshal([]byte(vanishNow()), toxic); err != nil {
			t.Fatal(err)
		}
		for first := mono.Now(); mono.Now() <= first+1; { // until the clock has moved past the setting
		}
		l := newLink(toxic)
		go func() { l.send("healthy"); close(l.in) }()
		if got := <-l.out; got == nil || string(got.Data) != "healthy" {
			t.Errorf("got %v", got)
		}
		<-l.out
	})
}

func TestWhatWaitedForASlowReaderVanishesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(new(VanishToxic))
		l.send("on its way")
		synctest.Wait()
		l.update(t, vanishNow())
		close(l.in)
		if c, open := <-l.out; open {
			t.Errorf("passed %q", c.Data)
		}
	})
}

func TestCleanupLosesNothingAndRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passing, gone := newLink(new(VanishToxic)), newLink(new(VanishToxic))
		passing.send("pending")
		gone.update(t, vanishNow())
		synctest.Wait()
		if !passing.stub.InterruptToxic() || !gone.stub.InterruptToxic() {
			t.Fatal("ended already")
		}
		go passing.toxic.Cleanup(passing.stub)
		if got := <-passing.out; string(got.Data) != "pending" {
			t.Errorf("got %q", got.Data)
		}
		gone.toxic.Cleanup(gone.stub)
		if !gone.stub.Closed() || passing.stub.Closed() {
			t.Error("the wrong one was closed")
		}
	})
}

func TestJournalTellsWhatWasSwallowedWithinALimit(t *testing.T) {
	const chunks = maxSwallowEntries + 36
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	toxic := new(VanishToxic)
	settings, err := json.Marshal(VanishSettings{Server: "srv", Journal: path, Stream: "upstream", LingerMS: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(settings, toxic); err != nil {
		t.Fatal(err)
	}
	l := newLink(toxic)
	l.update(t, vanishNow())
	for range chunks {
		l.send("12345")
	}
	close(l.in)
	<-l.out
	es, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, e := range es {
		bytes += e.Bytes
		if e.Kind != journal.Wire || e.Server != "srv" || e.Pid == 0 || !strings.HasPrefix(e.Detail, "upstream 1: ") {
			t.Errorf("strange entry %+v", e)
		}
	}
	if first := es[0]; first.Detail != "upstream 1: vanished" || first.Bytes != 0 {
		t.Errorf("first entry %+v", first)
	}
	if bytes != chunks*5 || len(es) != maxSwallowEntries+2 {
		t.Errorf("%d bytes in %d entries", bytes, len(es))
	}
}

func TestSettingsAreKeptUnlessNamed(t *testing.T) {
	toxic := new(VanishToxic)
	for _, s := range []string{`{"server":"srv","stream":"upstream"}`, `{"vanish_before":7}`} {
		if err := json.Unmarshal([]byte(s), toxic); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(toxic)
	if want := `{"vanish_before":7,"server":"srv","stream":"upstream"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	if err := json.Unmarshal([]byte(`{"journal":"/no/such/folder/j"}`), toxic); err == nil {
		t.Error("a journal that cannot be written was accepted")
	}
}
