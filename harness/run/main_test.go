//go:build unix

package run

import (
	"os"
	"testing"

	"github.com/unwedge/unwedge/drivers/bare"
	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/harness/keeper"
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
			os.Exit(stdio.Program{Prefix: []string{"internal"}}.Main(args))
		case "internal holder":
			os.Exit(stdio.Holder(args))
		case "internal sleeper":
			os.Exit(stdio.Sleeper(args))
		case "driver bare":
			os.Exit(bare.Main(args, os.Stdin, os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}
