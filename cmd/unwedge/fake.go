package main

import (
	"github.com/spf13/cobra"

	"github.com/unwedge/unwedge/fakeservers"
	"github.com/unwedge/unwedge/fakeservers/httpfake"
	"github.com/unwedge/unwedge/internal/cli"
)

func fakeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fake",
		Short: "Run a scripted fake MCP server, for trying a client by hand",
		Long: `fake runs the servers that scenarios use. Without a script they are healthy and offer the default tools
(echo, add, sleep, fail, big, effect, progress, env).`,
		Example: `  unwedge fake stdio --script dies-on-third-call.yaml
  unwedge fake http --script answers-401.yaml --listen 127.0.0.1:8080`,
	}
	var script, state, listen string
	stdio := &cobra.Command{
		Use:   "stdio",
		Short: "Serve on stdin and stdout",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.ExitOf(fakeservers.RunStdio(fakeservers.StdioOptions{
				Script: script, State: state, Prefix: []string{"internal"},
			}))
		},
	}
	http := &cobra.Command{
		Use:   "http",
		Short: "Serve streamable HTTP on loopback, at /mcp",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.ExitOf(httpfake.RunHTTP(script, state, listen))
		},
	}
	http.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "loopback address to listen on; port 0 picks one and prints it")
	for _, c := range []*cobra.Command{stdio, http} {
		c.Flags().StringVar(&script, "script", "", "script file (YAML); none is a healthy server")
		c.Flags().StringVar(&state, "state", "", "folder for state and journal; none is a temporary one, removed at the end")
		cmd.AddCommand(c)
	}
	return cmd
}
