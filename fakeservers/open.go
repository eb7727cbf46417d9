package fakeservers

import (
	"io"
	"os"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
)

// Open reads a script (YAML file; empty is a healthy server) and opens or makes the state folder for it (empty is a temporary
// one). cleanup, when there is one, takes a temporary folder away. Errors are for PrintError.
func Open(scriptFile, stateFolder string) (d *state.Dir, cleanup func(), err error) {
	var s script.Script
	if scriptFile != "" {
		data, err := os.ReadFile(scriptFile)
		if err != nil {
			return nil, nil, err
		}
		if s, err = ParseScript(scriptFile, data); err != nil {
			return nil, nil, err
		}
	}
	return folder(stateFolder, s)
}

// PrintError shows an error of this package to people: located ones with the line they are about.
func PrintError(w io.Writer, err error) { printError(w, err) }
