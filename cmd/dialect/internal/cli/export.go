package cli

import (
	"bufio"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/receipts"
)

const exportLong = `Print receipts for use without the store.

--format jsonl, the default, prints the whole log as JSON lines: each record with its index, kind,
hash, signature and the exact bytes of its body as a string, and last the checkpoint with the root
over them. Nothing is judged: receipts/vectors/check.py, or any other program, can do that.

--format intoto ID... prints one in-toto Statement v1 with a link v0.3 predicate for each receipt or
gate, one a line; without IDs, for all. With --key-fd each is signed, in a DSSE envelope.

--bundle ID... prints one JSON document with the named gates or receipts, all that they cover,
a proof of each record's place in the log, and the checkpoint. "verify --bundle" reads it
where there is no store. Without IDs a notary is asked for its whole log.`

func newReceiptsExport(u *ui) *cobra.Command {
	var f struct {
		store, since, format, keyFD string
		bundle                      bool
	}
	cmd := &cobra.Command{
		Use:   "export [ID...]",
		Short: "print the log, or a bundle of some receipts with their proofs",
		Long:  exportLong,
		Example: `  dialect receipts export >log.jsonl && python3 receipts/vectors/check.py log.jsonl
  dialect receipts export --bundle g-8fc71b27dd92 >proof.json
  dialect verify --bundle proof.json --tree HEAD --require quality --key boss.pub`,
		ValidArgsFunction: completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.bundle && cmd.Flags().Changed("format"):
				return exit.Usagef("--bundle and --format exclude each other: a bundle has a form of its own")
			case f.since != "" && !f.bundle:
				return exit.Usagef("--since is shown in a bundle: say --bundle ID...")
			case f.keyFD != "" && f.format != "intoto":
				return exit.Usagef("--key-fd signs statements: say --format intoto")
			}
			p, w := store.Place{Name: f.store}, bufio.NewWriter(u.Out)
			var err error
			switch {
			case f.bundle:
				var kept *receipts.Checkpoint
				if kept, err = store.ReadCheckpoint(f.since, nil); err == nil {
					err = p.Bundle(w, kept, args)
				}
			case f.format == "jsonl" && len(args) > 0:
				return exit.Usagef("--format jsonl is the whole log: leave %s out, or say --bundle", quoteArgs(args))
			case f.format == "jsonl":
				err = p.Export(w)
			case f.format == "intoto":
				err = p.InToto(w, f.keyFD, args)
			default:
				return exit.Usagef("--format %q: want jsonl or intoto", f.format)
			}
			if err != nil {
				return err
			}
			return w.Flush()
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.format, "format", "jsonl", "print as `FORMAT`: jsonl or intoto")
	fl.StringVar(&f.keyFD, "key-fd", "", "with intoto: sign with the key that the file descriptor `N` holds")
	fl.BoolVar(&f.bundle, "bundle", false, "print a bundle of the named records")
	fl.StringVar(&f.since, "since", "", "show in the bundle that the log begins with the checkpoint that was kept in `FILE`, and all records that it covers")
	addStoreFlag(cmd, &f.store)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "intoto"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
