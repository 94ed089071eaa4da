package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
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

// openBundle reads and verifies a bundle. What does not hold is returned as refused,
// what cannot be read as an error.
func openBundle(u *ui, file string, keys note.Verifiers, head *receipts.Head) (book *receipts.BundleBook, refused, err error) {
	in := io.Reader(u.in)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, usagef("cannot read the bundle: %v", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, receipts.MaxBundle+1))
	if err != nil {
		return nil, nil, usagef("cannot read the bundle: %v", err)
	}
	b, err := receipts.ParseBundle(text)
	if err != nil {
		return nil, err, nil
	}
	book, err = b.Verify(keys, head)
	return book, err, nil
}

// auditBundle is receipts verify --bundle: it judges no gate.
func auditBundle(u *ui, file string, keys note.Verifiers, head *receipts.Head, asJSON bool) error {
	book, refused, err := openBundle(u, file, keys, head)
	if err != nil {
		return err
	}
	unsigned := 0
	if refused == nil {
		for _, e := range book.Entries {
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
			HeadKey    string `json:"head_signed_by,omitempty"`
			HeadCount  int64  `json:"head_records,omitempty"`
			Truncation string `json:"truncation"`
		}{Schema: "dialect.bundle-audit/1", Consistent: refused == nil, Truncation: "not checked"}
		if refused != nil {
			doc.Problem = refused.Error()
		} else {
			doc.Origin, doc.Records, doc.Unsigned, doc.HeadKey, doc.HeadCount = book.Head.Origin, len(book.Entries), unsigned, book.Key, book.Head.Count
			if book.Since != nil {
				doc.Truncation = "checked"
			}
		}
		if err := writeJSON(u, doc); err != nil {
			return err
		}
	} else if refused == nil {
		signed := "the head is not signed by a key that was given"
		if book.Key != "" {
			signed = "the head is signed by " + book.Key
		}
		since := ""
		if book.Since != nil {
			since = fmt.Sprintf("; the log begins with the kept head of %d", book.Since.Count)
		}
		fmt.Fprintf(u.out, "consistent: %s of a log of %d, %d unsigned; %s%s\n", count(len(book.Entries), "record"), book.Head.Count, unsigned, signed, since)
		for _, e := range book.Entries {
			if e.Kind == receipts.KindGate {
				fmt.Fprintf(u.out, "  gate %s (trust L%d)\n", receipts.GateID(e.SHA), e.Level)
			}
		}
	} else {
		fmt.Fprintf(u.out, "TAMPERED: %s\n", printable(refused.Error()))
	}
	if refused != nil {
		return exitStatus(exitRefused)
	}
	return nil
}

// answerFromBundle answers the inquiry from a bundle, where no store is.
func (q *inquest) answerFromBundle(u *ui, file string, keys note.Verifiers, head *receipts.Head, id string) (*receipts.Answer, bool, error) {
	book, refused, err := openBundle(u, file, keys, head)
	if err != nil {
		return nil, false, err
	}
	if refused != nil {
		return &receipts.Answer{Verdict: receipts.VerdictTampered, Refusals: []receipts.Refusal{{Reason: receipts.Tampered, Message: refused.Error()}}}, false, nil
	}
	if id != "" {
		if q.Gate, err = bundleGate(book, id); err != nil {
			return nil, false, err
		}
	}
	a, err := receipts.Ask(q.Inquiry, book)
	if err != nil {
		return nil, false, err
	}
	a.Notes = append(a.Notes, "from a bundle: what came after it in the store is not known")
	return a, book.Since != nil && a.Gate != nil && a.Gate.Seq < book.Since.Count, nil
}

func bundleGate(b *receipts.BundleBook, id string) (receipts.Hash, error) {
	gates, err := b.Gates(0)
	if err != nil {
		return receipts.Hash{}, err
	}
	for _, e := range gates {
		if receipts.GateID(e.SHA) == id || e.SHA.String() == id {
			return e.SHA, nil
		}
	}
	return receipts.Hash{}, usagef("%v", errors.New("the bundle holds no final gate "+id))
}
