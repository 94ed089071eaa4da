package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestNothingToSpare has a case for each of some conditions of a yes that no other test misses when it is left out; its name says where it stands.
func TestNothingToSpare(t *testing.T) {
	under := func(name string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Binding = name } }
	in := func(run, step string) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Step = run, step }
	}
	clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
	lowered := func(r *receipts.Receipt) {
		r.Clean = &receipts.Clean{Lowered: []receipts.Datum{receipts.Text(".venv")}}
	}
	again := func(r *receipts.Receipt) { r.Attempt = 2 }
	for name, c := range map[string]struct {
		log  func(m *maker)
		q    Query
		want Verdict
	}{
		"inner.go allowed: without f.Binding == r.Binding": {func(m *maker) {
			m.receipt(failing, under("check_other"))
			m.receipt(under("check_other"))
			m.gate([]receipts.Hash{m.receipt()})
		}, asked(strict, func(q *Query) { q.Retries = map[string]bool{"check_lint": true} }), Flaky},
		"scoped.go basis: without lookAround(then, res)": {func(m *maker) {
			m.receipt(of("more"), failing)
			m.full()
			m.since()
		}, scopedQuery(), Stale},
		"query.go counts: without (r.Failed() || r.EndedEarly())": {func(m *maker) {
			m.receipt(of("more"), failing, clean)
			m.receipt(of("more"), lowered)
			m.gate([]receipts.Hash{m.receipt(clean)})
		}, asked(nothing, func(q *Query) { q.Clean = true }), Failed},
		"query.go trees: final[lineOf(r)] > 0": {func(m *maker) {
			m.fill(1)
			m.gate([]receipts.Hash{m.receipt(), m.receipt(on(treeB), in("r-1", "2"))})
		}, asked(), Stale},
		"lookup.go again: without p.Step == r.Step": {func(m *maker) {
			m.receipt(failing, under("check_x"), in("r-7", "1"))
			m.receipt(under("check_y"), in("r-7", "2"), again)
			m.gate([]receipts.Hash{m.receipt(of("vet"))})
		}, asked(nothing), Failed},
	} {
		m := newMaker(t)
		c.log(m)
		if res := ask(t, m.open(Options{}), c.q); res.Verdict != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, told(res))
		}
	}
}
