// Package cli is what the verbs of the unwedge command do: flags to options, options to a run, a run to text, files and an exit
// code. It is the only place that knows the terminal.
package cli

import "fmt"

// Exit codes, for scripts to trust.
const (
	OK           = 0
	Failed       = 1 // a failing recovery class or finding
	BadInput     = 2 // nothing was started
	Inconclusive = 3 // inconclusive, nothing applicable, or interrupted
)

// Exit is an exit code as an error; its text has been printed already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// ExitOf turns a code into an error; nil for 0.
func ExitOf(code int) error {
	if code == OK {
		return nil
	}
	return Exit(code)
}
