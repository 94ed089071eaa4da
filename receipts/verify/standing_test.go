package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestStanding says which lines need not run.
func TestStanding(t *testing.T) {
	lint := asked().Require[0]
	vet := Requirement{Binding: "check_vet", Command: receipts.CommandHash([]string{"vet"})}
	for _, c := range []struct {
		name  string
		log   func(m *maker)
		lines []Requirement
		base  bool
		want  []bool
	}{
		{"one has changed", func(m *maker) { m.full() }, []Requirement{lint, vet}, true, []bool{true, false}},
		{"it ran since", func(m *maker) { m.full(); m.since() }, []Requirement{lint, vet}, true, []bool{true, true}},
		{"and failed then", func(m *maker) {
			m.full()
			m.since()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
		}, []Requirement{lint, vet}, true, []bool{true, false}},
		{"a line that the full run had not", func(m *maker) { m.full() }, []Requirement{lint, {Binding: "x"}}, false, []bool{false, false}},
		{"no full run", func(m *maker) { m.since() }, []Requirement{vet}, false, []bool{false}},
	} {
		m := newMaker(t)
		c.log(m)
		st, err := m.open(Options{}).Standing(scopedQuery(), c.lines)
		if err != nil || (st.Gate != nil) != c.base || st.Near != nil || !slices.Equal(st.Passed, c.want) {
			t.Errorf("%s: %v, %+v; want %v", c.name, err, st, c.want)
		}
	}
}

// TestStandingNear says why the newest full run of some lines counts for nothing.
func TestStandingNear(t *testing.T) {
	vet := Requirement{Binding: "check_vet", Command: receipts.CommandHash([]string{"vet"})}
	for name, c := range map[string]struct {
		log  func(m *maker)
		q    func(q *Query)
		near bool
		why  string
	}{
		"none":                              {func(m *maker) { m.since() }, nil, false, ""},
		"of other rules":                    {func(m *maker) { m.full() }, func(q *Query) { q.Matrix = receipts.Hash{9} }, false, ""},
		"a file that no line names changed": {func(m *maker) { m.full() }, func(q *Query) { q.Scopes.Rest = func([]string) receipts.Hash { return receipts.Hash{1} } }, true, ""},
		"other inputs": {func(m *maker) {
			m.full(func(r *receipts.Receipt) { r.Inputs = receipts.Hash{1} })
		}, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}, "check_vet": {2}} }, true, "as `inputs` are not those that it ran with"},
		"another line failed": {func(m *maker) { m.full(); m.receipt(of("other"), failing) }, nil, true, "failed on this tree"},
	} {
		m := newMaker(t)
		c.log(m)
		q := scopedQuery()
		if c.q != nil {
			c.q(&q)
		}
		st, err := m.open(Options{}).Standing(q, []Requirement{vet})
		if err != nil || st.Gate != nil || (st.Near != nil) != c.near || !strings.Contains(st.Why, c.why) || c.why == "" && st.Why != "" {
			t.Errorf("%s: %v, %+v; want %q", name, err, st, c.why)
		}
	}
}
