package toxics

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/unwedge/unwedge/fakeservers/journal"
	"github.com/unwedge/unwedge/internal/mono"
)

const (
	// DefaultLinger is how long a vanished flow whose one end was closed is kept open towards the other end. It is longer than
	// any recovery window that the harness grants (10 min is its cap), and it is what bounds goroutines and descriptors.
	DefaultLinger = 10 * time.Minute
	// maxSwallowEntries is how many swallowed chunks of one direction of a flow get a journal line of their own. More would tell
	// nothing new; the sum is written when the flow ends.
	maxSwallowEntries = 64
	// cleanupWait bounds the hand-over of one pending chunk when somebody removes the toxic after all.
	cleanupWait = time.Second
)

// VanishSettings are the attributes of VanishToxic.
type VanishSettings struct {
	// Before is a time on the machine's monotonic clock (mono.Now): flows that are older vanish, younger ones pass. 0: all pass.
	Before mono.Time `json:"vanish_before"`
	// Server is the name that the journal entries carry.
	Server string `json:"server,omitempty"`
	// Journal is the file that the entries go to; empty writes none.
	Journal string `json:"journal,omitempty"`
	// Stream is "upstream" or "downstream" and only tells the journal which one it is: a toxic is not told by toxiproxy.
	Stream string `json:"stream,omitempty"`
	// LingerMS is DefaultLinger in milliseconds unless set.
	LingerMS int64 `json:"linger_ms,omitempty"`
}

// VanishToxic makes flows vanish the way an idle connection does behind a NAT or a load balancer that has forgotten it: from a
// moment on bytes are swallowed, and neither end gets a FIN or a RST, not even when the other end closes. Flows that begin
// later are not touched (NousResearch/hermes-agent#17003, google/adk-python#3085).
//
// It is put on both directions of a proxy before the first flow and passes everything until VanishSettings.Before is set by an
// update, so that it knows the age of every flow. TCP acknowledgements still come from the proxy's kernel: a client that
// relies on TCP_USER_TIMEOUT or TCP keep-alive alone sees nothing, which is the point.
type VanishToxic struct {
	mu       sync.Mutex
	settings VanishSettings
	writer   *journal.Writer
	flows    atomic.Int64
}

// flow is one direction of one connection. Toxiproxy keeps it across updates; only the goroutine in Pipe touches it.
type flow struct {
	number   int64 // 1 is the first flow of this toxic; the two directions of a flow agree
	began    mono.Time
	pending  *stream.StreamChunk // read, not yet passed on
	vanished bool
	ended    mono.Time // when its input ended while vanished; 0 = it has not
	chunks   int
	unsaid   int // bytes swallowed without a journal line
}

// NewState is called by toxiproxy once for each direction of a new connection.
func (t *VanishToxic) NewState() interface{} {
	return &flow{number: t.flows.Add(1), began: mono.Now()}
}

// Pipe passes or swallows until it is interrupted or the flow has ended.
func (t *VanishToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	t.mu.Lock()
	before := t.settings.Before
	linger := t.linger()
	t.mu.Unlock()
	if f.vanished || f.began < before {
		t.swallow(stub, f, linger)
		return
	}
	pass(stub, f)
}

// pass hands chunks on. Unlike toxiproxy's own noop it can be interrupted while the reader is slow.
func pass(stub *toxics.ToxicStub, f *flow) {
	for {
		if f.pending == nil {
			select {
			case <-stub.Interrupt:
				return
			case c := <-stub.Input:
				if c == nil {
					stub.Close()
					return
				}
				f.pending = c
			}
		}
		select {
		case <-stub.Interrupt:
			return
		case stub.Output <- f.pending:
			f.pending = nil
		}
	}
}

// swallow reads everything and passes nothing, not even the end, until linger after the input has ended.
func (t *VanishToxic) swallow(stub *toxics.ToxicStub, f *flow, linger time.Duration) {
	if !f.vanished {
		f.vanished = true
		t.write(f, 0, "vanished")
	}
	if f.pending != nil {
		t.swallowed(f, f.pending)
		f.pending = nil
	}
	input := stub.Input
	var expired <-chan time.Time
	if f.ended != 0 {
		input, expired = nil, time.After(linger-mono.Now().Sub(f.ended))
	}
	for {
		select {
		case <-stub.Interrupt:
			return
		case <-expired:
			stub.Close()
			return
		case c := <-input:
			if c != nil {
				t.swallowed(f, c)
				continue
			}
			f.ended = mono.Now()
			t.write(f, f.unsaid, "end of flow hidden")
			f.unsaid = 0
			input, expired = nil, time.After(linger)
		}
	}
}

// Cleanup is called by toxiproxy before it removes the toxic, which we never ask for: nothing read may be lost then, and a
// vanished flow must not come back to life in the middle of a message.
func (t *VanishToxic) Cleanup(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	if f.vanished {
		stub.Close()
		return
	}
	if f.pending != nil {
		_ = stub.WriteOutput(f.pending, cleanupWait)
		f.pending = nil
	}
}

func (t *VanishToxic) swallowed(f *flow, c *stream.StreamChunk) {
	f.chunks++
	if f.chunks > maxSwallowEntries {
		f.unsaid += len(c.Data)
		return
	}
	t.write(f, len(c.Data), "swallowed")
}

// write journals one line. An error has no reader here: the fault that waits for the line will say that it never came.
func (t *VanishToxic) write(f *flow, bytes int, what string) {
	t.mu.Lock()
	w, s := t.writer, t.settings
	t.mu.Unlock()
	if w == nil {
		return
	}
	_ = w.Write(journal.Entry{
		Kind: journal.Wire, Server: s.Server, Bytes: bytes,
		Detail: fmt.Sprintf("%s %d: %s", s.Stream, f.number, what),
	})
}

func (t *VanishToxic) linger() time.Duration {
	if t.settings.LingerMS > 0 {
		return time.Duration(t.settings.LingerMS) * time.Millisecond
	}
	return DefaultLinger
}

// MarshalJSON shows the settings to toxiproxy's API.
func (t *VanishToxic) MarshalJSON() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.Marshal(t.settings)
}

// UnmarshalJSON takes settings; those that are not named keep their value. A journal that cannot be opened is refused here, where
// the API's caller hears of it.
func (t *VanishToxic) UnmarshalJSON(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.settings
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s.Journal != t.settings.Journal {
		w, err := openJournal(s.Journal)
		if err != nil {
			return err
		}
		t.writer = w
	}
	t.settings = s
	return nil
}
