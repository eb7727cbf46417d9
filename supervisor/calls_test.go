package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The breaker, resends, the registry and events, in fake time.

func TestSUP2_TheBreakerNeverProbesADeadTransport(t *testing.T) { // NousResearch/hermes-agent#16788
	// Given an open breaker and a dead server that does not come back for an hour.
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		l := d.last()
		(*w.owners.Load())["srv"].breaker.Trip()
		var calls atomic.Int64
		l.onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return nil, errFake
		}
		d.set(never)
		l.die("was killed")
		for range 60 {
			time.Sleep(time.Minute)
			if k := w.kind(w.within(10*time.Second, "safe")); k == KindOpen {
				t.Fatal("the breaker was asked about a server that is not there")
			}
		}
		if calls.Load() != 0 {
			t.Errorf("%d calls went to the dead session", calls.Load())
		}
		// When it comes back, then the first call is good.
		d.set(always)
		if err := w.within(DefaultDemandInterval+time.Second, "safe"); err != nil {
			t.Error(err)
		}
	})
}

func TestSUP12_WhatStrikes(t *testing.T) {
	rpc := fmt.Errorf("calling: %w", &jsonrpc.Error{Code: -32000, Message: "no"})
	forged := fmt.Errorf("%w: calling", mcp.ErrConnectionClosed)
	for name, c := range map[string]struct {
		err     error
		kind    Kind
		sent    Sent
		strikes bool
	}{
		"JSON-RPC error":                 {rpc, KindTool, Answered, false},
		"forged closed connection":       {forged, KindTool, Answered, false},
		"forged end of file":             {errors.New("EOF"), KindProtocol, OutcomeUnknown, true},
		"closed connection code, -32003": {fmt.Errorf("calling: %w", &jsonrpc.Error{Code: -32003}), KindTool, Answered, false},
	} {
		d := &fakeDialer{}
		bubble(t, d, nil, func(w *world) {
			d.last().onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, c.err }
			d.last().bytes.Add(1)
			for range 5 {
				err := w.within(time.Second, "safe")
				if w.status("srv").Breaker == "open" {
					break
				}
				if e := as[*Error](err); w.kind(err) != c.kind || e.Sent != c.sent {
					t.Errorf("%s: got %v (%v, %v)", name, err, e.Kind, e.Sent)
				}
			}
			if open := w.status("srv").Breaker == "open"; open != c.strikes {
				t.Errorf("%s: strikes %v, want %v", name, open, c.strikes)
			}
			if d.count() != 1 {
				t.Errorf("%s: the session is fine and was replaced", name)
			}
		})
	}
}

func TestSUP12_CancellationIsNoStrike(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		d.last().mute.Store(true)
		for range 10 {
			ctx, cancel := context.WithCancel(w.ctx)
			time.AfterFunc(4*time.Minute, cancel)
			_, err := w.Call(ctx, "srv", "safe", nil)
			if w.kind(err) != KindCancelled {
				t.Fatalf("got %v", err)
			}
		}
		if s := w.status("srv"); s.Breaker != "closed" || d.count() != 1 {
			t.Errorf("breaker %s, %d sessions", s.Breaker, d.count())
		}
	})
}

func TestSUP4_OnlyHarmlessCallsAreSentAgain(t *testing.T) {
	for tool, again := range map[string]bool{"safe": true, "unsafe": false} {
		d := &fakeDialer{}
		var calls atomic.Int64
		d.outcome = func(n int, l *fakeLink) error {
			l.onCall = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				if calls.Add(1) == 1 {
					l.die("died in the call")
					return nil, errFake
				}
				return &mcp.CallToolResult{}, nil
			}
			return nil
		}
		bubble(t, d, nil, func(w *world) {
			err := w.within(time.Minute, tool)
			if again != (err == nil) {
				t.Errorf("%s: got %v", tool, err)
			}
			if err != nil {
				if e := as[*Error](err); e.Sent != OutcomeUnknown || e.Next == "" {
					t.Errorf("got %#v", e)
				}
			}
			if want := map[bool]int64{true: 2, false: 1}[again]; calls.Load() != want {
				t.Errorf("%s: %d sends, want %d", tool, calls.Load(), want)
			}
		})
	}
}

func TestSUP4_AnnotationsThatMayBeStaleAllowNothing(t *testing.T) {
	// The list says that the tool is safe; then the server says that the list has changed, and cannot be
	// listed any more.
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		l := d.last()
		l.onList = func() ([]*mcp.Tool, error) { return nil, &jsonrpc.Error{Code: -32603, Message: "broken"} }
		l.changed()
		synctest.Wait()
		var calls atomic.Int64
		l.onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			calls.Add(1)
			l.die("died in the call")
			return nil, errFake
		}
		err := w.within(time.Minute, "safe")
		if e := as[*Error](err); w.kind(err) != KindTransport || e.Sent != OutcomeUnknown || calls.Load() != 1 {
			t.Errorf("got %v after %d sends", err, calls.Load())
		}
	})
}

func TestSUP4_ACallThatKillsServersIsNotSentForEver(t *testing.T) {
	d := &fakeDialer{}
	var calls atomic.Int64
	d.outcome = func(n int, l *fakeLink) error {
		l.onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			calls.Add(1)
			l.die("died in the call")
			return nil, errFake
		}
		return nil
	}
	bubble(t, d, nil, func(w *world) {
		if err := w.within(time.Minute, "safe"); w.kind(err) != KindTransport || calls.Load() != 2 {
			t.Errorf("got %v after %d sends, want 2", err, calls.Load())
		}
	})
}

func TestSUP4_AnEarlierSendIsNotForgotten(t *testing.T) {
	// The first server reads the call and dies; all later ones die before the call leaves.
	d := &fakeDialer{}
	d.outcome = func(n int, l *fakeLink) error {
		l.unsent = l.n > 1
		l.onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			l.die("died")
			return nil, errFake
		}
		return nil
	}
	bubble(t, d, nil, func(w *world) {
		err := w.within(time.Minute, "safe")
		if e := as[*Error](err); w.kind(err) != KindTransport || e.Sent != OutcomeUnknown {
			t.Errorf("got %v, want an error that does not deny the first send", err)
		}
	})
}

func TestSUP5_ABurstOfChangesCostsTwoLists(t *testing.T) { // NousResearch/hermes-agent#115502
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		time.Sleep(time.Minute)
		l := d.last()
		before := l.lists.Load()
		l.onList = func() ([]*mcp.Tool, error) {
			time.Sleep(3 * time.Millisecond)
			return []*mcp.Tool{{Name: "only"}}, nil
		}
		for range 200 {
			l.changed()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := l.lists.Load() - before; got > 2 {
			t.Errorf("%d lists for 200 notifications", got)
		}
		if tools := w.Tools(); len(tools) != 1 || tools[0].Tool.Name != "only" || tools[0].Server != "srv" {
			t.Errorf("got %v", tools)
		}
	})
}

func TestSUP5_TheLastChangeIsAlwaysListed(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		l := d.last()
		version := new(atomic.Int64)
		l.onList = func() ([]*mcp.Tool, error) {
			v := version.Load()
			time.Sleep(30 * time.Millisecond)
			return []*mcp.Tool{{Name: fmt.Sprint("v", v)}}, nil
		}
		for i := range 300 {
			version.Add(1)
			l.changed()
			time.Sleep(time.Duration(i%50) * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		if tools := w.Tools(); len(tools) != 1 || tools[0].Tool.Name != "v300" {
			t.Errorf("got %v", tools[0].Tool.Name)
		}
	})
}

func TestSUP5_AFailedRelistKeepsTheSession(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		l := d.last()
		fail := atomic.Bool{}
		fail.Store(true)
		l.onList = func() ([]*mcp.Tool, error) {
			if fail.Load() {
				return nil, &jsonrpc.Error{Code: -32603, Message: "broken"}
			}
			return []*mcp.Tool{{Name: "new"}}, nil
		}
		l.changed()
		time.Sleep(10 * time.Minute)
		if d.count() != 1 || len(w.Tools()) != 2 {
			t.Errorf("%d sessions, tools %v", d.count(), w.Tools())
		}
		if n := l.lists.Load(); n > 20 {
			t.Errorf("%d lists in 10 minutes", n)
		}
		fail.Store(false)
		time.Sleep(DefaultBackoffMax)
		if tools := w.Tools(); len(tools) != 1 || tools[0].Tool.Name != "new" {
			t.Errorf("got %v", tools)
		}
	})
}

func TestSUP5_ToolsLeaveOnParkingAndComeBack(t *testing.T) { // NousResearch/hermes-agent#49255, #67187
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		events, stop := w.Events()
		defer stop()
		if len(w.Tools()) != 2 {
			t.Fatal("no tools to begin with")
		}
		d.set(never)
		d.last().die("died")
		w.awaitParked()
		if len(w.Tools()) != 0 || w.status("srv").Tools != 0 {
			t.Error("a parked server's tools are still advertised")
		}
		(*w.owners.Load())["srv"].shared.registry.withdraw("srv") // once more is harmless
		time.Sleep(time.Hour)                                     // parked again and again
		d.set(always)
		time.Sleep(DefaultParkedRetry)
		if len(w.Tools()) != 2 || w.status("srv").Tools != 2 {
			t.Error("the tools did not come back")
		}
		var withdrawn, listed int
		for len(events) > 0 {
			switch e := <-events; e.Kind {
			case EventWithdrawn:
				withdrawn++
			case EventListed:
				listed++
			}
		}
		if withdrawn != 1 || listed != 1 {
			t.Errorf("listeners heard of %d withdrawals and %d lists", withdrawn, listed)
		}
	})
}

func TestSUP13_ASlowListenerLosesTheOldestAndIsTold(t *testing.T) {
	var h hub
	slow, stop := h.listen()
	fast, stopFast := h.listen()
	defer stopFast()
	var heard int
	for i := range 1000 {
		h.publish(Event{Tools: i})
		heard += len(fast)
		for len(fast) > 0 {
			<-fast
		}
	}
	if heard != 1000 {
		t.Errorf("the fast listener heard %d of 1000", heard)
	}
	stop()
	stop() // twice is harmless
	got, lost, last := 0, 0, 0
	for e := range slow {
		got++
		lost += e.Lost
		last = e.Tools
	}
	if got != eventBuffer || got+lost != 1000 || last != 999 {
		t.Errorf("got %d, lost %d, last %d", got, lost, last)
	}
}
