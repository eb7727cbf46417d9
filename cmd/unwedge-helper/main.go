// Command unwedge-helper is the small program that a run starts most often: the stdio fake, its launcher, the two processes that
// a fake can leave behind, and the keeper. It is apart from unwedge because it must start in a few milliseconds, so nothing heavy may be
// linked in: no MCP library, no command-line library, no YAML. unwedge has the same verbs as "unwedge internal VERB" and does
// without this program where it is not installed.
package main

import (
	"fmt"
	"os"

	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/harness/keeper"
	"github.com/unwedge/unwedge/internal/buildinfo"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(usage())
	}
	os.Exit(run(os.Args[1], os.Args[2:]))
}

func run(verb string, args []string) int {
	switch verb {
	case "stdio":
		return stdio.Main(args)
	case stdio.HolderVerb:
		return stdio.Holder(args)
	case stdio.SleeperVerb:
		return stdio.Sleeper(args)
	case stdio.LauncherVerb:
		return stdio.Launcher(args)
	case "keeper":
		return keeper.Main(args)
	case "version":
		fmt.Println(buildinfo.Version)
		return 0
	}
	return usage()
}

func usage() int {
	fmt.Fprintln(os.Stderr, "usage: unwedge-helper stdio|holder|sleeper|launcher|keeper|version ...")
	return 2
}
