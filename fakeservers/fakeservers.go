// Package fakeservers is the room of the scripted fake MCP servers. It knows nothing of the supervisor.
//
//	script    the language: rules of when and do
//	engine    which rule fires
//	state     the folder that all lives of a server share
//	journal   what the lives saw
//	control   how a live one is told to act
//	tools     the default tools
//	stdio     the fake that talks over its standard streams
//	httpfake  the fake that talks over HTTP
//
// This package itself is the front door for people: it reads scripts from YAML and runs a fake from a file. The fakes do
// not import it, since they must start fast. To teach a fake something new, begin in package script.
package fakeservers

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
	"github.com/unwedge/unwedge/fakeservers/stdio"
	"github.com/unwedge/unwedge/internal/strictyaml"
)

// exitUsage is the status for a script or folder that cannot be used.
const exitUsage = 2

// ParseScript reads a script from YAML. name is the file's, for messages. Mistakes of form and of meaning are both
// *strictyaml.Error, joined when there are several: unknown fields, words and tools come with a suggestion.
func ParseScript(name string, data []byte) (script.Script, error) {
	var s script.Script
	if err := strictyaml.Decode(name, data, &s); err != nil {
		return script.Script{}, err
	}
	if err := LocateProblems(name, data, "", script.Validate(s)); err != nil {
		return script.Script{}, err
	}
	return s, nil
}

// LocateProblems turns the error of script.Validate into located ones. prefix is the path of the script inside the file,
// "servers.srv.script" for one in a scenario, "" when the file is the script.
func LocateProblems(name string, data []byte, prefix string, err error) error {
	var out []error
	for _, p := range script.Problems(err) {
		path := p.Path
		if prefix != "" {
			path = prefix + "." + path
		}
		out = append(out, strictyaml.At(name, data, path, p.Message, strictyaml.Suggest(p.Value, p.Known)))
	}
	return errors.Join(out...)
}

// StdioOptions says which stdio fake to run.
type StdioOptions struct {
	Script string // YAML file; empty is a healthy server
	State  string // state folder, made when it does not exist; empty is a temporary one, so that every start is life 1
	Server string // name in the journal; empty is "fake"
	// Prefix is how this program is told to run a helper verb; see stdio.Program.
	Prefix []string
}

// RunStdio serves a scripted fake on this process's standard streams, as "unwedge fake stdio" does. The process ends when the
// script, a signal or end of file ends it; the function returns an exit status only when the fake cannot start. A state folder
// that exists goes on counting lives, with the script as it is in the file now.
func RunStdio(o StdioOptions) int {
	code, err := runStdio(o)
	if err != nil {
		printError(os.Stderr, err)
	}
	return code
}

func runStdio(o StdioOptions) (int, error) {
	var s script.Script
	if o.Script != "" {
		data, err := os.ReadFile(o.Script)
		if err != nil {
			return exitUsage, err
		}
		if s, err = ParseScript(o.Script, data); err != nil {
			return exitUsage, err
		}
	}
	if o.Server == "" {
		o.Server = "fake"
	}
	d, cleanup, err := folder(o.State, s)
	if err != nil {
		return exitUsage, err
	}
	return stdio.Program{Prefix: o.Prefix}.Serve(d, o.Server, "", cleanup), nil
}

// folder opens or makes the state folder. A temporary one is taken away at the end, as far as the end is foreseen.
func folder(path string, s script.Script) (*state.Dir, func(), error) {
	if path != "" {
		if d, err := state.Open(path); err == nil {
			return d, nil, d.SetScript(s)
		}
		d, err := state.Create(path, s)
		return d, nil, err
	}
	tmp, err := os.MkdirTemp("", "unwedge-fake-")
	if err != nil {
		return nil, nil, err
	}
	cleanup := func() { _ = os.RemoveAll(tmp) }
	d, err := state.Create(tmp, s)
	if err != nil {
		cleanup()
	}
	return d, cleanup, err
}

// printError shows located errors with the line they are about.
func printError(w io.Writer, err error) {
	located := strictyaml.Errors(err)
	if len(located) == 0 {
		fmt.Fprintln(w, err)
		return
	}
	for _, e := range located {
		fmt.Fprintln(w, e)
		if e.Snippet != "" {
			fmt.Fprintln(w, e.Snippet)
		}
	}
}
