package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// An Audit is the answer of [Store.Verify].
type Audit struct {
	Origin   string // of the store
	Records  int64  // in the log
	Root     tlog.Hash
	Findings []Finding
}

// Consistent reports whether nothing was found. It does not say that the log is
// complete: that its last records are missing is seen only by whoever kept a head.
func (a *Audit) Consistent() bool { return len(a.Findings) == 0 }

// A Finding is one thing that is not as the log says.
type Finding struct {
	Seq     int64 // of the record; -1 if it is about the store as a whole
	SHA     receipts.Hash
	Message string
}

// Verify reads the whole store and holds all of it against the log: each record
// against its hash, each hash of the log against the records, the head against
// the root over them, and the projection against what the log says was consumed.
func (s *Store) Verify(ctx context.Context) (*Audit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// One snapshot: writers of other processes do not move the ground.
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, s.unusable(err)
	}
	defer func() { _, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	a, err := s.audit(ctx)
	return a, s.unusable(err)
}

// nodes is a log in memory, as a [tlog.HashReader].
type nodes []tlog.Hash

func (n nodes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, idx := range indexes {
		if idx >= int64(len(n)) {
			return nil, fmt.Errorf("no hash %d", idx)
		}
		out[i] = n[idx]
	}
	return out, nil
}

func (s *Store) audit(ctx context.Context) (*Audit, error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	a := &Audit{Origin: h.origin, Records: h.count, Root: h.root}
	find := func(seq int64, sha receipts.Hash, format string, args ...any) {
		a.Findings = append(a.Findings, Finding{seq, sha, fmt.Sprintf(format, args...)})
	}

	rows, err := s.conn.QueryContext(ctx, "SELECT seq, sha, kind, body FROM record ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var made nodes                                    // the log that the records make
	consumed := make(map[receipts.Hash]consumedState) // what the log says
	at := make(map[receipts.Hash]int64)
	next := int64(0)
	for rows.Next() {
		var seq int64
		var sha, body []byte
		var kind string
		if err := rows.Scan(&seq, &sha, &kind, &body); err != nil {
			return nil, err
		}
		claimed := hashOf(sha)
		rec := receipts.Record{Kind: receipts.Kind(kind), Body: body}
		if seq != next {
			find(next, receipts.Hash{}, "record %d is missing: the next one is %d", next, seq)
		}
		next = seq + 1
		if rec.SHA() != claimed {
			find(seq, claimed, "record %d was edited: its bytes have the hash %s", seq, rec.SHA().Short())
		}
		if seq >= h.count {
			find(seq, claimed, "record %d is not in the log, which has %d: a row was inserted", seq, h.count)
			continue
		}
		at[claimed] = seq
		v, err := rec.Parse()
		if err != nil {
			find(seq, claimed, "record %d cannot be read: %v", seq, err)
		}
		if c, ok := v.(*receipts.Consumption); ok {
			for _, m := range c.Consumed {
				if p, twice := consumed[m]; twice {
					find(seq, claimed, "record %d consumes %s, which record %d has consumed", seq, m.Short(), p.seq)
				}
				if _, there := at[m]; !there {
					find(seq, claimed, "record %d consumes %s, which no record before it is", seq, m.Short())
				}
				consumed[m] = consumedState{seq, c.By}
			}
		}
		if int64(len(made)) == tlog.StoredHashIndex(0, seq) {
			hs, err := tlog.StoredHashesForRecordHash(seq, rec.Leaf(), made)
			if err != nil {
				return nil, err
			}
			made = append(made, hs...)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if next < h.count {
		find(next, receipts.Hash{}, "records %d to %d are missing: the head counts %d", next, h.count-1, h.count)
	}
	if int64(len(made)) == tlog.StoredHashIndex(0, h.count) {
		if root := rootOf(h.count, made); root != h.root {
			find(-1, receipts.Hash{}, "the root over the %d records is not that of the head", h.count)
		}
	}
	if err := s.auditNodes(ctx, made, find); err != nil {
		return nil, err
	}
	return a, s.auditItems(ctx, at, consumed, find)
}

type consumedState struct {
	seq int64
	by  string
}

// auditNodes holds the stored hashes against those that the records make.
func (s *Store) auditNodes(ctx context.Context, made nodes, find func(int64, receipts.Hash, string, ...any)) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT idx, hash FROM node ORDER BY idx")
	if err != nil {
		return err
	}
	defer rows.Close()
	next := int64(0)
	for rows.Next() {
		var idx int64
		var b []byte
		if err := rows.Scan(&idx, &b); err != nil {
			return err
		}
		if idx != next {
			find(-1, receipts.Hash{}, "the hashes %d to %d of the log are missing", next, idx-1)
		}
		next = idx + 1
		if idx < int64(len(made)) && (len(b) != tlog.HashSize || tlog.Hash(b) != made[idx]) {
			level, n := tlog.SplitStoredHashIndex(idx)
			if level == 0 {
				find(n, receipts.Hash{}, "record %d is not what was logged", n)
			} else {
				find(-1, receipts.Hash{}, "the hash %d of the log (level %d) is not that of the records", idx, level)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if next < int64(len(made)) {
		find(-1, receipts.Hash{}, "the hashes %d to %d of the log are missing", next, len(made)-1)
	} else if next > int64(len(made)) {
		find(-1, receipts.Hash{}, "the log has hashes %d to %d of no record", len(made), next-1)
	}
	return nil
}

// auditItems holds the projection against the log.
func (s *Store) auditItems(ctx context.Context, at map[receipts.Hash]int64, consumed map[receipts.Hash]consumedState, find func(int64, receipts.Hash, string, ...any)) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT r.seq, r.sha, i.seq, i.kind = r.kind, i.consumed, i.consumption, i.consumed_by FROM record r LEFT JOIN item i USING(seq) ORDER BY r.seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var sha []byte
		var itemSeq, flag, consumption sql.NullInt64
		var same sql.NullBool
		var by sql.NullString
		if err := rows.Scan(&seq, &sha, &itemSeq, &same, &flag, &consumption, &by); err != nil {
			return err
		}
		h := hashOf(sha)
		if _, logged := at[h]; !logged {
			continue // named already
		}
		want, isConsumed := consumed[h]
		switch {
		case !itemSeq.Valid || !same.Bool:
			find(seq, h, "record %d has no row, or a wrong one, in the projection", seq)
		case isConsumed && flag.Int64 == 0:
			find(seq, h, "record %d was set back: record %d consumed it, and the projection says it is unconsumed", seq, want.seq)
		case isConsumed && (consumption.Int64 != want.seq || by.String != want.by):
			find(seq, h, "record %d: the projection has it consumed by somebody else than record %d says", seq, want.seq)
		case !isConsumed && (flag.Int64 != 0 || consumption.Valid):
			find(seq, h, "record %d: the projection has it consumed, and no record says so", seq)
		}
	}
	return rows.Err()
}
