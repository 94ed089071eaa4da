package store

import (
	"context"
	"encoding/json"
	"io"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/intoto"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/keyfd"
)

// lines returns what writes values to w as JSON, one a line.
func lines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// Export writes the whole log, unjudged: a record a line, and then its checkpoint.
func (p Place) Export(w io.Writer) error {
	return p.With(sqlite.Options{ReadOnly: true}, func(ctx context.Context, s *sqlite.Store) error {
		enc := lines(w)
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
		return enc.Encode(struct {
			Origin string        `json:"origin"`
			Count  int64         `json:"count"`
			Root   receipts.Hash `json:"root"`
		}{head.Origin, head.Count, receipts.Hash(head.Root)})
	})
}

// Bundle writes the records that ids name, all that they cover and the proofs of their places; since is a
// checkpoint that the log is shown to begin with, nil for none. Without ids a notary writes its whole log, as it is now.
func (p Place) Bundle(w io.Writer, since *receipts.Checkpoint, ids []string) error {
	if len(ids) == 0 {
		return p.wholeBundle(w)
	}
	b, err := read(p, func(ctx context.Context, s *sqlite.Store) (*receipts.Bundle, error) {
		b, err := s.Bundle(ctx, since, ids...)
		return b, notFound(err)
	})
	if err != nil {
		return err
	}
	return lines(w).Encode(b)
}

// InToto writes a statement for each receipt or gate that ids name, or for all; with the key that the
// descriptor keyFD holds, each in an envelope.
func (p Place) InToto(w io.Writer, keyFD string, ids []string) error {
	var key *intoto.Key
	if keyFD != "" {
		private, _, err := keyfd.Read(keyFD) // it signs, and runs nothing
		if err == nil {
			key, err = intoto.SigningKey(private)
		}
		var s *receipts.Signer
		if err == nil {
			s, err = receipts.NewSigner(private, true)
		}
		if err != nil {
			return exit.Usagef("--key-fd: %v", err)
		}
		p.Keys = s.Keys()
	}
	return p.With(sqlite.Options{ReadOnly: true}, func(ctx context.Context, s *sqlite.Store) error {
		es, err := s.AuthenticReceipts(ctx, ids...)
		if err != nil {
			return notFound(err)
		}
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
		return nil
	})
}
