package sqlite

import (
	"context"
	"database/sql"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// An Exported is a record as the store holds it, unjudged.
type Exported struct {
	Seq int64
	SHA receipts.Hash
	receipts.Record
	Signature receipts.Signature
}

// Export calls f for each record in the order of the log, as the store holds it
// and unjudged, and returns the checkpoint that belongs to them: all of it is of one
// moment. It ends at the first error of f.
func (s *Store) Export(ctx context.Context, f func(Exported) error) (receipts.Checkpoint, error) {
	var h head
	var failed error // f's
	err := s.snapshot(ctx, func() (err error) {
		if err := s.checkSchema(ctx); err != nil {
			return err // a view has no end
		}
		if h, err = s.readHead(ctx); err != nil {
			return err
		}
		rows, err := s.conn.QueryContext(ctx, "SELECT seq, sha, kind, "+bodyColumn+", signature FROM record ORDER BY seq")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() && failed == nil {
			var x Exported
			var sha []byte
			var signature sql.NullString
			if err := rows.Scan(&x.Seq, &sha, &x.Kind, &x.Body, &signature); err != nil {
				return err
			}
			x.SHA, x.Signature = hashOf(sha), receipts.Signature(signature.String)
			failed = f(x)
		}
		return rows.Err()
	})
	if failed != nil {
		return receipts.Checkpoint{}, failed
	}
	return h.public(), err
}

// Left returns the signed checkpoint of the log as the last commit of this process left it, whatever has become of the file since. It is empty where
// this process has no key, or has committed nothing. It may be asked of a closed store.
func (s *Store) Left() string {
	if s.signer == nil || s.last.Origin == "" {
		return ""
	}
	note, err := s.signer.SignCheckpoint(s.last)
	if err != nil {
		return "" // as for a log that was never signed
	}
	return string(note)
}

// Checkpoint returns the checkpoint of the log as text to keep: the signed note if the
// last writer had a key, else the three lines of [receipts.Checkpoint.Text].
// The log is read and authenticated first: what is kept is the checkpoint of the records that were read.
func (s *Store) Checkpoint(ctx context.Context) (h receipts.Checkpoint, text []byte, err error) {
	s.mu.Lock()
	s.remembering, s.memory = true, nil // the memory beside the store is for its writers to write
	s.mu.Unlock()
	err = s.read(ctx, func(v *verify.Session) error {
		h, text, err = v.Checkpoint()
		return err
	})
	return h, text, err
}
