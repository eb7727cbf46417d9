// Tests that need to look inside.

package breaker

import (
	"testing"
	"testing/synctest"
	"time"
)

// The test holds the lock and uses the fast paths: if one of them wanted the lock, it
// would wait for ever.
func TestBRK6_FastPathsTakeNoLock(t *testing.T) {
	for name, use := range map[string]func(b *Breaker){
		"closed": func(b *Breaker) {
			for _, settle := range []func(Permit){Permit.Failure, Permit.Success, Permit.Ignore} {
				permit, err := b.Allow()
				if err != nil {
					t.Errorf("Allow: %v", err)
				}
				settle(permit)
			}
		},
		"open": func(b *Breaker) {
			if _, err := b.Allow(); err == nil || err.Error() == "" {
				t.Errorf("Allow: %v, want a rejection", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(Config{})
			if name == "open" {
				b.Trip()
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			done := make(chan struct{})
			go func() {
				defer close(done)
				use(b)
				_ = b.State()
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second): // only ever waited for on failure
				t.Fatal("a fast path waits for the lock")
			}
		})
	}
}

// Every rejection is counted, also when stripes are shared.
func TestStripedCounterIsExact(t *testing.T) {
	const workers, each = 100, 1000
	var c stripedCounter
	done := make(chan struct{})
	for range workers {
		go func() {
			for range each {
				c.add()
			}
			done <- struct{}{}
		}()
	}
	for range workers {
		<-done
	}
	if got := c.sum(); got != workers*each {
		t.Fatalf("counted %d of %d", got, workers*each)
	}
}

// A caller may be held up between looking at a period and asking it, and find it over.
func TestBRK2_StragglersAreToldOfTheNewPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{})
		closed := b.current.Load()
		b.Trip()
		open := b.current.Load()
		time.Sleep(DefaultCooldown)
		if permit, err := b.Allow(); err != nil || !permit.Probe() {
			t.Fatalf("Allow: %v, want a probe", err)
		}
		halfOpen := b.current.Load()
		if _, err := open.allow(); err == nil {
			t.Error("a straggler from the open period got a second probe")
		}
		time.Sleep(DefaultProbeLease)
		b.Trip()
		if _, err := halfOpen.allow(); err == nil {
			t.Error("a straggler from the half-open period passed an open breaker")
		}
		b.Reset()
		for name, period := range map[string]*period{"open": open, "half-open": halfOpen} {
			if permit, err := period.allow(); err != nil || permit.period != b.current.Load() {
				t.Errorf("a straggler from the %s period is not treated as one of this", name)
			}
		}
		// Here the caller has passed before the breaker opened, as it were.
		if permit, err := closed.allow(); err != nil || permit.period != closed {
			t.Errorf("a straggler from the closed period: %v", err)
		}
	})
}
