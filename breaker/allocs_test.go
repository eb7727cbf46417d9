//go:build !race

// The race detector makes sync.Pool drop tickets at random, to find bugs, so under it
// permits allocate.

package breaker_test

import (
	"errors"
	"testing"

	"github.com/unwedge/unwedge/breaker"
)

func TestBRK6_FastPathsAllocateNothing(t *testing.T) {
	closed, open := breaker.New(breaker.Config{Failures: 1 << 30}), breaker.New(breaker.Config{})
	open.Trip()
	for name, use := range map[string]func(){
		"success": func() { mustAllow(t, closed).Success() },
		"failure": func() { mustAllow(t, closed).Failure() },
		"ignore":  func() { mustAllow(t, closed).Ignore() },
		"reject": func() {
			_, err := open.Allow()
			if !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("Allow: %v", err)
			}
		},
		"wait": func() {
			_, err := open.Allow()
			if rejected, ok := errors.AsType[*breaker.OpenError](err); !ok || rejected.RetryAfter() == 0 {
				t.Errorf("Allow: %v", err)
			}
		},
	} {
		if n := testing.AllocsPerRun(1000, use); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
