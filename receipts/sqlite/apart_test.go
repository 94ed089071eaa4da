package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// TestSpentApart enters what may be spent already: it refuses nothing, changes no entry of somebody else's, and is spent from then on.
func TestSpentApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spent.db")
	l, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hash := func(n byte) receipts.Hash { return receipts.Hash{n} }
	begin := func(by string, taken, apart []receipts.Hash) *Spending {
		t.Helper()
		p, refusal, err := l.Begin(ctx, verify.Covered{Taken: taken, Apart: apart}, by, "", at(1))
		if err != nil || refusal != nil {
			t.Fatal(refusal, err)
		}
		return p
	}
	if refusal, err := spend(l, "ann", hash(1)); err != nil || refusal != nil {
		t.Fatal(refusal, err)
	}
	begin("bob", []receipts.Hash{hash(2)}, nil).Abandon()
	begin("ann", []receipts.Hash{hash(3)}, []receipts.Hash{hash(4), hash(1)}).Abandon() // and again, as after a crash
	if err := begin("ann", []receipts.Hash{hash(3)}, []receipts.Hash{hash(1), hash(2), hash(4), hash(5)}).Finish(); err != nil {
		t.Fatal(err)
	}
	for n, by := range map[byte]string{1: "ann", 2: "bob", 3: "ann", 4: "ann", 5: "ann"} {
		refusal, err := spend(l, "eve", hash(n))
		if err != nil || refusal == nil || !strings.Contains(refusal.Message, "by "+by) {
			t.Errorf("%d: %v, %v; want a refusal that names %s", n, refusal, err, by)
		}
	}
	if refusal, err := spend(l, "bob", hash(2)); err != nil || refusal != nil {
		t.Errorf("what bob began he may end: %v, %v", refusal, err)
	}
}
