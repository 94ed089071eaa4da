package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/records"
)

// keyFlags are the flags of whoever verifies.
type keyFlags struct {
	keys  []string
	since string
}

func (f *keyFlags) addKey(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "trust signatures of the public key `PUB`, or of the keys in the file PUB; may be repeated")
}

func (f *keyFlags) add(cmd *cobra.Command) {
	f.addKey(cmd)
	cmd.Flags().StringVar(&f.since, "since", "", "compare the log with the checkpoint that was kept in `FILE` (see receipts checkpoint)")
}

// verifiers parses the keys; nil if there are none.
func (f *keyFlags) verifiers() (note.Verifiers, error) {
	var texts []string
	for _, k := range f.keys {
		if strings.Count(k, "+") >= 2 {
			texts = append(texts, k)
			continue
		}
		b, err := regular.Read(k, 1<<20)
		if err != nil {
			return nil, exit.Usagef("--key %s: it is neither a public key nor a file of them: %v", k, err)
		}
		texts = append(texts, strings.Fields(string(b))...)
	}
	if len(texts) == 0 {
		if len(f.keys) > 0 {
			return nil, exit.Usagef("--key: there is no key in %s", strings.Join(f.keys, ", "))
		}
		return nil, nil
	}
	v, err := receipts.ParseKeys(texts...)
	if err != nil {
		return nil, exit.Usagef("--key: %v", err)
	}
	return v, nil
}

// kept reads the head that --since names; nil without one. A signature that is
// there must hold where there are keys.
func (f *keyFlags) kept(keys note.Verifiers) (*receipts.Head, error) {
	if f.since == "" {
		return nil, nil
	}
	b, err := regular.Read(f.since, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("--since: there is no file %s", f.since).Hint("`dialect receipts checkpoint >%s` makes one", f.since)
	}
	if err != nil {
		return nil, exit.Usagef("--since: %v", err)
	}
	h, _, err := receipts.ParseHead(b, keys)
	if err != nil {
		return nil, exit.Failf(exit.Refused, "--since %s: %v", f.since, err)
	}
	return &h, nil
}

// anchors are what whoever verifies trusts: keys, and a checkpoint that was kept. Either may
// be nil.
func (f *keyFlags) anchors() (note.Verifiers, *receipts.Head, error) {
	keys, err := f.verifiers()
	if err != nil {
		return nil, nil, err
	}
	head, err := f.kept(keys)
	return keys, head, err
}

const auditLong = `Hold the whole store together: every record against its hash, the log
against the records, the projection against the log. Each finding names the record.

With --since the log must begin with what a kept checkpoint covers: that finds records
that were cut off, a store that was rolled back, rewritten or replaced. With --key
records that none of the keys signed are named, as far as a head that they signed
goes; --all-signed also fails for them. Without --since nobody can tell whether the last records are missing.`

func newReceiptsAudit(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store, bundle string
		unsigned      bool
		json          bool
	}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "check the whole store against its log, and name what was changed",
		Long:  auditLong,
		Example: `  dialect receipts audit
  dialect receipts checkpoint >checkpoint.txt     # keep it elsewhere
  dialect receipts audit --since checkpoint.txt --key boss.pub`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			keys, kept, err := f.anchors()
			if err != nil {
				return err
			}
			if f.bundle != "" {
				return auditBundle(u, f.bundle, keys, kept, f.json)
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				a, err := s.Audit(ctx, kept)
				if err != nil {
					return err
				}
				if f.json {
					err = writeJSON(u, records.NewAudit(a, keys != nil))
				} else {
					err = records.TellAudit(u.out, a, keys != nil)
				}
				if err == nil && (a.Tampered() || f.unsigned && len(a.Findings) > 0) {
					return exit.Status(exit.Refused)
				}
				return err
			})
		},
	}
	f.keyFlags.add(cmd)
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "audit the bundle in `FILE` (- for standard input) instead of a store")
	cmd.Flags().BoolVar(&f.unsigned, "all-signed", false, "also fail for records that no --key signed and a signed checkpoint covers")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

func newReceiptsCheckpoint(u *ui) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "print the checkpoint of the log, to be kept elsewhere",
		Long: `Print the checkpoint of the log: the store's origin, the number of records and the root
over them, signed if the last writer had a key. Kept in any place that the store's
owner cannot change, it finds later what was cut off, rolled back or rewritten:
dialect receipts audit --since FILE.`,
		Example: "  dialect receipts checkpoint >checkpoint.txt",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withStore(store, true, func(ctx context.Context, s *sqlite.Store) error {
				_, text, err := s.Checkpoint(ctx)
				if err != nil {
					return notFound(err)
				}
				_, err = u.out.Write(text)
				return err
			})
		},
	}
	addStoreFlag(cmd, &store)
	return cmd
}
