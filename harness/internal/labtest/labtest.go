// Package labtest is for tests that run labs: it makes their test binary the unwedge program, and builds the small helper beside it.
// Only tests import it.
package labtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/unwedge/unwedge/drivers/bare"
	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/faults/wire"
	"github.com/unwedge/unwedge/harness/target"
)

// helper is where the helper program was built.
var helper string

// Main is a package's TestMain. Started with a verb of unwedge, or one of the given ones, the test binary is that program.
//
// The helper is built without the race detector even when the tests are with it, since the harness measures the machine by starting it,
// and a program with the detector takes a second to exit.
func Main(m *testing.M, verbs map[string]func(args []string) int) {
	if len(os.Args) > 2 {
		all := map[string]func(args []string) int{
			"internal http":  httpfake.Main,
			"internal proxy": wire.Main,
			"driver bare":    func(args []string) int { return bare.Main(args, os.Stdin, os.Stdout, os.Stderr) },
		}
		maps.Copy(all, verbs)
		if f, ok := all[os.Args[1]+" "+os.Args[2]]; ok {
			os.Exit(f(os.Args[3:]))
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "unwedge-labtest-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	helper = filepath.Join(dir, "unwedge-helper")
	if runtime.GOOS == "windows" {
		helper += ".exe"
	}
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", helper,
		"github.com/unwedge/unwedge/cmd/unwedge-helper").CombinedOutput()
	if err != nil {
		panic(fmt.Sprintf("building the helper: %v\n%s", err, out))
	}
	return m.Run()
}

// Programs are the test binary and the helper.
func Programs() target.Programs { return target.Programs{Unwedge: os.Args[0], Helper: helper} }

// Quick makes a target that was built with the race detector exit without a pause.
func Quick(p target.Profile) target.Profile {
	p.Env = maps.Clone(p.Env)
	if p.Env == nil {
		p.Env = map[string]string{}
	}
	p.Env["GORACE"] = "atexit_sleep_ms=0"
	return p
}
