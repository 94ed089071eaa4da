package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
)

const lspLong = `Serve an editor over standard input and output, by the Language Server Protocol 3.17: diagnostics
while you type, completion, hover, definition and references, rename of bindings, quick fixes,
outline, folding, semantic tokens and formatting, for scripts and for routing.toml. It runs nothing
and writes no file: changes are handed to the editor.

The editor starts this command; lang/editors has set-ups for Neovim, Helix and VS Code. An editor
without a client for the protocol can call "dialect check --lsp-lite" instead.

The exit status is 0 after an orderly shutdown, and 1 if the editor disconnected without one.`

func newLSP(u *ui) *cobra.Command {
	var f struct {
		set     []string
		routing string
	}
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "serve an editor by the Language Server Protocol",
		Long:  lspLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.Typed() {
				_ = cmd.Help()
				return exit.Usagef("stdin is a terminal: this command is started by an editor, not by hand")
			}
			vars, err := script.Variables(f.set)
			if err != nil {
				return err
			}
			o := lsp.Options{Version: version(), Vars: vars, Receipt: store.OnTree, Log: u.Err}
			if f.routing != "" {
				if o.Routing, err = filepath.Abs(f.routing); err != nil {
					return exit.Usagef("--routing: %v", err)
				}
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := lsp.Serve(ctx, u.In, os.Stdout, o); err != nil && ctx.Err() == nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of scripts, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` for all scripts instead of the nearest routing.toml")
	fl.Bool("stdio", true, "accepted because some editors pass it; there is no other mode")
	return cmd
}
