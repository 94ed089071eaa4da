package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestUndoneByAttempt has a line fail and a later record of its step pass: only a later attempt under the failure's own binding, and of no
// lower level, undoes it.
func TestUndoneByAttempt(t *testing.T) {
	boss, keys := newSigner(t)
	attempt := func(n int) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Attempt = n } }
	inputs := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Inputs = receipts.Hash{n} }
	}
	weaker := func(r *receipts.Receipt) { r.Binding = "check_weak" }
	elsewhere := func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }
	another := func(r *receipts.Receipt) { r.Step = "2" }
	type changes = []func(*receipts.Receipt)
	for name, tt := range map[string]struct {
		failed, passed changes
		unsigned       bool // the pass
		want           Verdict
	}{
		"the next attempt":                                    {passed: changes{attempt(2)}, want: Verified},
		"the next attempt, under no binding":                  {passed: changes{attempt(2), unbound}, want: Failed},
		"the next attempt, under another binding":             {passed: changes{attempt(2), weaker}, want: Failed},
		"the next attempt, under another matrix":              {passed: changes{attempt(2), elsewhere}, want: Failed},
		"the next attempt, where no binding failed":           {failed: changes{unbound}, passed: changes{attempt(2)}, want: Verified},
		"the next attempt, that no key signed":                {passed: changes{attempt(2)}, unsigned: true, want: Failed},
		"the next attempt, with other inputs":                 {failed: changes{inputs(1)}, passed: changes{attempt(2), inputs(2)}, want: Verified},
		"the next attempt of another step, with other inputs": {failed: changes{inputs(1)}, passed: changes{attempt(2), another, inputs(2)}, want: Failed},
		"the same attempt, with other inputs":                 {failed: changes{inputs(1)}, passed: changes{inputs(2)}, want: Failed},
		"an earlier attempt, with other inputs":               {failed: changes{attempt(2), inputs(1)}, passed: changes{inputs(2)}, want: Failed},
		"the next attempt, with other inputs and no signer":   {failed: changes{inputs(1)}, passed: changes{attempt(2), inputs(2)}, unsigned: true, want: Failed},
	} {
		m := newMaker(t)
		m.sign = boss
		m.receipt(append(changes{failing}, tt.failed...)...)
		m.signCheckpoint(boss)
		if tt.unsigned {
			m.sign = nil
		}
		m.receipt(tt.passed...)
		m.sign = boss
		m.gate([]receipts.Hash{m.receipt(of("other"))})
		m.signCheckpoint(boss)
		q := asked(nothing, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {1}} })
		if tt.failed == nil {
			q.Inputs = nil
		}
		if r := ask(t, m.open(Options{Keys: keys}), q); r.Verdict != tt.want {
			t.Errorf("%s: %s\nwant %s", name, told(r), tt.want)
		}
	}
}
