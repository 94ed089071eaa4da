package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
			helper := mcpHelper()
			if helper == nil {
				return failf(exitFault, "the program %s, which speaks the protocol, is neither beside dialect nor in PATH", mcpProgram).
					hint("`make build` makes both")
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			child := exec.CommandContext(ctx, helper[0], "serve", self, dir, version())
			child.Stdin, child.Stdout, child.Stderr = u.in, os.Stdout, u.err
			child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
			child.WaitDelay = 20 * time.Second
			if err := child.Run(); err != nil && ctx.Err() == nil {
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.ExitCode() > 0 {
					return exitStatus(exit.ExitCode())
				}
				return failf(exitFailed, "%v", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "work in `DIR` and below")
	return cmd
}

// mcpProgram speaks the protocol, for runs and for agents: its SDK would cost every start of
// dialect.
const mcpProgram = "dialect-mcp"

// mcpHelper returns the command that drives MCP servers: the program beside dialect, else the
// one in PATH; nil if there is none.
func mcpHelper() []string {
	self, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(self), mcpProgram+filepath.Ext(self))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path, "client"}
		}
	}
	if path, err := exec.LookPath(mcpProgram); err == nil && filepath.IsAbs(path) {
		return []string{path, "client"}
	}
	return nil
}
