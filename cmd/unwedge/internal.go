package main

import (
	"fmt"
	"io"
	"os"

	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/internal/cli"
)

type driverMain func(args []string, in io.Reader, out, errOut io.Writer) int

// internalVerbs are what the harness starts for itself: `unwedge internal VERB ...`. They have no help and no promise to stay. The small
// helper program has the first of them too and is used instead when it stands beside this one.
var internalVerbs = map[string]func(args []string) int{
	"stdio":            stdio.Program{Prefix: []string{"internal"}}.Main,
	stdio.HolderVerb:   stdio.Holder,
	stdio.SleeperVerb:  stdio.Sleeper,
	stdio.LauncherVerb: stdio.Launcher,
	"keeper":           keeper.Main,
	"http":             httpfake.Main,
	"proxy":            wire.Main,
}

func internalVerb(args []string) int {
	if len(args) > 0 {
		if f, ok := internalVerbs[args[0]]; ok {
			return f(args[1:])
		}
	}
	fmt.Fprintln(os.Stderr, "unwedge: `unwedge internal` is for the harness; see `unwedge --help`")
	return cli.BadInput
}
