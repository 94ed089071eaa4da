package cli

import (
	"bufio"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

const exportLong = `Print the whole log as JSON lines: each record with its index, kind, hash and the
exact bytes of its body as a string, and last the head, with the root over them.
Nothing is judged: receipts/vectors/check.py, or anybody, can do that without
dialect.`

func newReceiptsExport(u *ui) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "print the whole log as JSON lines",
		Long:    exportLong,
		Example: `  dialect receipts export >log.jsonl && python3 receipts/vectors/check.py log.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
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
		},
	}
	addStoreFlag(cmd, &store)
	return cmd
}
