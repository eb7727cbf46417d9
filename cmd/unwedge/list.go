package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/cli"
)

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [scenarios|faults|targets]",
		Short: "List what there is: scenarios (default), faults or targets",
		Example: `  unwedge list
  unwedge list faults --json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: cli.Listable,
		RunE: func(cmd *cobra.Command, args []string) error {
			what := cli.Listable[0]
			if len(args) == 1 {
				what = args[0]
			}
			return cli.List(cmd.OutOrStdout(), what, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
