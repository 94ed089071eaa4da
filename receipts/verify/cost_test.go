package verify

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestNestedCost has an unsigned log of runs that start one another, without end: what they cost grows with their number, and not with its square.
func TestNestedCost(t *testing.T) {
	cost := func(n int) uint64 {
		m := newMaker(t)
		for i := range n {
			run := fmt.Sprint("r-x", i)
			m.run(run, func(r *receipts.Run) {
				if i > 0 {
					r.Parent = fmt.Sprint("r-x", i-1, "/1")
				}
			})
			m.receipt(of("z"), func(r *receipts.Receipt) { r.Run, r.Workspace = run, nil })
		}
		m.gate([]receipts.Hash{m.receipt()})
		s := m.open(Options{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if res := ask(t, s, asked()); res.Verdict != Verified {
			t.Fatal(told(res))
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := cost(500), cost(4000); many > 16*few {
		t.Errorf("500 runs cost %d bytes, and 4000 %d", few, many)
	}
}

// TestOneRefusal has many lines of one command, and many failures of it: each failure is refused once.
func TestOneRefusal(t *testing.T) {
	m := newMaker(t)
	var all []receipts.Hash
	for i := range 20 {
		all = append(all, m.receipt(func(r *receipts.Receipt) { r.Binding = fmt.Sprint("b", i) }))
	}
	m.gate(all)
	for range 10 {
		m.receipt(failing)
	}
	if res := ask(t, m.open(Options{}), asked(nothing)); res.Verdict != Failed || len(res.Refusals) != 10 {
		t.Errorf("%d refusals of 10 failures: %.200s", len(res.Refusals), told(res))
	}
}

// TestManyFailing has more gates and failures than are judged against one another.
func TestManyFailing(t *testing.T) {
	m := newMaker(t)
	for range 2 * maxJudged {
		m.gate([]receipts.Hash{m.receipt()})
	}
	for range 2 * maxJudged {
		m.receipt(failing)
	}
	res := ask(t, m.open(Options{}), asked())
	if res.Verdict != Failed || len(res.Notes) == 0 || !strings.Contains(res.Notes[0], "not all gates on these files") {
		t.Errorf("%.200s, %q", told(res), res.Notes)
	}
	m.gate([]receipts.Hash{m.receipt()})
	if res := ask(t, m.open(Options{}), asked()); res.Verdict != Verified {
		t.Errorf("%.200s", told(res))
	}
}
