// Package httpfake is the scripted fake MCP server for streamable HTTP: go-sdk's own handlers inside a fault layer. Who talks the
// modern revision reaches a stateless handler, who talks an older one a stateful handler; both answer on the one address, unless
// the script names an era.
//
// The way of a request: request.go reads it, handler.go journals it and asks the engine which rule fires, actions.go does
// what the rule says, and what no rule answers goes to go-sdk (sdk.go) through a writer that notes what was sent (recorder.go).
// life.go starts and ends the process.
//
// It may import go-sdk and the other packages under fakeservers; it knows neither the supervisor nor the harness. A newcomer most
// often adds an action: a field in script.Action, a case in actions.go.
package httpfake

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/unwedge/unwedge/fakeservers/script"
	"github.com/unwedge/unwedge/fakeservers/state"
)

const (
	// Path is where the server answers; everything else is 404.
	Path = "/mcp"
	// ReadyFile is the file in the state folder that tells the bound address once the server accepts connections (package ready).
	ReadyFile = "http.json"
	// RoleControl is the role of the control's own fakes: always healed, whatever the phase.
	RoleControl = "control"
	// ControlHeader, with any value, marks a request as the control's own: it is answered as in the healed phase and journalled
	// with RoleControl. So the control can ask the very server, through the very proxy, without using anything up.
	ControlHeader = "Unwedge-Control"
)

// Main is `unwedge internal http --server NAME --state DIR --listen ADDR [--role control]`. It serves until SIGTERM, SIGINT or the
// end of stdin, which is how it ends when its keeper is gone: whoever starts it must hold its stdin open. The result is the exit
// code.
func Main(args []string) int {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	server := flags.String("server", "http", "name of the server, for the journal")
	dir := flags.String("state", "", "state folder, which holds the script")
	listen := flags.String("listen", "127.0.0.1:0", "address to serve on")
	role := flags.String("role", "", `"control" for the control's own fake`)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *role != "" && *role != RoleControl {
		return complain(2, fmt.Errorf("--role %s: there is only %q", *role, RoleControl))
	}
	d, err := state.Open(*dir)
	if err != nil {
		return complain(2, err)
	}
	eof := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(eof)
	}()
	return run(config{dir: d, server: *server, role: *role, listen: *listen, eof: eof})
}

// run is one life from its first entry in the journal to its last.
func run(c config) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	s, err := c.dir.Script()
	if err == nil {
		err = possible(s)
	}
	if err != nil {
		return complain(2, err)
	}
	l, err := begin(c, s)
	if err != nil {
		return complain(1, err)
	}
	return l.await(stop)
}

func complain(code int, err error) int {
	fmt.Fprintln(os.Stderr, "http fake:", err)
	return code
}

// ImpossibleError says that a script asks an HTTP server for what only a stdio server can do.
type ImpossibleError struct {
	Rule int // from 1
	Verb string
}

func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("rule %d: %s is for stdio servers", e.Rule, e.Verb)
}

// possible refuses a script with actions that would silently do nothing here.
func possible(s script.Script) error {
	for i, r := range s.Rules {
		for _, a := range r.Do {
			if a.StdioOnly() {
				return &ImpossibleError{Rule: i + 1, Verb: a.Verb()}
			}
		}
	}
	return nil
}
