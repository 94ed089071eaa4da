package verify

import (
	"slices"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestUngated names the receipts that a gate would take. Whatever is there, the verdict is no.
func TestUngated(t *testing.T) {
	elsewhere := receipts.Text("a")
	two := func(q *Query) {
		q.Require = append(q.Require, Requirement{Name: "vet", Binding: "check_vet", Command: receipts.CommandHash([]string{"vet"})})
	}
	for _, tt := range []struct {
		name string
		log  func(m *maker) []receipts.Hash // and what is to be named
		ask  func(*Query)
	}{
		{"left over", func(m *maker) []receipts.Hash { return []receipts.Hash{m.receipt()} }, nil},
		{"the newest of two", func(m *maker) []receipts.Hash { m.receipt(); return []receipts.Hash{m.receipt()} }, nil},
		{"under no binding", func(m *maker) []receipts.Hash { m.receipt(unbound); return nil }, nil},
		{"nothing required", func(m *maker) []receipts.Hash { return []receipts.Hash{m.receipt(), m.receipt(of("vet"))} }, nothing},
		{"all that is required", func(m *maker) []receipts.Hash { return []receipts.Hash{m.receipt(), m.receipt(of("vet"))} }, two},
		{"some of what is required", func(m *maker) []receipts.Hash { m.receipt(); return nil }, two},
		{"failed", func(m *maker) []receipts.Hash { m.receipt(failing); return nil }, nil},
		{"failed before", func(m *maker) []receipts.Hash { m.receipt(failing); m.receipt(); return nil }, nil},
		{"failed since", func(m *maker) []receipts.Hash { m.receipt(); m.receipt(failing); return nil }, nil},
		{"of another tree", func(m *maker) []receipts.Hash {
			m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB })
			return nil
		}, nil},
		{"of another project", func(m *maker) []receipts.Hash {
			m.receipt(func(r *receipts.Receipt) { r.Place = elsewhere })
			return nil
		}, nil},
		{"under another matrix", func(m *maker) []receipts.Hash {
			m.receipt(func(r *receipts.Receipt) { r.Matrix = receipts.Hash{8} })
			return nil
		}, nil},
		{"of another session", func(m *maker) []receipts.Hash { m.receipt(); return nil }, func(q *Query) { q.Session = "other" }},
		{"below the level", func(m *maker) []receipts.Hash { m.receipt(); return nil }, signed},
		{"consumed", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.add(&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{h}, By: "boss", Timestamp: m.now()})
			return nil
		}, nil},
		{"a commit, which no gate is made of", func(m *maker) []receipts.Hash { m.receipt(); return nil },
			func(q *Query) { q.Tree, q.Commit = &receipts.Tree{Tree: treeA.Tree}, true }},
		{"rules that changed", func(m *maker) []receipts.Hash { m.receipt(); return nil }, func(q *Query) { q.Policy = "routing.toml changed" }},
	} {
		m := newMaker(t)
		want := tt.log(m)
		q := asked(strict)
		if tt.ask != nil {
			tt.ask(&q)
		}
		res := ask(t, m.open(Options{}), q)
		if res.Verdict == Verified {
			t.Errorf("%s: %s", tt.name, told(res))
		}
		var got []receipts.Hash
		for _, e := range res.Ungated {
			got = append(got, e.SHA)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
	}
}
