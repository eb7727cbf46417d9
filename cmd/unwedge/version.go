package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/cli"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and which helper program would be used",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Version(cmd.Context(), cmd.OutOrStdout())
		},
	}
}
