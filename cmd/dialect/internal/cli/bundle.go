package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/records"
)

// exportBundle writes a bundle of the records that ids name.
func exportBundle(u *ui, store string, since *receipts.Head, ids []string) error {
	return withStore(store, true, func(ctx context.Context, s *sqlite.Store) error {
		b, err := s.Bundle(ctx, since, ids...)
		if err != nil {
			return notFound(err)
		}
		w := bufio.NewWriter(u.out)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b); err != nil {
			return err
		}
		return w.Flush()
	})
}

// auditBundle is receipts audit --bundle: it judges no gate.
func auditBundle(u *ui, file string, keys note.Verifiers, head *receipts.Head, asJSON bool) error {
	book, refused, err := inquiry.OpenBundle(u.in, file, keys, head)
	if err != nil {
		return err
	}
	var entries []receipts.Entry
	unsigned := 0
	if refused == nil {
		entries = book.Entries()
		for _, e := range entries {
			if e.Key == "" {
				unsigned++
			}
		}
	}
	if asJSON {
		doc := struct {
			Schema     string `json:"schema"`
			Consistent bool   `json:"consistent"`
			Problem    string `json:"problem,omitempty"`
			Origin     string `json:"origin,omitempty"`
			Records    int    `json:"records"`
			Unsigned   int    `json:"unsigned"`
			HeadKey    string `json:"checkpoint_signed_by,omitempty"`
			HeadCount  int64  `json:"checkpoint_records,omitempty"`
			Truncation string `json:"truncation"`
		}{Schema: "dialect.bundle-audit/1", Consistent: refused == nil, Truncation: "not checked"}
		if refused != nil {
			doc.Problem = refused.Error()
		} else {
			h := book.Head()
			doc.Origin, doc.Records, doc.Unsigned, doc.HeadKey, doc.HeadCount = h.Origin, len(entries), unsigned, book.HeadKey(), h.Count
			if head != nil {
				doc.Truncation = "checked"
			}
		}
		if err := writeJSON(u, doc); err != nil {
			return err
		}
	} else if refused == nil {
		signed := "the checkpoint is not signed by a key that was given"
		if key := book.HeadKey(); key != "" {
			signed = "the checkpoint is signed by " + key
		}
		since := ""
		if head != nil {
			since = fmt.Sprintf("; the log begins with the kept checkpoint of %d", head.Count)
		}
		fmt.Fprintf(u.out, "consistent: %s of a log of %d, %d unsigned; %s%s\n", diag.Number(len(entries), "record"), book.Head().Count, unsigned, signed, since)
		for _, e := range entries {
			if e.Kind == receipts.KindGate {
				fmt.Fprintf(u.out, "  gate %s (%s)\n", receipts.GateID(e.SHA), records.RecordedBy(e.Level, e.Key))
			}
		}
	} else {
		fmt.Fprintf(u.out, "TAMPERED: %s\n", diag.Printable(refused.Error()))
	}
	if refused != nil {
		return exit.Status(exit.Refused)
	}
	return nil
}
