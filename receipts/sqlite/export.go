package sqlite

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A Head is the state of a log: whoever keeps one can tell later whether records
// were taken away or changed.
type Head struct {
	Origin string // of the store
	Count  int64  // records
	Root   tlog.Hash
}

// Export calls f for each record in the order of the log, as the store holds it
// and unjudged, and returns the head that belongs to them: all of it is of one
// moment. It ends at the first error of f.
func (s *Store) Export(ctx context.Context, f func(seq int64, sha receipts.Hash, r receipts.Record) error) (Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return Head{}, s.unusable(err)
	}
	defer func() { _, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	h, err := s.readHead(ctx)
	if err != nil {
		return Head{}, s.unusable(err)
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT seq, sha, kind, body FROM record ORDER BY seq")
	if err != nil {
		return Head{}, s.unusable(err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var sha, body []byte
		var kind string
		if err := rows.Scan(&seq, &sha, &kind, &body); err != nil {
			return Head{}, s.unusable(err)
		}
		if err := f(seq, hashOf(sha), receipts.Record{Kind: receipts.Kind(kind), Body: body}); err != nil {
			return Head{}, err
		}
	}
	return Head{Origin: h.origin, Count: h.count, Root: h.root}, s.unusable(rows.Err())
}
