// Command unwedge injects faults into MCP servers and shows whether an MCP client recovers from every one of them.
//
// One file a verb; what a verb does lives in the packages it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/buildinfo"
	"github.com/unwedge/unwedge/internal/cli"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "internal" {
		os.Exit(internalVerb(os.Args[2:]))
	}
	os.Exit(execute(os.Args[1:]))
}

// execute runs one command line and returns its exit code.
func execute(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first Ctrl-C the run winds down and reports what it has; the second one ends it at once.
	context.AfterFunc(ctx, stop)
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code cli.Exit
	switch {
	case err == nil:
		return cli.OK
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintln(os.Stderr, "unwedge:", err)
		return cli.BadInput
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "unwedge",
		Short: "Fault injection for MCP clients: does it come back, or is it wedged?",
		Long: `unwedge starts scripted MCP servers that crash, hang, drop connections and reject tokens, lets an
MCP client use them, and says fault by fault whether the client recovered by itself.

Exit codes: 0 all recovered, 1 a failing verdict or finding, 2 bad input, 3 inconclusive or interrupted.`,
		Example: `  unwedge certify                          the built-in supervisor, every fault, both eras
  unwedge certify --target mine.yaml       your client, described by a profile
  unwedge run wedge.yaml --target bare     one scenario file on the bare go-sdk client
  unwedge show NousResearch/hermes-agent#16788`,
		Version:                    buildinfo.Version,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetVersionTemplate("unwedge {{.Version}}\n")
	root.AddCommand(certifyCommand(), runCommand(), listCommand(), showCommand(), fakeCommand(),
		driverCommand(), versionCommand())
	return root
}
