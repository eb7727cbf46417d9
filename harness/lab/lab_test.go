//go:build unix

package lab

import (
	"fmt"
	"os"
	"testing"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/internal/labtest"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

func TestMain(m *testing.M) {
	labtest.Main(m, map[string]func([]string) int{
		"driver odd": func(args []string) int { return driver.Run(&odd{how: args[0]}, os.Stdin, os.Stdout, os.Stderr) },
		"lab killed": func(args []string) int { return runUntilKilled(args[0], args[1]) },
	})
}

func plan(t *testing.T, s scenario.Scenario) Plan {
	t.Helper()
	if err := scenario.Validate(s); err != nil {
		t.Fatal(err)
	}
	return Plan{
		Scenario: s, Era: script.Legacy, Profile: labtest.Quick(target.Bare()), Programs: labtest.Programs(),
		Dir: t.TempDir(), Seed: 1, Secret: "canary-0123456789",
	}
}

func show(t *testing.T, events []history.Event) {
	for _, e := range events {
		if e.Kind == history.Journal {
			t.Logf("%.3f journal %s life %d %s %s %s", float64(e.T-events[0].T)/1e9, e.Server, e.Entry.Life, e.Entry.Kind, e.Entry.Method, e.Entry.Nonce)
			continue
		}
		t.Logf("%.3f %s", float64(e.T-events[0].T)/1e9, line(e))
	}
}

func line(e history.Event) string {
	s := fmt.Sprintf("%s %s ok=%v %s%s %s", e.Kind, e.Server, e.OK, e.Rung, e.Nonce, e.Detail)
	if e.Err != nil {
		s += " err=" + e.Err.Message
	}
	return s
}
