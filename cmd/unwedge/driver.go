package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/drivers/bare"
	"github.com/unwedge/unwedge/drivers/builtin"
	"github.com/unwedge/unwedge/drivers/naive"
	"github.com/unwedge/unwedge/internal/cli"
)

func driverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "driver",
		Short: "Run one of our own targets: speaks the driver protocol on stdin and stdout",
		Long: `driver runs a target that speaks the driver protocol (JSON lines, see harness/driver) on stdin and stdout.
The harness starts these; they are also examples of how to wrap a client library.`,
	}
	cmd.AddCommand(
		driverVerb("builtin", "The built-in supervisor", builtin.Main),
		driverVerb("naive", "A go-sdk client that reconnects when a call fails, and nothing more", naive.Main),
		driverVerb("bare", "A bare go-sdk client: no supervisor at all", bare.Main),
	)
	return cmd
}

// driverVerb wraps a driver's main function.
func driverVerb(name, short string, main driverMain) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return cli.ExitOf(main(args, os.Stdin, os.Stdout, os.Stderr))
		},
	}
}
