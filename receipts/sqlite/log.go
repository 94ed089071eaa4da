package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A head is the state of the log: how many records, and the root over them.
type head struct {
	origin string
	count  int64
	root   tlog.Hash
}

// An appender appends to the log within a transaction.
type appender struct {
	s    *Store
	ctx  context.Context
	head head
	// nodes holds the stored hashes that were read or made in this transaction.
	nodes map[int64]tlog.Hash
}

func (s *Store) beginAppend(ctx context.Context) (*appender, error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	return &appender{s: s, ctx: ctx, head: h, nodes: make(map[int64]tlog.Hash)}, nil
}

func (s *Store) readHead(ctx context.Context) (head, error) {
	var h head
	var root []byte
	st, err := s.stmt(ctx, "SELECT origin, count, root FROM head WHERE id = 1")
	if err != nil {
		return h, err
	}
	if err := st.QueryRowContext(ctx).Scan(&h.origin, &h.count, &root); err != nil {
		return h, fmt.Errorf("its head cannot be read: %w", err)
	}
	if len(root) != tlog.HashSize {
		return h, errors.New("its head is damaged")
	}
	copy(h.root[:], root)
	return h, nil
}

// ReadHashes implements [tlog.HashReader].
func (w *appender) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, idx := range indexes {
		h, ok := w.nodes[idx]
		if !ok {
			var err error
			if h, err = w.s.node(w.ctx, idx); err != nil {
				return nil, err
			}
			w.nodes[idx] = h
		}
		out[i] = h
	}
	return out, nil
}

// node reads one stored hash of the log.
func (s *Store) node(ctx context.Context, idx int64) (h tlog.Hash, err error) {
	st, err := s.stmt(ctx, "SELECT hash FROM node WHERE idx = ?")
	if err != nil {
		return h, err
	}
	var b []byte
	switch err := st.QueryRowContext(ctx, idx).Scan(&b); {
	case errors.Is(err, sql.ErrNoRows), err == nil && len(b) != tlog.HashSize:
		return h, fmt.Errorf("its log is damaged: the hash %d is missing", idx)
	case err != nil:
		return h, err
	}
	copy(h[:], b)
	return h, nil
}

func (w *appender) appendAll(rs []receipts.Record) error {
	for _, r := range rs {
		if err := w.append(r); err != nil {
			return err
		}
	}
	return nil
}

// append appends one record, unless the store holds it.
func (w *appender) append(r receipts.Record) error {
	sha := r.SHA()
	st, err := w.s.stmt(w.ctx, "INSERT INTO record(seq, sha, kind, body) VALUES (?, ?, ?, ?) ON CONFLICT(sha) DO NOTHING")
	if err != nil {
		return err
	}
	seq := w.head.count
	res, err := st.ExecContext(w.ctx, seq, blob(sha), string(r.Kind), r.Body)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	hashes, err := tlog.StoredHashesForRecordHash(seq, r.Leaf(), w)
	if err != nil {
		return err
	}
	if st, err = w.s.stmt(w.ctx, "INSERT INTO node(idx, hash) VALUES (?, ?)"); err != nil {
		return err
	}
	at := tlog.StoredHashIndex(0, seq)
	for i, h := range hashes {
		idx := at + int64(i)
		if _, err := st.ExecContext(w.ctx, idx, h[:]); err != nil {
			return err
		}
		w.nodes[idx] = h
	}
	w.head.count++
	return w.project(seq, r)
}

// project adds what the log says in a record to the projection.
func (w *appender) project(seq int64, r receipts.Record) error {
	v, err := r.Parse()
	if err != nil {
		return err
	}
	var it item
	switch b := v.(type) {
	case *receipts.Run:
		it = item{run: b.Run, session: b.Session, started: b.Started}
	case *receipts.Receipt:
		it = item{run: b.Run, session: b.Session, binding: b.Binding, status: string(b.Status), line: b.Line.Number, started: b.Timestamp}
	case *receipts.Gate:
		it = item{run: b.Run, session: b.Session, status: string(receipts.Succeeded), line: b.Covers.LastLine, started: b.Timestamp}
	case *receipts.Consumption:
		it = item{started: b.Timestamp}
		if err := w.consume(seq, b); err != nil {
			return err
		}
	}
	st, err := w.s.stmt(w.ctx, "INSERT INTO item(seq, kind, run, session, binding, status, line, started) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	_, err = st.ExecContext(w.ctx, seq, string(r.Kind), it.run, it.session, it.binding, it.status, it.line, it.started.String())
	return err
}

// An item is a row of the projection.
type item struct {
	run, session, binding, status string
	line                          int
	started                       receipts.Time
}

// consume marks what a consumption names.
func (w *appender) consume(seq int64, c *receipts.Consumption) error {
	st, err := w.s.stmt(w.ctx, "UPDATE item SET consumed = 1, consumed_by = ?, consumed_at = ?, consumption = ? WHERE seq = (SELECT seq FROM record WHERE sha = ?) AND consumed = 0")
	if err != nil {
		return err
	}
	for _, h := range c.Consumed {
		res, err := st.ExecContext(w.ctx, c.By, c.Timestamp.String(), seq, blob(h))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("%s cannot be consumed: it is not there, or was consumed before (%w)", h.Short(), errors.Join(err))
		}
	}
	return nil
}

// finish writes the new head.
func (w *appender) finish() error {
	root, err := tlog.TreeHash(w.head.count, w)
	if err != nil {
		return err
	}
	st, err := w.s.stmt(w.ctx, "UPDATE head SET count = ?, root = ?, note = NULL WHERE id = 1")
	if err != nil {
		return err
	}
	_, err = st.ExecContext(w.ctx, w.head.count, root[:])
	return err
}
