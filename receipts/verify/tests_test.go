package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestTested counts the tests behind a gate, beside those of the last final gate of other files, of the same bindings.
func TestTested(t *testing.T) {
	tests := func(n int) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Tests = &receipts.Tests{Passed: n} }
	}
	onB := func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} }
	gateB := func(g *receipts.Gate) { g.Tree = &treeB }
	for _, tt := range []struct {
		name string
		log  func(m *maker) (before receipts.Hash)
		want string // without the gate
	}{
		{"no count", func(m *maker) receipts.Hash { m.gate([]receipts.Hash{m.receipt()}); return receipts.Hash{} }, ""},
		{"the first", func(m *maker) receipts.Hash { m.gate([]receipts.Hash{m.receipt(tests(3))}); return receipts.Hash{} }, "3 tests"},
		{"fewer", func(m *maker) receipts.Hash {
			h := m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB)
			m.gate([]receipts.Hash{m.receipt(tests(3))})
			return h
		}, "3 tests, 2 fewer than at "},
		{"run twice on the same files", func(m *maker) receipts.Hash {
			h := m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB)
			m.gate([]receipts.Hash{m.receipt(tests(3))})
			m.gate([]receipts.Hash{m.receipt(tests(3))})
			return h
		}, "3 tests, 2 fewer than at "},
		{"within a part", func(m *maker) receipts.Hash {
			part := m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB, func(g *receipts.Gate) { g.Final = false })
			h := m.gate([]receipts.Hash{part}, gateB)
			m.gate([]receipts.Hash{m.receipt(tests(6))})
			return h
		}, "6 tests, 1 more than at "},
		{"of a part alone", func(m *maker) receipts.Hash {
			m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB, func(g *receipts.Gate) { g.Final = false })
			m.gate([]receipts.Hash{m.receipt(tests(3))})
			return receipts.Hash{}
		}, "3 tests"},
		{"none any more", func(m *maker) receipts.Hash {
			h := m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB)
			m.gate([]receipts.Hash{m.receipt()})
			return h
		}, "no test counted, 5 ran at "},
		{"none, then as now", func(m *maker) receipts.Hash {
			m.gate([]receipts.Hash{m.receipt(onB)}, gateB)
			m.gate([]receipts.Hash{m.receipt()})
			return receipts.Hash{}
		}, ""},
		{"one of two counts no more", func(m *maker) receipts.Hash {
			more := func(r *receipts.Receipt) { r.Binding = "test_more" }
			h := m.gate([]receipts.Hash{m.receipt(tests(5), onB), m.receipt(tests(2), onB, more)}, gateB)
			m.gate([]receipts.Hash{m.receipt(tests(5)), m.receipt(more)})
			return h
		}, "5 tests, 2 fewer than at "},
		{"of another binding", func(m *maker) receipts.Hash {
			m.gate([]receipts.Hash{m.receipt(tests(5), onB, func(r *receipts.Receipt) { r.Binding = "check_more" })}, gateB)
			m.gate([]receipts.Hash{m.receipt(tests(3))})
			return receipts.Hash{}
		}, "3 tests"},
	} {
		m := newMaker(t)
		before := tt.log(m)
		got := ask(t, m.open(Options{}), asked()).Tested
		want := tt.want
		if !before.IsZero() {
			want += receipts.GateID(before)
		}
		if got == nil && want != "" || got != nil && got.String() != want {
			t.Errorf("%s: %v, want %q", tt.name, got, want)
		}
	}
	// A record of a lower level than is asked for says nothing.
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt(tests(5), onB)}, gateB)
	m.gate([]receipts.Hash{m.receipt(tests(3))})
	s := m.open(Options{})
	q := asked()
	e := ask(t, s, q)
	if q.Level = receipts.LevelKey; s.tested(q, e.Gate, e.Members).Before != nil {
		t.Error("a gate that nobody signed is compared with")
	}
}

// TestTestedChanged: a record that was changed is noticed where only the count of the tests before rests on it.
func TestTestedChanged(t *testing.T) {
	m := newMaker(t)
	counts := func(r *receipts.Receipt) { r.Tests = &receipts.Tests{Passed: 3} }
	old := m.gate([]receipts.Hash{m.receipt(counts, on(treeB))}, over(treeB))
	m.gate([]receipts.Hash{m.receipt(counts)})
	s := m.open(Options{})
	delete(s.entries, 1)
	m.log.reread = func(r Raw) (Raw, bool) { return r, r.Seq != 1 }
	if s.index.at(1).sha != old {
		t.Fatal("it is another record")
	}
	if res := ask(t, s, asked()); res.Verdict != Tampered {
		t.Error(told(res))
	}
}
