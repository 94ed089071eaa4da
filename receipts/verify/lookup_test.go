package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestFollow has later records, and earlier ones, say of a receipt that it was consumed, or how
// it ended. The first one counts, and a settlement of the receipt's own level before
// one of a lower level.
func TestFollow(t *testing.T) {
	boss, keys := newSigner(t)
	pending := func(r *receipts.Receipt) { r.Status = receipts.Pending }
	settle := func(m *maker, h receipts.Hash, status receipts.Status) {
		m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: status, By: "x", Timestamp: m.now()})
	}
	consume := func(m *maker, h receipts.Hash, by string) {
		m.add(&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{h}, By: by, Timestamp: m.now()})
	}
	for _, tt := range []struct {
		name     string
		log      func(m *maker, h receipts.Hash)
		before   bool // the log comes before the receipt
		consumed string
		settled  receipts.Status
		level    int
	}{
		{"nothing", func(m *maker, h receipts.Hash) {}, false, "", "", receipts.LevelKey},
		{"consumed", func(m *maker, h receipts.Hash) { consume(m, h, "ann"); consume(m, h, "bob") }, false, "ann", "", receipts.LevelKey},
		{"consumed before it was there", func(m *maker, h receipts.Hash) { consume(m, h, "ann") }, true, "", "", receipts.LevelKey},
		{"settled", func(m *maker, h receipts.Hash) {
			settle(m, h, receipts.StatusFailed)
			settle(m, h, receipts.Succeeded)
		}, false, "", receipts.StatusFailed, receipts.LevelKey},
		{"settled before it was there", func(m *maker, h receipts.Hash) { settle(m, h, receipts.Succeeded) }, true, "", "", receipts.LevelKey},
		{"settled by nobody's signature", func(m *maker, h receipts.Hash) {
			m.sign = nil
			settle(m, h, receipts.Succeeded)
			settle(m, h, receipts.StatusFailed)
		}, false, "", receipts.Succeeded, receipts.LevelHash},
		{"settled by nobody's signature, then by a signature", func(m *maker, h receipts.Hash) {
			m.sign = nil
			settle(m, h, receipts.Succeeded)
			m.sign = boss
			settle(m, h, receipts.StatusFailed)
		}, false, "", receipts.StatusFailed, receipts.LevelKey},
	} {
		then := newMaker(t)
		then.sign, then.n = boss, 100
		h := then.receipt(pending) // as it will be
		m := newMaker(t)
		m.sign = boss
		if tt.before {
			tt.log(m, h)
		}
		n := m.n
		m.n = 100
		if m.receipt(pending) != h {
			t.Fatal("it is another receipt")
		}
		m.n = n
		if !tt.before {
			tt.log(m, h)
		}
		m.signHead(boss)
		e, err := m.open(Options{Keys: keys}).Entry(h.String())
		if err != nil {
			t.Fatal(err)
		}
		var consumed string
		var settled receipts.Status
		if e.Consumption != nil {
			consumed = e.Consumption.By
		}
		if e.Settlement != nil {
			settled = e.Settlement.Status
		}
		if consumed != tt.consumed || settled != tt.settled || e.Level != tt.level {
			t.Errorf("%s: consumed by %q, settled as %q, L%d; want %q, %q, L%d", tt.name, consumed, settled, e.Level, tt.consumed, tt.settled, tt.level)
		}
	}
}
