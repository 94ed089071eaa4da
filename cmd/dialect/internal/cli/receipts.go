package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/receipts"
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
		newConsume(u), newReceiptsAudit(u), newReceiptsCheckpoint(u), newReceiptsExport(u), newReceiptsSettle(u), newReceiptsLint(u), newReceiptsGC(u), newReceiptsKeygen(u), newExec(u),
	)
	return cmd
}

func newReceiptsList(u *ui) *cobra.Command {
	var f struct {
		storeFlags
		filter      store.Filter
		status      string
		since, tree string
		json        bool
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list receipts and gates, oldest first",
		Long: `List receipts and gates, oldest first.

The list comes from the store's tables, which are not authenticated: use it to find ids. show,
validate and verify answer from the authenticated log.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f.filter.Status = receipts.Status(f.status)
			if f.status == "success" {
				f.filter.Status = receipts.Succeeded
			}
			if all := []receipts.Status{"", receipts.Succeeded, receipts.StatusFailed, receipts.NotConfigured, receipts.Pending}; !slices.Contains(all, f.filter.Status) {
				return exit.Usagef("--status %q: want succeeded, failed, not_configured or pending", f.status)
			}
			if f.filter.Limit < 0 {
				return exit.Usagef("--limit %d: want a positive number, or 0 for all", f.filter.Limit)
			}
			old, err := store.Age(f.since)
			if err != nil {
				return exit.Usagef("--max-age: %v", err)
			}
			if old > 0 {
				f.filter.Since = time.Now().Add(-old)
			}
			if f.filter.Tree, err = inquiry.NamedTree(context.Background(), f.tree, inquiry.Options{Store: f.store, Slow: u.Note}); err != nil {
				return err
			}
			p, err := f.place()
			if err != nil {
				return err
			}
			l, err := p.List(f.filter)
			if err != nil {
				return err
			}
			if len(l.Records) == 0 && !f.json {
				u.Notef("no receipts")
				return nil
			}
			return u.Print(f.json, l)
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
	f.storeFlags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		[]string{"succeeded", "failed", "not_configured", "pending"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func newReceiptsShow(u *ui) *cobra.Command {
	var f struct {
		storeFlags
		json bool
	}
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "show one record, by its hash or a prefix of it, g-... of a gate or r-... of a run",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := f.place()
			if err != nil {
				return err
			}
			r, err := p.Record(args[0])
			if err != nil {
				return err
			}
			return u.Print(f.json, r)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print the record as one JSON document")
	f.storeFlags.add(cmd)
	return cmd
}

func newReceiptsValidate(u *ui) *cobra.Command {
	var f struct {
		storeFlags
		json bool
	}
	cmd := &cobra.Command{
		Use:               "validate ID...",
		Short:             "check that receipts exist, are intact, signed if --key is given, and record a success, without consuming them",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := f.place()
			if err != nil {
				return err
			}
			d, err := p.Validate(args...)
			if err != nil {
				return err
			}
			return tellDecision(u, d, f.json)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	f.storeFlags.add(cmd)
	return cmd
}
