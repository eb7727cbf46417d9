//go:build unix

package lab

import (
	"fmt"
	"os"
	"testing"

	"github.com/unwedge/unwedge/drivers/bare"
	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/harness/driver"
	"github.com/unwedge/unwedge/harness/history"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/harness/scenario"
	"github.com/unwedge/unwedge/harness/target"
)

// TestMain lets the test binary be the unwedge program.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		args := os.Args[3:]
		switch os.Args[1] + " " + os.Args[2] {
		case "internal keeper":
			os.Exit(keeper.Main(args))
		case "internal http":
			os.Exit(httpfake.Main(args))
		case "internal proxy":
			os.Exit(wire.Main(args))
		case "internal stdio":
			os.Exit(self.Main(args))
		case "internal holder":
			os.Exit(stdio.Holder(args))
		case "internal sleeper":
			os.Exit(stdio.Sleeper(args))
		case "driver bare":
			os.Exit(bare.Main(args, os.Stdin, os.Stdout, os.Stderr))
		case "driver odd":
			os.Exit(driver.Run(&odd{how: args[0]}, os.Stdin, os.Stdout, os.Stderr))
		case "lab killed":
			runUntilKilled(args[0])
		}
	}
	os.Exit(m.Run())
}

var self = stdio.Program{Prefix: []string{"internal"}}

func plan(t *testing.T, s scenario.Scenario) Plan {
	t.Helper()
	if err := scenario.Validate(s); err != nil {
		t.Fatal(err)
	}
	return Plan{
		Scenario: s, Era: script.Legacy, Profile: target.Bare(), Programs: target.Programs{Unwedge: os.Args[0]},
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
