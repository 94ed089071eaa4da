package store

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// last returns the receipts that f narrows to, and what the last of them says; nil if there is none.
func last(ctx context.Context, s *sqlite.Store, f Filter) ([]receipts.Entry, *receipts.Receipt, error) {
	f.Kinds = []receipts.Kind{receipts.KindReceipt}
	es, err := s.List(ctx, f)
	if err != nil || len(es) == 0 {
		return nil, nil, err
	}
	v, _ := es[len(es)-1].Parse()
	r, _ := v.(*receipts.Receipt)
	return es, r, nil
}

// Last says in a line what receipts a binding has; empty if the store cannot be read.
func (p Place) Last(binding string) (text string) {
	ctx := context.Background()
	_ = p.peek(ctx, func(s *sqlite.Store) {
		es, r, err := last(ctx, s, Filter{Binding: binding})
		switch {
		case err == nil && len(es) == 0:
			text = "none"
		case r != nil:
			text = fmt.Sprintf("%d; the last is %s, %s, %s", len(es), es[len(es)-1].SHA.Short(), r.Status, records.Stamp(r.Timestamp.Time))
		}
	})
	return text
}

// lookLong bounds how long [OnTree] looks at the files of a project.
const lookLong = 3 * time.Second

// OnTree says in a line what the store of the project of m knows of a step on the present files.
func OnTree(ctx context.Context, step *plan.Step, m *plan.Matrix) (text string) {
	ctx, cancel := context.WithTimeout(ctx, lookLong)
	defer cancel()
	path := archive.Store(m.Root)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	err := Place{Name: path}.peek(ctx, func(s *sqlite.Store) {
		_, ever, _ := last(ctx, s, Filter{Binding: step.Binding, Limit: 1})
		if ever == nil {
			text = "none yet"
			return
		}
		text = fmt.Sprintf("the last is %s, %s", ever.Status, records.Stamp(ever.Timestamp.Time))
		snap, err := workspace.Take(ctx, m.Root, workspace.Options{Caches: m.Caches, Except: archive.Except(m.Root, path)})
		if err != nil {
			return
		}
		_, now, _ := last(ctx, s, Filter{Binding: step.Binding, Tree: &receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes}, Limit: 1})
		if now == nil {
			text = "none on the present files; " + text
			return
		}
		text = fmt.Sprintf("%s on the present files, %s", now.Status, records.Stamp(now.Timestamp.Time))
	})
	if err != nil {
		return fmt.Sprintf("the store cannot be read: %v", err)
	}
	return text
}

// peek opens the store to read it, for a caller that can do without.
func (p Place) peek(ctx context.Context, f func(s *sqlite.Store)) error {
	path, err := p.Path()
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	f(s)
	return nil
}
