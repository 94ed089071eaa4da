package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
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
				return exit.Usagef("stdin is a terminal: this command is started by an agent, not by hand")
			}
			dir, err := filepath.Abs(root)
			if err != nil {
				return exit.Usagef("--root: %v", err)
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return exit.Usagef("--root: %s is no directory", root)
			}
			self, err := os.Executable()
			if err != nil {
				return exit.Failf(exit.Internal, "%v", err)
			}
			helper := mcpHelper()
			if helper == nil {
				return exit.Failf(exit.Fault, "the program %s, which speaks the protocol, is neither beside dialect nor in PATH", mcpProgram).
					Hint("`make build` makes both")
			}
			argv := []string{helper[0], "serve", self, dir, version()}
			if runtime.GOOS != "windows" {
				// In our place: there is nothing that could outlive us, or be killed in its stead.
				return exit.Failf(exit.Fault, "%s cannot be run: %v", helper[0], syscall.Exec(argv[0], argv, os.Environ()))
			}
			child := exec.Command(argv[0], argv[1:]...)
			child.Stdin, child.Stdout, child.Stderr = u.in, os.Stdout, u.err
			if err := child.Run(); err != nil {
				var ended *exec.ExitError
				if errors.As(err, &ended) && ended.ExitCode() > 0 {
					return exit.Status(ended.ExitCode())
				}
				return exit.Failf(exit.Failed, "%v", err)
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
