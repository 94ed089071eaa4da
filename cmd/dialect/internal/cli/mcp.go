package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/mcpclient"
)

const mcpLong = `Serve an agent by the Model Context Protocol over standard input and output, with the tools check,
run, verify, consume, explain, vocab and log. They print what the command line prints, and keep the
same receipts.

The root is fixed at the start: calls name scripts below it, or give lines as text. They cannot name
a command, a matrix or a store; a line runs what the matrix binds.

In .mcp.json:  {"mcpServers": {"dialect": {"command": "dialect", "args": ["mcp"]}}}`

func newMCP(u *ui) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve an agent by the Model Context Protocol",
		Long:  mcpLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.Typed() {
				_ = cmd.Help()
				return exit.Usagef("stdin is a terminal: this command is started by an agent, not by hand")
			}
			dir, err := filepath.Abs(root)
			if err != nil {
				return exit.Usagef("--root: %v", err)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return exit.Usagef("--root: %s is not a directory", root)
			}
			self, err := os.Executable()
			if err != nil {
				return exit.Failf(exit.Internal, "%v", err)
			}
			helper := mcpclient.Helper()
			if helper == nil {
				return exit.Failf(exit.Fault, "%s", mcpclient.Missing).
					Hint("%s", mcpclient.Install).Hint("an archive of a release, and `make build` in a clone, have both programs")
			}
			status, err := mcpclient.Become([]string{helper[0], "serve", self, dir, version()})
			if err != nil {
				return exit.Failf(exit.Fault, "%s cannot be run: %v", helper[0], err)
			}
			return exit.Of(status)
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "work in `DIR` and below")
	return cmd
}
