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
	Since   time.Time // by the clock of whoever wrote the record
	Tree    *receipts.Tree
	Unspent bool  // not consumed
	From    int64 // the first record of the log to look at
	Limit   int   // the newest so many; 0 for all
}

// List returns records in the order of the log.
func (s *Store) List(ctx context.Context, f Filter) ([]receipts.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	es, err := s.entries(ctx, q, args...)
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

// Ask answers an inquiry, in one snapshot of the store.
func (s *Store) Ask(ctx context.Context, in receipts.Inquiry) (*receipts.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, s.unusable(err)
	}
	defer func() { _, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	a, err := receipts.Ask(in, book{s, ctx})
	return a, s.unusable(err)
}

// Passed returns the last receipt of a command on a tree, if it says that the
// command succeeded and nobody settled, repeated or accepted anything to get there.
func (s *Store) Passed(ctx context.Context, command receipts.Hash, t receipts.Tree) (receipts.Entry, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cond, arg := ofTree(t)
	es, err := s.entries(ctx, entryColumns+"WHERE i.command = ? AND "+cond+" ORDER BY r.seq DESC LIMIT 1", blob(command), arg)
	if err != nil || len(es) == 0 || receipts.Valid(es[0]) != nil {
		return receipts.Entry{}, false, s.unusable(err)
	}
	return es[0], true, nil
}

// Counted returns the last receipt of a success of a command under a binding that counted
// tests, those of run apart. Of the binding's receipts the newest 200 are looked at.
func (s *Store) Counted(ctx context.Context, binding string, command receipts.Hash, run string) (receipts.Entry, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	es, err := s.entries(ctx, entryColumns+"WHERE r.seq IN (SELECT seq FROM item INDEXED BY item_binding WHERE binding = ? AND binding <> '' ORDER BY seq DESC LIMIT 200) AND i.command = ? AND i.status = 'succeeded' AND i.run <> ? ORDER BY r.seq DESC", binding, blob(command), run)
	if err != nil {
		return receipts.Entry{}, false, s.unusable(err)
	}
	for _, e := range es {
		v, _ := e.Parse()
		if r, ok := v.(*receipts.Receipt); ok && r.Tests != nil && receipts.Valid(e) == nil {
			return e, true, nil
		}
	}
	return receipts.Entry{}, false, nil
}

// An UnfinishedRun is one that began and has neither a gate nor a receipt of each
// command that it planned.
type UnfinishedRun struct {
	Run, Script string
	Seq         int64
	Started     receipts.Time
}

// Unfinished returns the runs, at most a hundred, the newest first, that began on a
// tree and did not end: whoever kills a run before it says no leaves that trace.
func (s *Store) Unfinished(ctx context.Context, t *receipts.Tree) ([]UnfinishedRun, error) {
	if t == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cond, arg := ofTree(*t)
	es, err := s.entries(ctx, entryColumns+"WHERE "+cond+" AND i.kind = 'run' AND NOT EXISTS (SELECT 1 FROM item g WHERE g.run = i.run AND g.kind = 'gate') ORDER BY r.seq DESC LIMIT 100", arg)
	if err != nil {
		return nil, s.unusable(err)
	}
	var list []UnfinishedRun
	for _, e := range es {
		v, _ := e.Parse()
		r, ok := v.(*receipts.Run)
		if !ok {
			continue
		}
		var steps int
		if err := s.conn.QueryRowContext(ctx, "SELECT count(DISTINCT json_extract(CAST(r.body AS TEXT), '$.step')) FROM record r JOIN item i USING(seq) WHERE i.run = ? AND i.kind = 'receipt'", r.Run).Scan(&steps); err != nil {
			return nil, s.unusable(err)
		}
		if steps < len(r.Planned)+r.More {
			list = append(list, UnfinishedRun{r.Run, r.Script.Path.Text, e.Seq, r.Started})
		}
	}
	return list, nil
}

// A book is the [receipts.Book] of the transaction that is under way.
type book struct {
	s   *Store
	ctx context.Context
}

func (b book) Record(sha receipts.Hash) (receipts.Entry, bool, error) {
	return b.one(entryColumns+"WHERE r.sha = ?", blob(sha))
}

func (b book) one(query string, args ...any) (receipts.Entry, bool, error) {
	es, err := b.s.entries(b.ctx, query, args...)
	if err != nil || len(es) == 0 {
		return receipts.Entry{}, false, err
	}
	return es[0], true, nil
}

func (b book) Failures(r *receipts.Receipt) ([]receipts.Entry, error) {
	if r.Workspace == nil {
		return nil, nil
	}
	cond, arg := ofTree(r.Workspace.Before)
	// Passes of the same command on the same tree may be many: a script that repeats a
	// line, or is run again and again. Without the index each gate would read them all.
	index := ""
	if b.s.failed {
		index = " INDEXED BY item_failed"
	}
	es, err := b.s.entries(b.ctx, entryColumns+"WHERE r.seq IN (SELECT i.seq FROM item i"+index+" WHERE i.command = ? AND "+cond+" AND i.status = 'failed') ORDER BY r.seq", blob(r.Command), arg)
	if err != nil {
		return nil, err
	}
	var list []receipts.Entry
	for _, e := range es {
		v, _ := e.Parse()
		if f, ok := v.(*receipts.Receipt); !ok || !f.Fails(r) {
			continue
		}
		accepted, err := b.accepted(e)
		if err != nil {
			return nil, err
		}
		if !accepted {
			list = append(list, e)
		}
	}
	return list, nil
}

// accepted reports whether a failure was accepted by a record of no lower level: who
// has no key cannot wave away what a key has signed.
func (b book) accepted(e receipts.Entry) (bool, error) {
	by, ok, err := b.one(entryColumns+"WHERE r.seq = (SELECT accepted FROM item WHERE seq = ?)", e.Seq)
	if err != nil || !ok {
		return false, err
	}
	v, _ := by.Parse()
	t, is := v.(*receipts.Trust)
	reason, _ := receipts.Intact(by)
	return is && reason == "" && by.Level >= e.Level && slices.Contains(t.Receipts, e.SHA), nil
}

func (b book) Nested(run string) ([]receipts.Entry, error) {
	es, err := b.s.entries(b.ctx, entryColumns+"WHERE i.parent > ? AND i.parent < ? AND i.kind = 'gate' AND i.consumed = 0 ORDER BY r.seq LIMIT 200", run+"/", run+"0")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(es, func(e receipts.Entry) bool {
		v, _ := e.Parse()
		g, ok := v.(*receipts.Gate)
		return !ok || !g.Final
	}), nil
}

func (b book) Gates(limit int) ([]receipts.Entry, error) {
	es, err := b.s.entries(b.ctx, entryColumns+"WHERE r.seq IN (SELECT seq FROM item INDEXED BY item_gate WHERE kind = 'gate' ORDER BY seq DESC LIMIT ?) ORDER BY r.seq DESC", limit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(es, func(e receipts.Entry) bool {
		v, _ := e.Parse()
		g, ok := v.(*receipts.Gate)
		return ok && !g.Final
	}), nil
}

// maxOnTree bounds how many receipts of one tree are looked at, the newest.
const maxOnTree = 2000

func (b book) OnTree(t receipts.Tree) ([]receipts.Entry, error) {
	cond, arg := ofTree(t)
	es, err := b.s.entries(b.ctx, entryColumns+"WHERE "+cond+" AND i.kind = 'receipt' ORDER BY r.seq DESC LIMIT ?", arg, maxOnTree)
	slices.Reverse(es)
	return es, err
}

func (b book) Before(binding string, seq int64) (receipts.Entry, bool, error) {
	return b.one(entryColumns+"WHERE r.seq = (SELECT max(seq) FROM item INDEXED BY item_binding WHERE binding = ? AND binding <> '' AND seq < ?)", binding, seq)
}
