package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// Get returns the record that id names: a SHA-256, a unique prefix of one, the
// g-... of a gate, the r-... of a run's start. The error is a [*verify.LookupError], or the store's.
// What consumed or settled it is read from the projection, which is not authenticated:
// [Store.Authentic] is.
func (s *Store) Get(ctx context.Context, id string) (receipts.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSchema(ctx); err != nil {
		return receipts.Entry{}, s.unusable(err)
	}
	e, err := s.get(ctx, id)
	return e, s.unusable(err)
}

// bodyColumn is the body of a row, or nothing where that is larger than any record: whatever stands there is not one.
var bodyColumn = fmt.Sprintf("CASE WHEN length(body) > %d THEN x'' ELSE body END", receipts.MaxBody)

var entryColumns = "SELECT r.seq, r.sha, r.kind, " + bodyColumn + ", r.signature, i.consumed_by, i.consumed_at, i.consumption, i.settlement FROM record r LEFT JOIN item i USING(seq) "

func (s *Store) get(ctx context.Context, text string) (receipts.Entry, error) {
	id, err := verify.ParseID(text)
	if err != nil {
		return receipts.Entry{}, err
	}
	var es []receipts.Entry
	switch {
	case id.Run != "":
		es, err = s.entries(ctx, entryColumns+"WHERE i.run = ? AND r.kind = 'run' LIMIT 1", id.Run)
	case id.Gate:
		es, err = s.entries(ctx, entryColumns+"WHERE r.sha BETWEEN ? AND ? AND r.kind = 'gate' ORDER BY r.sha LIMIT ?", blob(id.First), blob(id.Last), verify.MaxMatches)
	default:
		es, err = s.entries(ctx, entryColumns+"WHERE r.sha BETWEEN ? AND ? ORDER BY r.sha LIMIT ?", blob(id.First), blob(id.Last), verify.MaxMatches)
	}
	if err == nil && len(es) == 1 {
		return es[0], nil
	}
	if err == nil {
		e := &verify.LookupError{ID: id.Text}
		for _, m := range es {
			e.Matches = append(e.Matches, m.SHA)
		}
		err = e
	}
	return receipts.Entry{}, err
}

// entries runs a query for entryColumns, and checks each row against the log.
func (s *Store) entries(ctx context.Context, query string, args ...any) ([]receipts.Entry, error) {
	return s.rows(ctx, false, query, args...)
}

// rows is [Store.entries]; descending says that the query wants the newest first, and what it gives otherwise is an error.
func (s *Store) rows(ctx context.Context, descending bool, query string, args ...any) ([]receipts.Entry, error) {
	st, err := s.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var es []receipts.Entry
	var settled [][2]int64 // index in es, and seq of the settlement
	for rows.Next() {
		var e receipts.Entry
		var sha []byte
		var kind string
		var signature, by, at sql.NullString
		var consumption, settlement sql.NullInt64
		if err := rows.Scan(&e.Seq, &sha, &kind, &e.Body, &signature, &by, &at, &consumption, &settlement); err != nil {
			return nil, err
		}
		if f, ok := s.fresh[e.Seq]; ok && string(f.Kind) == kind && bytes.Equal(f.Body, e.Body) {
			e.Record = f // the same bytes, and parsed
		}
		e.SHA, e.Kind, e.Signature = hashOf(sha), receipts.Kind(kind), receipts.Signature(signature.String)
		if settlement.Valid {
			settled = append(settled, [2]int64{int64(len(es)), settlement.Int64})
		}
		if consumption.Valid {
			c := &receipts.ConsumedBy{By: by.String}
			c.At, _ = receipts.ParseTime(at.String) // a damaged one is for Verify to name
			if _, err := receipts.ParseHash(c.By); err == nil {
				c.Gate = true
			}
			e.Consumption = c
		}
		// A file that was changed can name its pages again and again.
		if n := len(es); descending && n > 0 && e.Seq >= es[n-1].Seq {
			return nil, fmt.Errorf("record %d follows record %d in a list of the newest first: the file was changed", e.Seq, es[n-1].Seq)
		}
		es = append(es, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	for i := range es {
		leaf, err := s.node(ctx, tlog.StoredHashIndex(0, es[i].Seq))
		es[i].InLog = err == nil && leaf == es[i].Leaf()
		if err := s.judgeSignature(ctx, &es[i]); err != nil {
			return nil, err
		}
	}
	for _, p := range settled {
		if err := s.settledBy(ctx, &es[p[0]], p[1]); err != nil {
			return nil, err
		}
	}
	return es, nil
}

// settledBy sets the settlement of e from the record at seq, if that is one of e.
func (s *Store) settledBy(ctx context.Context, e *receipts.Entry, seq int64) error {
	st, err := s.stmt(ctx, "SELECT sha, kind, body, signature FROM record WHERE seq = ? AND kind = 'settlement'")
	if err != nil {
		return err
	}
	by := receipts.Entry{Seq: seq}
	var sha []byte
	var signature sql.NullString
	switch err := st.QueryRowContext(ctx, seq).Scan(&sha, &by.Kind, &by.Body, &signature); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	by.SHA, by.Signature = hashOf(sha), receipts.Signature(signature.String)
	leaf, err := s.node(ctx, tlog.StoredHashIndex(0, seq))
	by.InLog = err == nil && leaf == by.Leaf()
	if err := s.judgeSignature(ctx, &by); err != nil {
		return err
	}
	e.Settle(by)
	return nil
}

// bySHA returns the record with a hash, for display and export.
func (s *Store) bySHA(ctx context.Context, sha receipts.Hash) (receipts.Entry, bool, error) {
	es, err := s.entries(ctx, entryColumns+"WHERE r.sha = ?", blob(sha))
	if err != nil || len(es) == 0 {
		return receipts.Entry{}, false, err
	}
	return es[0], true, nil
}

// below returns the hashes of records and of all that the gates among them took in.
func (s *Store) below(ctx context.Context, es []receipts.Entry) ([]receipts.Hash, error) {
	var all []receipts.Hash
	seen := make(map[receipts.Hash]bool)
	for len(es) > 0 {
		e := es[0]
		es = es[1:]
		if seen[e.SHA] {
			continue
		}
		seen[e.SHA] = true
		all = append(all, e.SHA)
		v, _ := e.Parse()
		for _, h := range receipts.TookIn(v) {
			m, ok, err := s.bySHA(ctx, h)
			if err != nil {
				return nil, err
			}
			if !ok {
				all = append(all, h)
				continue
			}
			es = append(es, m)
		}
	}
	return all, nil
}

// judgeSignature sets the level of e. What this process has signed itself it need
// not verify.
func (s *Store) judgeSignature(ctx context.Context, e *receipts.Entry) error {
	switch {
	case e.Signature == "" || s.keys == nil:
	case s.mine[e.SHA]:
		e.Level, e.Key = s.signer.Level(), s.signer.Name()
	default:
		h, err := s.readHead(ctx)
		if err != nil {
			return err
		}
		e.Level, e.Key = e.Signature.Check(h.origin, e.SHA, s.keys)
	}
	return nil
}
