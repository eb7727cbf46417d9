package httpfake

import (
	"fmt"
	"os"

	"github.com/unwedge/unwedge/fakeservers"
)

// RunHTTP serves a script for people, as `unwedge fake http` does: a YAML file (empty is a healthy server), a state folder that
// goes on counting lives when it exists (empty is a temporary one), a loopback address. It prints where it listens, ends with
// Ctrl-C and returns the exit code.
func RunHTTP(scriptFile, stateFolder, listen string) int {
	d, cleanup, err := fakeservers.Open(scriptFile, stateFolder)
	if cleanup != nil {
		defer cleanup()
	}
	if err != nil {
		fakeservers.PrintError(os.Stderr, err)
		return unusable
	}
	return run(config{
		dir: d, server: "fake", listen: listen, cleanup: cleanup,
		ready: func(address string) {
			fmt.Printf("listening on http://%s%s\njournal: %s\nend with Ctrl-C\n", address, Path, d.JournalPath())
		},
	})
}
