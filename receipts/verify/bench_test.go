package verify

import (
	"fmt"
	"os"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// BenchmarkAsk opens a log of n receipts and asks about one tree of it: whole, and with
// the memory of an earlier audit. DIALECT_SOAK adds a log of a million.
func BenchmarkAsk(b *testing.B) {
	sizes := []int{1e3, 1e5}
	if os.Getenv("DIALECT_SOAK") != "" {
		sizes = append(sizes, 1e6)
	}
	for _, n := range sizes {
		m := newMaker(b)
		m.fill(n)
		m.gate([]receipts.Hash{m.receipt()})
		f := memoryFile(b)
		m.remember(f, Options{})
		for _, memory := range []bool{false, true} {
			b.Run(fmt.Sprintf("n=%d/memory=%v", n, memory), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var o Options
					if memory {
						o.Memory = recollect(b, f)
					}
					s := m.open(o)
					if memory && s.audited() != 0 {
						b.Fatal("the memory does not count")
					}
					if res := ask(b, s, asked()); res.Verdict != Verified {
						b.Fatal(told(res))
					}
				}
			})
		}
	}
}
