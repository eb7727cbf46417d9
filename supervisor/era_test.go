//go:build unix

package supervisor

import (
	"testing"
	"time"

	"github.com/unwedge/unwedge/supervisor/internal/testserver"
)

// A modern server that takes longer to start than a question about the era may take is reached all the same, whether the era is
// known or asked for, and without becoming a legacy server for good.
func TestSUP6_ASlowModernServer(t *testing.T) {
	for _, era := range []Era{AnyEra, Modern} {
		for _, speaks := range []string{"era=modern", "era=both"} {
			t.Run(string(era)+" "+speaks, func(t *testing.T) {
				set := scaled()
				set.ProbeTimeout, set.ConnectTimeout = 100*time.Millisecond, patience
				w := newWorld(t, set)
				dir := w.serve("srv", era, speaks, "slow=400")
				w.good("srv")
				if lives := len(testserver.Lines(dir, "lives")); lives > 2 {
					t.Errorf("%d lives for one server that is slow to start", lives)
				}
			})
		}
	}
}

// A server that was modern comes back as a legacy one that dies of server/discover.
func TestSUP6_ADowngradedServerThatDiesOfTheQuestion(t *testing.T) {
	set := scaled()
	set.ProbeTimeout = patience // the first life must not seem silent on a slow machine
	w := newWorld(t, set)
	w.serve("srv", AnyEra, "era=modern", "then=legacy")
	w.good("srv")
	if got := w.status("srv").Era; got != Modern {
		t.Fatalf("the era is %q", got)
	}
	w.tool("srv", "misbehave", m{"how": "exit1"})
	w.until("the legacy server is ready", func() bool {
		s := w.status("srv")
		return s.State == StateReady && s.Era == Legacy
	})
	w.good("srv")
}
