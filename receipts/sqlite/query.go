package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A NotFoundError says that no record has an id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "no record " + e.ID }

// An AmbiguousError says that several records have a prefix.
type AmbiguousError struct {
	ID      string
	Matches []receipts.Hash // at most 8
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Matches))
	for i, h := range e.Matches {
		names[i] = h.String()[:min(64, max(len(e.ID)+4, 16))]
	}
	return fmt.Sprintf("%s is not unique: %s", e.ID, strings.Join(names, ", "))
}

// An IDError says that a text cannot be the id of a record.
type IDError struct{ ID string }

func (e *IDError) Error() string {
	return fmt.Sprintf("%q is not an id: want a SHA-256, a prefix of at least 6 hex digits, g-... or r-...", e.ID)
}

const minPrefix = 6 // hex digits

// Get returns the record that id names: a SHA-256, a unique prefix of one, the
// g-... of a gate, the r-... of a run's start. The error is an [*IDError],
// [*NotFoundError] or [*AmbiguousError], or the store's. What consumed or settled it is
// read from the projection, which is not authenticated: [Store.Authentic] is.
func (s *Store) Get(ctx context.Context, id string) (receipts.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSchema(ctx); err != nil {
		return receipts.Entry{}, s.unusable(err)
	}
	e, err := s.get(ctx, id)
	return e, s.lookupError(err)
}

// lookupError wraps err unless it is an answer about an id.
func (s *Store) lookupError(err error) error {
	var bad *IDError
	var none *NotFoundError
	var many *AmbiguousError
	if errors.As(err, &bad) || errors.As(err, &none) || errors.As(err, &many) {
		return err
	}
	return s.unusable(err)
}

const entryColumns = "SELECT r.seq, r.sha, r.kind, r.body, r.signature, i.consumed_by, i.consumed_at, i.consumption, i.settlement FROM record r LEFT JOIN item i USING(seq) "

func (s *Store) get(ctx context.Context, id string) (receipts.Entry, error) {
	id = strings.TrimSpace(id)
	if strings.HasPrefix(id, "r-") {
		es, err := s.entries(ctx, entryColumns+"WHERE i.run = ? AND r.kind = 'run' LIMIT 1", id)
		if err == nil && len(es) == 0 {
			err = &NotFoundError{id}
		}
		if err != nil {
			return receipts.Entry{}, err
		}
		return es[0], nil
	}
	prefix, isGate := strings.CutPrefix(strings.ToLower(id), "g-")
	if len(prefix) < minPrefix || len(prefix) > 64 {
		return receipts.Entry{}, &IDError{id}
	}
	from, to, err := hexRange(prefix)
	if err != nil {
		return receipts.Entry{}, &IDError{id}
	}
	q := entryColumns + "WHERE r.sha BETWEEN ? AND ? "
	if isGate {
		q += "AND r.kind = 'gate' "
	}
	es, err := s.entries(ctx, q+"ORDER BY r.sha LIMIT 8", from, to)
	switch {
	case err != nil:
		return receipts.Entry{}, err
	case len(es) == 0:
		return receipts.Entry{}, &NotFoundError{id}
	case len(es) > 1:
		e := &AmbiguousError{ID: id}
		for _, m := range es {
			e.Matches = append(e.Matches, m.SHA)
		}
		return receipts.Entry{}, e
	}
	return es[0], nil
}

// entries runs a query for entryColumns, and holds each row against the log.
func (s *Store) entries(ctx context.Context, query string, args ...any) ([]receipts.Entry, error) {
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
		if f, ok := s.fresh[hashOf(sha)]; ok && string(f.Kind) == kind && bytes.Equal(f.Body, e.Body) {
			e.Record = f // the same bytes, and parsed
		}
		e.SHA, e.Kind, e.Signature = hashOf(sha), receipts.Kind(kind), receipts.Signature(signature.String)
		if settlement.Valid {
			settled = append(settled, [2]int64{int64(len(es)), settlement.Int64})
		}
		if consumption.Valid {
			c := &receipts.ConsumedBy{By: by.String, Seq: consumption.Int64}
			c.At, _ = receipts.ParseTime(at.String) // a damaged one is for Verify to name
			if _, err := receipts.ParseHash(c.By); err == nil {
				c.Gate = true
			}
			e.Consumption = c
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
		g, ok := v.(*receipts.Gate)
		if !ok {
			continue
		}
		for _, h := range slices.Concat(g.Members, g.Nested) {
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
