package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
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
		Short: "hold the whole store against its log, and name what was changed",
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
				return tellAudit(u, a, keys != nil, f.unsigned, f.json)
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

// tellAudit prints what an audit found.
func tellAudit(u *ui, a *sqlite.Audit, keyed, allSigned, asJSON bool) error {
	truncation := "truncation not checked (no kept checkpoint)"
	if a.Since >= 0 {
		truncation = fmt.Sprintf("complete up to the kept checkpoint of %d", a.Since)
	}
	signatures := ""
	if keyed {
		signatures = fmt.Sprintf("; signed up to record %d, %d unsigned", a.Signed, a.Unsigned)
	}
	switch {
	case asJSON:
		if err := auditJSON(u, a, keyed); err != nil {
			return err
		}
	case a.Consistent():
		fmt.Fprintf(u.out, "consistent: %s, root %s; %s%s\n", diag.Number(int(a.Count), "record"), receipts.Hash(a.Root), truncation, signatures)
	default:
		for _, x := range a.Findings {
			word := "TAMPERED"
			if x.Unsigned {
				word = "UNSIGNED"
			}
			fmt.Fprintf(u.out, "%s: %s\n", word, diag.Printable(x.Message))
		}
	}
	for _, x := range a.Findings {
		if !x.Unsigned || allSigned {
			return exit.Status(exit.Refused)
		}
	}
	return nil
}

func auditJSON(u *ui, a *sqlite.Audit, keyed bool) error {
	type finding struct {
		Kind    string `json:"kind"` // "tampered" or "unsigned"
		Seq     int64  `json:"seq"`
		SHA256  string `json:"sha256,omitempty"`
		Message string `json:"message"`
	}
	doc := struct {
		Schema     string    `json:"schema"`
		Consistent bool      `json:"consistent"`
		Truncation string    `json:"truncation"` // "not checked" or "checked"
		Origin     string    `json:"origin"`
		Records    int64     `json:"records"`
		Root       string    `json:"root"`
		Signed     *int64    `json:"signed,omitempty"`
		Unsigned   *int64    `json:"unsigned,omitempty"`
		Findings   []finding `json:"findings"`
	}{Schema: "dialect.audit/1", Consistent: a.Consistent(), Truncation: "not checked", Origin: a.Origin, Records: a.Count, Root: receipts.Hash(a.Root).String(), Findings: []finding{}}
	if a.Since >= 0 {
		doc.Truncation = "checked"
	}
	if keyed {
		doc.Signed, doc.Unsigned = &a.Signed, &a.Unsigned
	}
	for _, x := range a.Findings {
		d := finding{Kind: "tampered", Seq: x.Seq, Message: x.Message}
		if x.Unsigned {
			d.Kind = "unsigned"
		}
		if !x.SHA.IsZero() {
			d.SHA256 = x.SHA.String()
		}
		doc.Findings = append(doc.Findings, d)
	}
	return writeJSON(u, doc)
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
					return err
				}
				_, err = u.out.Write(text)
				return err
			})
		},
	}
	addStoreFlag(cmd, &store)
	return cmd
}
