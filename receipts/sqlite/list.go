package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A Filter narrows List. Empty members do not narrow.
type Filter struct {
	Kinds   []receipts.Kind // default: receipts and gates
	Session string
	Run     string
	Binding string
	Status  receipts.Status
	Since   time.Time // by the clock of the record's writer
	Tree    *receipts.Tree
	Unspent bool  // not consumed
	From    int64 // the first record of the log to look at
	Limit   int   // the newest so many; 0 for all
}

// List returns records in the order of the log.
func (s *Store) List(ctx context.Context, f Filter) ([]receipts.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSchema(ctx); err != nil {
		return nil, s.unusable(err)
	}
	if len(f.Kinds) == 0 {
		f.Kinds = []receipts.Kind{receipts.KindReceipt, receipts.KindGate}
	}
	marks := make([]string, len(f.Kinds))
	var args []any
	for i, k := range f.Kinds {
		marks[i] = "?"
		args = append(args, string(k))
	}
	where := []string{"r.kind IN (" + strings.Join(marks, ", ") + ")"}
	for _, c := range []struct{ column, value string }{
		{"session", f.Session}, {"run", f.Run}, {"binding", f.Binding}, {"status", string(f.Status)},
	} {
		if c.value != "" {
			where = append(where, "i."+c.column+" = ?")
			args = append(args, c.value)
		}
	}
	if !f.Since.IsZero() {
		where = append(where, "i.started >= ?")
		args = append(args, receipts.Time{Time: f.Since}.String())
	}
	if f.Tree != nil {
		cond, arg := ofTree(*f.Tree)
		where = append(where, cond)
		args = append(args, arg)
	}
	if f.From > 0 {
		where = append(where, "r.seq >= ?")
		args = append(args, f.From)
	}
	if f.Unspent {
		where = append(where, "i.consumed = 0")
	}
	q := entryColumns + "WHERE " + strings.Join(where, " AND ") + " ORDER BY r.seq DESC"
	if f.Limit > 0 {
		q += fmt.Sprintf(" LIMIT %d", f.Limit)
	}
	es, err := s.rows(ctx, true, q, args...)
	if err != nil {
		return nil, s.unusable(err)
	}
	slices.Reverse(es)
	return es, nil
}

// ofTree is the condition that a row of the projection is of a tree.
func ofTree(t receipts.Tree) (condition string, arg any) {
	if t.Bytes.IsZero() {
		return "i.gittree = ?", t.Tree
	}
	return "i.tree = ?", blob(t.Bytes)
}
