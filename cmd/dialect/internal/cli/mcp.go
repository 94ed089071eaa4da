package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpserver"
)

const mcpLong = `Serve an agent by the Model Context Protocol over standard input and output, with the tools
check, run, verify, consume, explain, vocab and log. They print what the command line prints, and keep
the same receipts.

The root is fixed at the start: calls name scripts below it, or give lines as text. They can
name no command, no matrix and no store; what a line runs is what the matrix binds.

In .mcp.json:  {"mcpServers": {"dialect": {"command": "dialect", "args": ["mcp"]}}}`

func newMCP(u *ui) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve an agent by the Model Context Protocol",
		Long:  mcpLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return usagef("an agent starts this command; a terminal is none")
			}
			dir, err := filepath.Abs(root)
			if err != nil {
				return usagef("--root: %v", err)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return usagef("--root: %s is no directory", root)
			}
			self, err := os.Executable()
			if err != nil {
				return failf(exitInternal, "%v", err)
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = mcpserver.Serve(ctx, mcpserver.Options{Self: self, Root: dir, Version: version()}, &mcp.StdioTransport{})
			if err != nil && ctx.Err() == nil {
				return failf(exitFailed, "%v", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "work in `DIR` and below")
	return cmd
}
