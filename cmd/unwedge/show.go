package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/cli"
)

func showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a fault, a scenario, or what stands for a public report",
		Example: `  unwedge show child-killed-mid-call/segv
  unwedge show hermes-agent-16788
  unwedge show NousResearch/hermes-agent#16788`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Show(cmd.OutOrStdout(), args[0])
		},
	}
}
