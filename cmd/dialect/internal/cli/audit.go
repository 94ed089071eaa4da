package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/records"
)

const auditLong = `Check the whole store: every record against its hash, the log against the records, and the tables
against the log. Each finding names the record.

With --since, the log must begin with what a kept checkpoint covers. That finds records that were
cut off, and a store that was rolled back, rewritten or replaced. Without --since nobody can know
whether the last records are missing. With the checkpoint that you keep and that of a newer run,
both by --since, it also finds out whether that run went on from the log that you know.

With --key, records are named that none of the keys signed, up to the last checkpoint that the keys
signed; --all-signed makes these fail the audit.`

func newReceiptsAudit(u *ui) *cobra.Command {
	var f struct {
		storeFlags
		since          []string
		bundle         string
		unsigned, json bool
	}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "check the whole store against its log",
		Long:  auditLong,
		Example: `  dialect receipts audit
  dialect receipts checkpoint >checkpoint.txt     # keep it elsewhere
  dialect receipts audit --since checkpoint.txt --since new.txt --key boss.pub`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := f.place()
			if err != nil {
				return err
			}
			var all []receipts.Checkpoint
			var kept *receipts.Checkpoint // the last one, which a bundle has alone
			for _, file := range f.since {
				if kept, err = store.ReadCheckpoint(file, p.Keys); err != nil {
					return err
				}
				all = append(all, *kept) // no name is empty
			}
			switch {
			case f.bundle != "" && len(all) > 1:
				return exit.Usagef("--bundle takes one --since: a bundle shows that its log begins with one checkpoint")
			case f.unsigned && f.bundle != "":
				return exit.Usagef("--bundle and --all-signed exclude each other: verify --bundle asks for a level")
			case f.unsigned && p.Keys == nil:
				return exit.Usagef("--all-signed needs a --key: it says whose signatures count")
			}
			if f.bundle != "" {
				book, refused, err := inquiry.OpenBundle(u.In, f.bundle, p.Keys, kept)
				if err == nil {
					err = u.Print(f.json, records.NewBundleAudit(book, refused, kept))
				}
				if err == nil && refused != nil {
					return exit.Status(exit.Refused)
				}
				return err
			}
			a, tampered, err := p.Audit(all...)
			if err == nil {
				err = u.Print(f.json, a)
			}
			if err == nil && (tampered || f.unsigned && len(a.Findings) > 0) {
				return exit.Status(exit.Refused)
			}
			return err
		},
	}
	f.storeFlags.add(cmd)
	cmd.Flags().StringArrayVar(&f.since, "since", nil, sinceUsage+"; may be repeated")
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "audit the bundle in `FILE` (- for standard input) instead of a store")
	cmd.Flags().BoolVar(&f.unsigned, "all-signed", false, "also fail for records that no --key signed and a signed checkpoint covers")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	return cmd
}

func newReceiptsCheckpoint(u *ui) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "print the checkpoint of the log, to be kept elsewhere",
		Long: `Print the checkpoint of the log: the store's origin, the number of records and the root over
them, signed if the last writer had a key. Keep it where the store's owner cannot change it: later,
"dialect receipts audit --since FILE" finds what was cut off, rolled back or rewritten.`,
		Example: "  dialect receipts checkpoint >checkpoint.txt",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := store.Place{Name: name}.Checkpoint()
			if err != nil {
				return err
			}
			_, err = u.Out.Write(text)
			return err
		},
	}
	addStoreFlag(cmd, &name)
	return cmd
}
