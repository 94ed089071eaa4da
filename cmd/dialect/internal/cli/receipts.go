package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/workspace"
)

func newReceipts(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "receipts",
		Aliases: []string{"receipt"},
		Short:   "list, show, validate, consume and audit receipts",
		Args:    unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return exit.Status(exit.Usage)
		},
	}
	cmd.AddCommand(
		newReceiptsList(u), newReceiptsShow(u), newReceiptsValidate(u),
		newConsume(u), newReceiptsAudit(u), newReceiptsCheckpoint(u), newReceiptsExport(u), newReceiptsSettle(u), newReceiptsLint(u), newReceiptsGC(u), newReceiptsKeygen(u), newExec(u, "exec"),
	)
	return cmd
}

// withStore opens the store for a command that is about it.
func withStore(name string, readOnly bool, f func(ctx context.Context, s *sqlite.Store) error) error {
	return withStoreOf(name, sqlite.Options{ReadOnly: readOnly}, f)
}

func withStoreOf(name string, o sqlite.Options, f func(ctx context.Context, s *sqlite.Store) error) error {
	path, err := findStore(name)
	if err != nil {
		return err
	}
	// These commands ask a store, or add to it; a run makes one.
	o.Existing = true
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return noStore(path)
	}
	if err := archive.CheckStore(path); err != nil && !o.ReadOnly {
		return exit.Failf(exit.Refused, "%v", err)
	}
	ctx, stop := interrupt.Context()
	defer stop()
	err = interrupt.Await(ctx, func() error {
		s, err := sqlite.Open(ctx, path, o)
		if err == nil {
			err = f(ctx, s)
			if cerr := s.Close(); err == nil && cerr != nil {
				err = cerr
			}
		}
		return err
	})
	var unusable *sqlite.UnusableError
	switch {
	case errors.Is(err, sqlite.ErrNoStore):
		return noStore(path)
	case errors.Is(err, sqlite.ErrBusy):
		return exit.Failf(exit.Refused, "%v", err).Hint("another process is writing to it: try again")
	case errors.As(err, &unusable):
		return exit.Failf(exit.Refused, "%v", err).Hint("it was left as it is; move it away to begin a new one")
	}
	return err
}

var errNoStore = errors.New("there is no store")

func noStore(path string) error {
	return exit.Failf(exit.Failed, "%w %s", errNoStore, path).Hint("a run makes one: dialect run FILE; --store PATH names another")
}

func newReceiptsList(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store       string
		filter      sqlite.Filter
		status      string
		since, tree string
		json        bool
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list receipts and gates, oldest first",
		Long: `List receipts and gates, oldest first.

The list is read from the store's tables, which are not authenticated: it is for finding ids.
show, validate and verify answer from the authenticated log.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f.filter.Status = receipts.Status(f.status)
			if f.status == "success" {
				f.filter.Status = receipts.Succeeded
			}
			old, err := age(f.since)
			if err != nil {
				return exit.Usagef("--max-age: %v", err)
			}
			if old > 0 {
				f.filter.Since = time.Now().Add(-old)
			}
			if f.filter.Tree, err = namedTree(f.tree, f.store); err != nil {
				return err
			}
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				es, err := s.List(ctx, f.filter)
				if err != nil {
					return err
				}
				switch {
				case f.json:
					return writeJSON(u, records.NewList(es))
				case len(es) == 0:
					u.notef("no receipts")
					return nil
				}
				return records.Table(u.out, es)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.filter.Session, "session", "", "only those of `SESSION`")
	fl.StringVar(&f.filter.Run, "run", "", "only those of `RUN`")
	fl.StringVar(&f.filter.Binding, "binding", "", "only those of `BINDING`")
	fl.StringVar(&f.status, "status", "", "only those that are `STATUS`: succeeded, failed, not_configured, pending")
	fl.StringVar(&f.since, "max-age", "", "only those that are at most `AGE` old: 90m, 12h, 2d")
	fl.StringVar(&f.tree, "tree", "", "only those of `TREE`: \".\" for the present files, a revision, or a digest as show prints it")
	fl.BoolVar(&f.filter.Unspent, "unconsumed", false, "only those that are not consumed")
	fl.IntVarP(&f.filter.Limit, "limit", "n", 0, "only the newest `N`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		[]string{"succeeded", "failed", "not_configured", "pending"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// namedTree returns the tree that a user names; nil for none.
func namedTree(name, store string) (*receipts.Tree, error) {
	if name == "" {
		return nil, nil
	}
	if h, err := receipts.ParseHash(name); err == nil {
		return &receipts.Tree{Bytes: h}, nil
	}
	if name != "." {
		c, err := workspace.Resolve(context.Background(), ".", name, workspace.Options{})
		switch {
		case err == nil:
			return &receipts.Tree{Tree: c.Tree}, nil
		case len(name) == 40 && strings.Trim(name, "0123456789abcdef") == "":
			return &receipts.Tree{Tree: name}, nil // a tree, not a commit
		}
		return nil, exit.Usagef("--tree: %v", err)
	}
	f := inquiryFlags{store: store}
	q, err := f.question(context.Background())
	switch {
	case err != nil:
		return nil, err
	case q.Tree == nil:
		return nil, exit.Failf(exit.Failed, "cannot take a snapshot of the working tree: %s", q.NoTree)
	}
	return q.Tree, nil
}

func newReceiptsShow(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store string
		json  bool
	}
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "show one record: a hash or its prefix, g-... of a gate, r-... of a run",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				e, _, err := s.Authentic(ctx, args[0])
				if err != nil {
					return notFound(err)
				}
				if f.json {
					return writeJSON(u, records.New(e))
				}
				return records.Show(u.out, e)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.json, "json", false, "print the record as one JSON document")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	return cmd
}

// notFound gives errors about an id their exit status.
func notFound(err error) error {
	var unusable *sqlite.UnusableError
	var problem *verify.ProblemError
	switch {
	case errors.As(err, &unusable):
		return err
	case errors.As(err, &problem):
		return exit.Failf(exit.Refused, "TAMPERED: %v", err).Hint("`dialect receipts audit` says what was changed")
	}
	return exit.Failf(exit.Failed, "%v", err).Hint("`dialect receipts list` shows what there is")
}

func newReceiptsValidate(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store string
		json  bool
	}
	cmd := &cobra.Command{
		Use:               "validate ID...",
		Short:             "say whether receipts are there, intact and of a success; consumes nothing",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				d, err := s.Validate(ctx, args...)
				if err != nil {
					return err
				}
				return tellDecision(u, d, f.json, "valid")
			})
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	return cmd
}

// tellDecision prints a decision; done is the word for what passed, next what to do where
// it did not.
func tellDecision(u *ui, d receipts.Decision, asJSON bool, done string, next ...string) error {
	var err error
	if asJSON {
		err = writeJSON(u, records.NewDecision(d, done, next))
	} else {
		err = records.Tell(u.out, d, done, next)
	}
	if err == nil && !d.Passed() {
		return exit.Status(exit.Refused)
	}
	return err
}
