package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The ten statements that NousResearch/hermes-agent#53599 stands for, and its neighbours, in fake time.

func TestSUP1_BudgetExhaustedIsParkedNotGone(t *testing.T) { // #53599 (1)
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		time.Sleep(10 * time.Minute)
		if s := w.status("srv"); s.State != StateParked || s.NextTry.IsZero() || s.LastError == "" {
			t.Errorf("got %+v, want parked with a next try and a reason", s)
		}
	})
}

func TestSUP1_AReconnectRequestWhileParkedIsHeard(t *testing.T) { // #53599 (2)
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		d.set(always)
		began := time.Now()
		if err := w.Reconnect(w.ctx, "srv"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("a manual reconnect skips every wait, took %v", took)
		}
		if w.status("srv").State != StateReady {
			t.Errorf("state is %v", w.status("srv").State)
		}
	})
}

func TestSUP1_TimeAloneUnparks(t *testing.T) { // #53599 (3), NousResearch/hermes-agent#57129
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		n := d.count()
		time.Sleep(48 * time.Hour)
		if got, least := d.count()-n, int(48*time.Hour/DefaultParkedRetry); got < least {
			t.Errorf("%d attempts in 48 h, want one every 300 s at least", got)
		}
		d.set(always)
		time.Sleep(DefaultParkedRetry)
		if s := w.status("srv"); s.State != StateReady || s.Tools != 2 {
			t.Errorf("not back, with tools, within one parked retry: %+v", s)
		}
	})
}

func TestSUP1_ACallWithNoSessionAsksForOne(t *testing.T) { // #53599 (4)
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		time.Sleep(DefaultDemandInterval)
		e := w.within(time.Minute, "safe")
		if w.kind(e) != KindTransport {
			t.Errorf("the attempt's failure should be named: %v", e)
		}
		d.set(always)
		if err := w.within(DefaultDemandInterval+time.Second, "safe"); err != nil {
			t.Errorf("a call waits for the attempt it asked for: %v", err)
		}
	})
}

func TestSUP2_ACallThatCannotWaitIsToldWhen(t *testing.T) {
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		began := time.Now()
		err := w.within(time.Second, "safe")
		e := as[*Error](err)
		if w.kind(err) != KindNoSession || e.RetryAfter <= 0 || e.Sent != NotSent {
			t.Errorf("got %#v", e)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it should not wait in vain, took %v", took)
		}
	})
}

func TestSUP1_DemandIsSharedAndBounded(t *testing.T) {
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		n, began := d.count(), time.Now()
		for range 50 { // fifty busy callers, for a minute
			go func() {
				for time.Since(began) < time.Minute {
					w.within(10*time.Second, "safe")
					time.Sleep(20 * time.Millisecond)
				}
			}()
		}
		time.Sleep(80 * time.Second)
		if got, most := d.count()-n, int(80*time.Second/DefaultDemandInterval)+1; got > most || got < 10 {
			t.Errorf("%d attempts, want about one per demand interval, at most %d", got, most)
		}
	})
}

func TestSUP1_BusyCallersDoNotShortenTheBackoff(t *testing.T) {
	d := &fakeDialer{outcome: never}
	bubble(t, d, func(s *Settings) { s.Retries = 8 }, func(w *world) {
		stop := make(chan struct{})
		for range 20 {
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
						w.within(time.Minute, "safe")
					}
				}
			}()
		}
		time.Sleep(60 * time.Second)
		close(stop)
		// 1 + 2 + 4 + 8 + 16 + 32 s, each halved at most: 7 attempts in a minute, 8 with luck.
		if got := d.count(); got > 8 {
			t.Errorf("%d attempts in 60 s of backoff", got)
		}
		time.Sleep(2 * time.Minute)
	})
}

func TestSUP3_ALiveSessionResetsTheBreaker(t *testing.T) { // #53599 (5)
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		o := (*w.owners.Load())["srv"]
		o.breaker.Trip()
		if w.kind(w.within(time.Second, "safe")) != KindOpen {
			t.Fatal("the breaker should reject")
		}
		d.last().die("died")
		synctest.Wait()
		if err := w.within(time.Minute, "safe"); err != nil {
			t.Errorf("the new session's first call: %v", err)
		}
	})
}

func TestSUP3_OnlyAProvenSessionRestoresTheBudget(t *testing.T) { // #53599 (6)
	for _, proven := range []bool{true, false} {
		d := &fakeDialer{outcome: func(n int, l *fakeLink) error {
			if n <= 4 {
				return errFake
			}
			return nil
		}}
		bubble(t, d, nil, func(w *world) {
			time.Sleep(20 * time.Second)
			if s := w.status("srv"); s.State != StateReady || s.Retries != 4 {
				t.Fatalf("got %+v", s)
			}
			if proven {
				if err := w.within(time.Second, "safe"); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Reconnect(w.ctx, "srv"); err != nil {
				t.Fatal(err)
			}
			want := 4
			if proven {
				want = 0
			}
			if got := w.status("srv").Retries; got != want {
				t.Errorf("proven %v: %d retries used after an asked-for reconnect, want %d", proven, got, want)
			}
		})
	}
}

func TestSUP1_ClosingBeatsReconnect(t *testing.T) { // #53599 (7)
	d := &fakeDialer{outcome: never}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		n := d.count()
		o := (*w.owners.Load())["srv"]
		asked := make(chan *Error, 1)
		o.mail.post(request{kind: reqAsk, ask: &ask{answer: asked, at: time.Now()}})
		o.stop() // both are pending
		<-o.done
		if got := d.count(); got != n {
			t.Errorf("%d attempts after closing", got-n)
		}
		if e := <-asked; e == nil || e.Kind != KindClosed {
			t.Errorf("the request should be told: %v", e)
		}
	})
}

func TestSUP1_ARequestWhileParkingIsNotLost(t *testing.T) { // #53599 (9)
	// The request arrives while the last attempt of the budget is under way; at the moment of its failure the
	// owner parks.
	d := &fakeDialer{outcome: never, takes: time.Second}
	bubble(t, d, func(s *Settings) { s.Retries = 1 }, func(w *world) {
		for d.count() < 2 {
			time.Sleep(100 * time.Millisecond)
		}
		d.mu.Lock()
		d.outcome = func(n int, l *fakeLink) error {
			if n <= 2 {
				return errFake
			}
			return nil
		}
		d.mu.Unlock()
		began := time.Now()
		if err := w.Reconnect(w.ctx, "srv"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the request waited %v, as if it had not been heard", took)
		}
	})
}

func TestSUP1_RequestsFromManyThreadsShareOneAttempt(t *testing.T) { // #53599 (10)
	d := &fakeDialer{outcome: never, takes: 100 * time.Millisecond}
	bubble(t, d, nil, func(w *world) {
		w.awaitParked()
		d.set(always)
		n := d.count()
		results := make(chan error, 200)
		for i := range 200 {
			go func() {
				if i%2 == 0 {
					results <- w.Reconnect(w.ctx, "srv")
				} else {
					results <- w.within(time.Minute, "safe")
				}
			}()
		}
		for range 200 {
			if err := <-results; err != nil {
				t.Errorf("lost: %v", err)
			}
		}
		if got := d.count() - n; got != 1 {
			t.Errorf("%d attempts, want 1", got)
		}
	})
}

func TestSUP1_TheFirstConnectMayFailToo(t *testing.T) { // #53599 (8)
	d := &fakeDialer{outcome: func(n int, l *fakeLink) error {
		if n < 3 {
			return errFake
		}
		return nil
	}}
	bubble(t, d, nil, func(w *world) {
		time.Sleep(5 * time.Second)
		if s := w.status("srv"); s.State != StateReady {
			t.Errorf("got %+v", s)
		}
	})
}

func TestSUP3_InitialiseThenDieBacksOff(t *testing.T) { // NousResearch/hermes-agent#62212
	d := &fakeDialer{outcome: func(n int, l *fakeLink) error {
		time.AfterFunc(50*time.Millisecond, func() { l.die("died young") })
		return nil
	}}
	bubble(t, d, nil, func(w *world) {
		time.Sleep(63 * time.Hour)
		// 7 quick ones, then one per 270 s at the least.
		if got, most := d.count(), 8+int(63*time.Hour/(270*time.Second)); got > most {
			t.Errorf("%d attempts in 63 h, want at most %d", got, most)
		}
		d.set(always)
		time.Sleep(DefaultParkedRetry)
		if err := w.within(time.Second, "safe"); err != nil {
			t.Error(err)
		}
	})
}

func TestSUP3_ShortDropsDoNotAddUp(t *testing.T) { // NousResearch/hermes-agent#59568
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		for range 100 {
			time.Sleep(2 * time.Hour)
			d.last().die("dropped")
			synctest.Wait()
			if err := w.within(5*time.Second, "safe"); err != nil {
				t.Fatal(err)
			}
		}
		if s := w.status("srv"); s.Retries != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestSUP3_DyingAfterEveryGoodCallIsNoSpawnStorm(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		began := time.Now()
		for time.Since(began) < time.Minute {
			if err := w.within(time.Minute, "safe"); err != nil {
				t.Fatal(err)
			}
			d.last().die("died after a good call")
			synctest.Wait()
		}
		if got := d.count(); got > 62 {
			t.Errorf("%d sessions in 60 s, want one per BackoffMin at most", got)
		}
	})
}

func TestSUP7_NothingStartsBeforeTheOldOneIsGone(t *testing.T) {
	d := &fakeDialer{}
	bubble(t, d, nil, func(w *world) {
		old := d.last()
		old.stopFor = 10 * time.Second
		time.Sleep(time.Minute)
		old.die("died")
		time.Sleep(9 * time.Second)
		if d.count() != 1 {
			t.Fatal("a second one was started while the first was still there")
		}
		time.Sleep(2 * time.Second)
		if d.count() != 2 || !old.ended.Load() {
			t.Error("the second one should have been started by now")
		}
	})
}

func TestSUP6_CloseEndsEveryState(t *testing.T) {
	for name, d := range map[string]*fakeDialer{
		"ready": {}, "connecting": {takes: time.Hour}, "backoff and parked": {outcome: never},
	} {
		t.Run(name, func(t *testing.T) {
			for _, after := range []time.Duration{0, time.Second, time.Hour} {
				bubble(t, &fakeDialer{takes: d.takes, outcome: d.outcome}, nil, func(w *world) {
					time.Sleep(after)
					ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
					defer cancel()
					if err := w.Close(ctx); err != nil {
						t.Errorf("after %v: %v", after, err)
					}
					if s := w.status("srv"); s.State != StateClosed || s.Tools != 0 || len(w.Tools()) != 0 {
						t.Errorf("got %+v", s)
					}
					if w.kind(w.within(time.Second, "safe")) != KindClosed {
						t.Error("a call after Close should say so")
					}
					if w.kind(w.Reconnect(w.ctx, "srv")) != KindClosed {
						t.Error("a reconnect after Close should say so")
					}
				})
			}
		})
	}
}

func TestSUP11_TheConnectLimitHoldsWithoutStarving(t *testing.T) {
	d := &fakeDialer{takes: 30 * time.Second} // all are slow
	bubble(t, d, nil, func(w *world) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			if err := w.add(Server{Name: name}, nil, d); err != nil {
				t.Fatal(err)
			}
		}
		fast := &fakeDialer{outcome: always}
		if err := w.add(Server{Name: "z"}, nil, fast); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.mu.Lock()
		most := d.running
		d.mu.Unlock()
		if limit := defaultConnectLimit(); most > limit {
			t.Errorf("%d attempts at once in the first second, want at most %d", most, limit)
		}
		time.Sleep(11 * time.Second / time.Duration(defaultConnectLimit()) * 2)
		if s := w.status("z"); s.State != StateReady {
			t.Errorf("slow servers keep a fast one waiting: %+v", s)
		}
		time.Sleep(2 * time.Minute)
	})
}

// awaitParked lets time pass until the server is parked.
func (w *world) awaitParked() {
	w.Helper()
	for range 1000 {
		if w.status("srv").State == StateParked {
			return
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
	w.Fatalf("not parked: %+v", w.status("srv"))
}
