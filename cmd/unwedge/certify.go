package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/internal/cli"
	"github.com/unwedge/unwedge/scenarios"
)

func certifyCommand() *cobra.Command {
	var f cli.RunFlags
	cmd := &cobra.Command{
		Use:   "certify",
		Short: "Run the whole list of scenarios on a target and report fault by fault",
		Long: `certify runs every scenario that applies to the target, in every era that both know, and reports what
recovered, how fast, and with what evidence. Without --target it certifies the built-in supervisor and shows
a bare go-sdk client beside it.`,
		Example: `  unwedge certify
  unwedge certify --target mine.yaml --out report
  unwedge certify --run 'child-*' --era legacy --label stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Certify(cmd.Context(), f, scenarios.All(), !cmd.Flags().Changed("target"),
				cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.Register(cmd.Flags())
	return cmd
}
