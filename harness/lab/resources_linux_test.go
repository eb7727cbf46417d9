package lab

import (
	"testing"

	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/scenario"
)

func TestResourcesAreCounted(t *testing.T) {
	t.Parallel()
	events := run(t, lifePlan(t, scenario.Step{Call: "a.echo"}))
	looks := all(events, func(e history.Event) bool { return e.Kind == history.Resources })
	if len(looks) != 2 {
		t.Fatal(looks)
	}
	for _, e := range looks {
		if e.Procs != 2 || e.FDs == 0 || e.RSS == 0 || e.Pid == 0 {
			t.Fatal(e)
		}
	}
}
