package verify

import (
	"errors"
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
		m.signCheckpoint(boss)
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

// TestRunByID looks up runs by their ids: found is the record of the beginning of the run, never one that the run left, and
// never that of another.
func TestRunByID(t *testing.T) {
	m := newMaker(t)
	m.receipt(func(r *receipts.Receipt) { r.Run = "r-00000001" }) // before the run that it names begins
	want := map[string]receipts.Hash{"r-00000001": m.run("r-00000001")}
	m.receipt(func(r *receipts.Receipt) { r.Run = "r-00000002" })
	want["r-00000002"] = m.run("r-00000002")
	m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Run = "r-00000001" })
	s := m.open(Options{})
	for id, sha := range want {
		if e, err := s.Entry(id); err != nil || e.SHA != sha {
			t.Errorf("%s: %v, %v; want %v", id, e.SHA, err, sha)
		}
	}
	var none *LookupError
	if e, err := s.Entry("r-00000003"); !errors.As(err, &none) || len(none.Matches) != 0 {
		t.Errorf("a run that is not there: %v, %v", e.SHA, err)
	}
}

// TestCountedBound looks for a count among the newest 200 receipts of a binding that have one, those of the run itself apart: a long log
// costs no more than that.
func TestCountedBound(t *testing.T) {
	counted := func(n int) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Tests = &receipts.Tests{Passed: n} }
	}
	of := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
	binding := func(r *receipts.Receipt) { r.Binding = "check_other" }
	command := func(r *receipts.Receipt) {
		r.Argv, r.Command = []receipts.Datum{receipts.Text("lint"), receipts.Text("-x")}, receipts.CommandHash([]string{"lint", "-x"})
	}
	for _, c := range []struct {
		name  string
		after int // receipts that follow the one that counted
		then  []func(*receipts.Receipt)
		want  bool // it is found
	}{
		{"nothing after it", 0, nil, true},
		{"failures are not read", 300, []func(*receipts.Receipt){failing, counted(1)}, true},
		{"successes without tests are not read", 300, nil, true},
		{"199 of another command of the binding", 199, []func(*receipts.Receipt){command, counted(1)}, true},
		{"200 of another command of the binding", 200, []func(*receipts.Receipt){command, counted(1)}, false},
		{"receipts of another binding are not looked at", 300, []func(*receipts.Receipt){binding, counted(1)}, true},
		{"receipts of the run itself are not looked at", 300, []func(*receipts.Receipt){of("r-now"), counted(1)}, true},
	} {
		m := newMaker(t)
		want := m.receipt(counted(7)) // the first record of the log
		for range c.after {
			m.receipt(c.then...)
		}
		of := receipts.Counting{Binding: "check_lint", Command: lint}
		found, err := m.open(Options{}).Counted([]receipts.Counting{of, {Binding: "check_lint"}, {Binding: "check_none"}}, "r-now", "")
		e, ok := found[of]
		if err != nil || ok != c.want || ok && e.SHA != want || len(found) > 1 {
			t.Errorf("%s: found %t, %v; want %t", c.name, ok, err, c.want)
		}
	}
}

// TestGateByID names a receipt as a gate is named.
func TestGateByID(t *testing.T) {
	m := newMaker(t)
	h := m.receipt()
	s := m.open(Options{})
	if e, err := s.Entry(receipts.GateID(h)); err == nil {
		t.Errorf("%s is found as a gate", e.SHA)
	}
	if e, err := s.Entry(h.String()); err != nil || e.SHA != h {
		t.Error(e.SHA, err)
	}
}

// TestSettledBelow: an attempt below the level that is asked for is left aside, whatever somebody says that it came to.
func TestSettledBelow(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	h := m.receipt(func(r *receipts.Receipt) { r.Run, r.Status = "r-0", receipts.Pending })
	m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "x", Timestamp: m.now()})
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed)); res.Verdict != Verified || res.Early != 0 {
		t.Errorf("%s, %d ended early", told(res), res.Early)
	}
}

// TestAmong: a tree without a digest is not among any trees, as nobody knows what its files were.
func TestAmong(t *testing.T) {
	for name, tree := range map[string]receipts.Tree{"none": {}, "known": treeA} {
		if got := among(map[receipts.Tree]bool{tree: true}, tree); got != (name == "known") {
			t.Errorf("%s: %t", name, got)
		}
	}
}
