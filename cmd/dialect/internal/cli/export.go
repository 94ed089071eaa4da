package cli

import (
	"bufio"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/intoto"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/keyfd"
)

const exportLong = `Print receipts for use without the store.

--format jsonl, the default, is the whole log as JSON lines: each record with its index,
kind, hash, signature and the exact bytes of its body as a string, and last the head,
with the root over them. Nothing is judged: receipts/vectors/check.py, or anybody, can do
that without dialect.

--format intoto ID... is an in-toto Statement v1 with a link v0.3 predicate for each receipt or
gate, a line each; without IDs, of all. With --key-fd each is signed, in a DSSE envelope.

--bundle ID... is one JSON document with the named gates or receipts, all that they
cover, a proof of the place of each in the log, and the checkpoint: "verify --bundle" reads it
where no store is.`

func newReceiptsExport(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store, format, keyFD string
		bundle               bool
	}
	cmd := &cobra.Command{
		Use:   "export [ID...]",
		Short: "print the log, or a bundle of some receipts with their proofs",
		Long:  exportLong,
		Example: `  dialect receipts export >log.jsonl && python3 receipts/vectors/check.py log.jsonl
  dialect receipts export --bundle g-8fc71b27dd92 >proof.json
  dialect verify --bundle proof.json --tree HEAD --require quality --key boss.pub`,
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.bundle && len(args) == 0:
				return exit.Usagef("--bundle needs the IDs of gates or receipts").Hint("`dialect receipts list` shows them")
			case f.bundle:
				head, err := f.kept(nil)
				if err != nil {
					return err
				}
				return exportBundle(u, f.store, head, args)
			case f.format == "jsonl" && len(args) > 0:
				return exit.Usagef("--format jsonl is the whole log: leave %s out, or say --bundle", quoteArgs(args))
			case f.format == "jsonl":
				return exportLog(u, f.store)
			case f.format == "intoto":
				return exportInToto(u, f.store, f.keyFD, args)
			}
			return exit.Usagef("--format %q: want jsonl or intoto", f.format)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.format, "format", "jsonl", "print as `FORMAT`: jsonl or intoto")
	fl.StringVar(&f.keyFD, "key-fd", "", "with intoto: sign with the key that the file descriptor `N` holds")
	fl.BoolVar(&f.bundle, "bundle", false, "print a bundle of the named records")
	fl.StringVar(&f.since, "since", "", "show in the bundle that the log begins with the checkpoint that was kept in `FILE`")
	addStoreFlag(cmd, &f.store)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "intoto"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// exportInToto writes a statement or an envelope for each record that ids name.
func exportInToto(u *ui, store, keyFD string, ids []string) error {
	var key *intoto.Key
	o := sqlite.Options{ReadOnly: true}
	if keyFD != "" {
		private, err := keyfd.Read(keyFD)
		if err == nil {
			key, err = intoto.SigningKey(private)
		}
		if err == nil {
			var s *receipts.Signer
			if s, err = receipts.NewSigner(private, true); err == nil {
				o.Keys = s.Keys()
			}
		}
		if err != nil {
			return exit.Usagef("--key-fd: %v", err)
		}
	}
	return withStoreOf(store, o, func(ctx context.Context, s *sqlite.Store) error {
		es, err := s.AuthenticReceipts(ctx, ids...)
		if err != nil {
			return notFound(err)
		}
		w := bufio.NewWriter(u.out)
		for _, e := range es {
			// An envelope says that its key stands for what is in it.
			if key != nil && e.Key == "" {
				if len(ids) == 0 {
					continue
				}
				return exit.Failf(exit.Refused, "%s is not signed by that key: an envelope would say that the key stands for it", e.SHA.Short())
			}
			out, err := intoto.Export(e.Record)
			if err == nil && key != nil {
				out, err = key.Sign(out)
			}
			if err != nil {
				return exit.Failf(exit.Failed, "%s: %v", e.SHA.Short(), err)
			}
			if _, err := w.Write(append(out, '\n')); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

func exportLog(u *ui, store string) error {
	return withStore(store, true, func(ctx context.Context, s *sqlite.Store) error {
		w := bufio.NewWriter(u.out)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		head, err := s.Export(ctx, func(e sqlite.Exported) error {
			return enc.Encode(struct {
				Seq       int64              `json:"seq"`
				Kind      receipts.Kind      `json:"kind"`
				SHA256    receipts.Hash      `json:"sha256"`
				Body      string             `json:"body"`
				Signature receipts.Signature `json:"signature,omitempty"`
			}{e.Seq, e.Kind, e.SHA, string(e.Body), e.Signature})
		})
		if err != nil {
			return err
		}
		if err := enc.Encode(struct {
			Origin string        `json:"origin"`
			Count  int64         `json:"count"`
			Root   receipts.Hash `json:"root"`
		}{head.Origin, head.Count, receipts.Hash(head.Root)}); err != nil {
			return err
		}
		return w.Flush()
	})
}
