package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/workspace"
)

const lspLong = `Serve an editor over standard input and output, by the Language Server Protocol 3.17:
diagnostics as they are typed, completion, hover, go to definition and references, rename of
bindings, quick fixes, outline, folding, semantic tokens and formatting, for scripts and for
routing.toml. Nothing is run, and no file is written: changes are handed to the editor.

An editor starts this command itself; lang/editors has set-ups for Neovim, Helix and VS Code.
An editor without a client for the protocol can call "dialect check --lsp-lite" instead.

The exit status is 0 after an orderly shutdown, and 1 if the editor hung up without one.`

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
			if term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return exit.Usagef("stdin is a terminal: this command is started by an editor, not by hand")
			}
			vars, err := variables(f.set)
			if err != nil {
				return err
			}
			o := lsp.Options{Version: version(), Vars: vars, Receipt: receiptOnTree, Log: u.err}
			if f.routing != "" {
				if o.Routing, err = filepath.Abs(f.routing); err != nil {
					return exit.Usagef("--routing: %v", err)
				}
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := lsp.Serve(ctx, u.in, os.Stdout, o); err != nil && ctx.Err() == nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of scripts, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` for all scripts instead of the nearest routing.toml")
	fl.Bool("stdio", true, "speak over standard input and output, as always (some editors say so)")
	return cmd
}

// lookLong bounds how long a hover looks at the files of a project.
const lookLong = 3 * time.Second

// receiptOnTree says in a line what the store of a project knows of a step on its present files.
func receiptOnTree(ctx context.Context, step *plan.Step, m *plan.Matrix) string {
	ctx, cancel := context.WithTimeout(ctx, lookLong)
	defer cancel()
	path := archive.Store(m.Root)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return fmt.Sprintf("the store cannot be read: %v", err)
	}
	defer s.Close()
	last := func(tree *receipts.Tree) *receipts.Receipt {
		es, err := s.List(ctx, sqlite.Filter{Kinds: []receipts.Kind{receipts.KindReceipt}, Binding: step.Binding, Tree: tree, Limit: 1})
		if err != nil || len(es) == 0 {
			return nil
		}
		v, err := es[0].Parse()
		r, ok := v.(*receipts.Receipt)
		if err != nil || !ok {
			return nil
		}
		return r
	}
	ever := last(nil)
	if ever == nil {
		return "none yet"
	}
	when := fmt.Sprintf("the last is %s, %s", ever.Status, records.Stamp(ever.Timestamp.Time))
	snap, err := workspace.Take(ctx, m.Root, workspace.Options{Caches: m.Caches, Except: archive.Except(m.Root, path)})
	if err != nil {
		return when
	}
	if now := last(&receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes}); now != nil {
		return fmt.Sprintf("%s on the present files, %s", now.Status, records.Stamp(now.Timestamp.Time))
	}
	return "none on the present files; " + when
}
