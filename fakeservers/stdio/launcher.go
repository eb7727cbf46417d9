package stdio

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/unwedge/unwedge/fakeservers/script"
)

// LauncherVerb is the process that a target starts where the real server is the grandchild, as with npx, uvx, sh -c or docker.
const LauncherVerb = "launcher"

// Launcher is the verb "launcher --kind wrapper|container -- COMMAND ARGUMENT...". It tells the command its own pid with a last
// argument --launcher, and exits as the command did.
func Launcher(args []string) int {
	fs := flag.NewFlagSet(LauncherVerb, flag.ContinueOnError)
	kind := fs.String("kind", script.Wrapper, "wrapper or container")
	if fs.Parse(args) != nil || fs.NArg() == 0 || !slices.Contains(script.Launchers, *kind) {
		fmt.Fprintln(os.Stderr, "usage: launcher --kind wrapper|container -- COMMAND ARGUMENT...")
		return usage
	}
	argv := append(fs.Args(), "--launcher", strconv.Itoa(os.Getpid()))
	code, err := launch(*kind, argv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "launcher:", err)
		return 1
	}
	return code
}
