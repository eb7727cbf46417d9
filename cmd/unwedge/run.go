package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/cli"
)

func runCommand() *cobra.Command {
	var f cli.RunFlags
	cmd := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run scenario files, or scenarios of the list by id, on a target",
		Example: `  unwedge run wedge.yaml
  unwedge run wedge.yaml --target mine.yaml --seed 7f3a91
  unwedge run child-dies-idle/sigkill --target bare -v`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Run(cmd.Context(), f, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.Register(cmd.Flags())
	return cmd
}
