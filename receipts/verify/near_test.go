package verify

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestNearReads has many gates that do not count after one that does: no question reads them all. Anyone who can write the store could make
// each question as expensive as the log is long.
func TestNearReads(t *testing.T) {
	const many = 1000
	boss, keys := newSigner(t)
	scopes := func(q *Query) {
		q.Scopes = &Scopes{Of: func(string) receipts.Hash { return receipts.Hash{1} }, Rest: func([]string) receipts.Hash { return receipts.Hash{2} }}
	}
	for name, tt := range map[string]struct {
		of    func(*receipts.Gate)
		ask   func(*Query)
		reads int // at most
	}{
		"of other files, without a signer":  {func(g *receipts.Gate) { g.Tree = &treeB }, func(q *Query) { q.Tree = &treeC }, maxNear},
		"of other files, by another signer": {func(g *receipts.Gate) { g.Tree, g.Signer = &treeB, "ann+00000001" }, func(q *Query) { q.Tree = &treeC }, 2 * maxNear},
		"of these files, without a signer":  {func(*receipts.Gate) {}, func(*Query) {}, maxNear},
		"for changed paths":                 {func(g *receipts.Gate) { g.Tree = &treeB }, func(q *Query) { q.Tree = &treeC; scopes(q) }, maxNear},
	} {
		m := newMaker(t)
		m.sign = boss
		m.gate([]receipts.Hash{m.receipt()})
		m.signCheckpoint(boss)
		m.sign = nil
		for range many {
			m.gate([]receipts.Hash{{1}}, tt.of)
		}
		s := m.open(Options{Keys: keys})
		clear(s.entries)
		m.log.reads = 0
		if r := ask(t, s, asked(signed, tt.ask)); m.log.reads > tt.reads {
			t.Errorf("%s: %d reads, want at most %d: %s", name, m.log.reads, tt.reads, r.Verdict)
		}
	}
}

// TestNotaryMessage asks for the level of a notary where a key that counts has signed: the refusal must not say that none has.
func TestNotaryMessage(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	r := told(ask(t, m.open(Options{Keys: keys}), asked(func(q *Query) { q.Level = receipts.LevelNotary })))
	if !strings.Contains(r, "no gate here is recorded by a notary that counts: the newest one is not") {
		t.Error(r)
	}
}
