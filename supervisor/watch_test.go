package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Liveness and hung sessions, in fake time.

func live(s *Settings) { s.Liveness = 0 } // the default, 180 s

func TestSUP8_ASilentSessionIsReplacedAfterSeveralMisses(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, live, func(w *world) {
		time.Sleep(24 * time.Hour)
		if d.count() != 1 {
			t.Fatalf("a server that answers was replaced %d times", d.count()-1)
		}
		first := d.last()
		if first.probes.Load() < 470 {
			t.Errorf("%d probes in 24 h, want one every 180 s", first.probes.Load())
		}
		first.mute.Store(true)
		time.Sleep(3 * DefaultLiveness)
		if d.count() != 1 {
			t.Error("replaced before the third miss")
		}
		time.Sleep(DefaultLiveness + time.Second)
		if d.count() != 2 {
			t.Error("not replaced after the third miss")
		}
	})
}

func TestSUP8_OneLatePauseIsForgiven(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, live, func(w *world) {
		for range 50 {
			time.Sleep(10 * time.Minute)
			d.last().mute.Store(true)
			time.Sleep(2*DefaultLiveness - time.Second)
			d.last().mute.Store(false)
		}
		if d.count() != 1 {
			t.Errorf("replaced %d times", d.count()-1)
		}
	})
}

func TestSUP8_NoProbesWhileCallsAreAnswered(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, live, func(w *world) {
		for range 600 {
			time.Sleep(10 * time.Second)
			if err := w.within(time.Second, "safe"); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.last().probes.Load(); n > 1 {
			t.Errorf("%d probes on a session that was busy answering", n)
		}
	})
}

func TestSUP8_AMerelyBusyServerIsNotKilled(t *testing.T) { // NousResearch/hermes-agent#70218
	d := &fakeDialer{}
	bubble(t, d, func(s *Settings) { s.Liveness = 10 * time.Second }, func(w *world) {
		l := d.last()
		for range 5 {
			l.mute.Store(true) // works on one call for four minutes, reads nothing
			l.onCall = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				time.Sleep(4 * time.Minute)
				l.mute.Store(false)
				l.bytes.Add(1)
				return &mcp.CallToolResult{}, nil
			}
			if err := w.within(5*time.Minute, "unsafe"); err != nil {
				t.Fatal(err)
			}
		}
		if d.count() != 1 {
			t.Errorf("replaced %d times", d.count()-1)
		}
	})
}

func TestSUP8_AStoppedServerIsReplacedUnderACall(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, func(s *Settings) { s.Liveness = 10 * time.Second }, func(w *world) {
		d.last().mute.Store(true)
		d.last().stopped.Store(true)
		began := time.Now()
		err := w.within(5*time.Minute, "unsafe")
		if took := time.Since(began); took > 45*time.Second {
			t.Errorf("the call in flight was let go after %v", took)
		}
		if e := as[*Error](err); w.kind(err) != KindTransport || e.Sent != OutcomeUnknown {
			t.Errorf("got %v", err)
		}
		if err := w.within(time.Minute, "unsafe"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestSUP8_ASilentServerUnderCallsIsReplacedAfterACallTimeout(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, func(s *Settings) { s.Liveness, s.HungAfter = 10*time.Second, 1000 }, func(w *world) {
		d.last().mute.Store(true)
		for range 10 { // there is a call in flight all the time
			go func() {
				for d.count() == 1 {
					w.within(time.Minute, "unsafe")
				}
			}()
		}
		time.Sleep(DefaultCallTimeout + 30*time.Second)
		if d.count() != 2 {
			t.Error("not replaced")
		}
	})
}

func TestSUP9_TimeoutsInARowInSilenceReplaceTheSession(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) { // no liveness probes at all
		l := d.last()
		l.mute.Store(true)
		for i := range DefaultHungAfter {
			if d.count() != 1 {
				t.Fatalf("replaced after %d timeouts", i)
			}
			if _, err := w.tool("srv", "unsafe", nil); w.kind(err) != KindTimeout {
				t.Fatalf("got %v", err)
			}
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if d.count() != 2 {
			t.Fatal("not replaced")
		}
		if err := w.within(time.Second, "unsafe"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestSUP9_ABurstOfTimeoutsCountsOnce(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, func(s *Settings) { s.Strikes = 1000 }, func(w *world) {
		d.last().mute.Store(true)
		done := make(chan error)
		for range 20 {
			go func() { _, err := w.tool("srv", "unsafe", nil); done <- err }()
		}
		for range 20 {
			if err := <-done; w.kind(err) != KindTimeout {
				t.Fatalf("got %v", err)
			}
		}
		synctest.Wait()
		if d.count() != 1 {
			t.Error("one long pause is no proof")
		}
	})
}

func TestSUP9_CallersInAHurryProveNothing(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		d.last().mute.Store(true)
		for range 100 {
			if err := w.within(10*time.Millisecond, "unsafe"); w.kind(err) != KindTimeout {
				t.Fatalf("got %v", err)
			}
		}
		synctest.Wait()
		if s := w.status("srv"); d.count() != 1 || s.Breaker != "closed" {
			t.Errorf("%d sessions, breaker %s", d.count(), s.Breaker)
		}
	})
}

func TestSUP9_CallersInAHurryProveItInTheEnd(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		d.last().mute.Store(true)
		began := time.Now()
		for d.count() == 1 && time.Since(began) < time.Hour {
			w.within(10*time.Second, "unsafe")
			synctest.Wait()
		}
		if took := time.Since(began); took < DefaultCallTimeout || took > DefaultCallTimeout+20*time.Second {
			t.Errorf("replaced after %v", took)
		}
	})
}

func TestSUP6_ACallThatIsOverIsNotSent(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		d.last().onCall = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			t.Error("it was sent")
			return nil, errFake
		}
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := w.Call(ctx, "srv", "safe", nil)
		if e := as[*Error](err); w.kind(err) != KindCancelled || e.Sent != NotSent {
			t.Errorf("got %v", err)
		}
	})
}

func TestSUP9_AHalfOpenProbeInSilenceReplacesTheSession(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, func(s *Settings) { s.HungAfter = 1000 }, func(w *world) {
		l := d.last()
		l.mute.Store(true)
		for range DefaultStrikes {
			w.tool("srv", "unsafe", nil)
		}
		if s := w.status("srv"); s.Breaker != "open" {
			t.Fatalf("breaker %s", s.Breaker)
		}
		time.Sleep(DefaultCooldown)
		w.tool("srv", "unsafe", nil)
		time.Sleep(time.Second)
		if d.count() != 2 {
			t.Error("not replaced")
		}
	})
}
