package verify

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestExecutable has the program of a binding be another file than at its last receipt.
func TestExecutable(t *testing.T) {
	file := func(path string, sum byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			r.Executable = &receipts.File{Path: receipts.Text(path), SHA256: receipts.Hash{sum}}
		}
	}
	for _, tt := range []struct {
		name, want string
		before     func(m *maker)
	}{
		{"the first", "", func(m *maker) {}},
		{"the same", "", func(m *maker) { m.receipt(file("/bin/lint", 2)); m.receipt(file("/bin/lint", 1)) }},
		{"other bytes", "since 2026-11-21 12:00:01: /bin/lint", func(m *maker) { m.receipt(file("/bin/lint", 2)) }},
		{"another path", ": /old/lint, now /bin/lint", func(m *maker) { m.receipt(file("/old/lint", 2)) }},
		{"another binding's", "", func(m *maker) { m.receipt(of("vet"), file("/bin/vet", 2)) }},
		{"not known since", "/bin/lint", func(m *maker) { m.receipt(file("/bin/lint", 2)); m.receipt() }},
	} {
		m := newMaker(t)
		tt.before(m)
		m.gate([]receipts.Hash{m.receipt(file("/bin/lint", 1))})
		res := ask(t, m.open(Options{}), asked())
		if notes := strings.Join(res.Notes, "\n"); res.Verdict != Verified || tt.want == "" && notes != "" || !strings.Contains(notes, tt.want) {
			t.Errorf("%s: %s, %q; want %q", tt.name, told(res), notes, tt.want)
		}
	}
}

// Another executable than before is noted, whatever was recorded without the key meanwhile.
func TestExecutableOfAKey(t *testing.T) {
	boss, keys := newSigner(t)
	with := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			r.Executable = &receipts.File{Path: receipts.Text("/bin/lint"), SHA256: receipts.Hash{n}}
		}
	}
	for name, tt := range map[string]struct {
		between func(m *maker)
		want    bool
	}{
		"nothing":                    {func(*maker) {}, true},
		"without an executable":      {func(m *maker) { m.receipt() }, true},
		"the new one, with a key":    {func(m *maker) { m.receipt(with(2)) }, false},
		"the new one, without a key": {func(m *maker) { m.sign = nil; m.receipt(with(2)); m.sign = boss }, true},
		"the new one, without a key, often": {func(m *maker) {
			m.sign = nil
			for range maxBefore {
				m.receipt(with(2))
			}
			m.sign = boss
		}, true},
	} {
		m := newMaker(t)
		m.sign = boss
		m.receipt(with(1))
		tt.between(m)
		m.gate([]receipts.Hash{m.receipt(with(2))})
		m.signCheckpoint(boss)
		res := ask(t, m.open(Options{Keys: keys}), asked(signed))
		if noted := strings.Contains(strings.Join(res.Notes, "\n"), "the executable of check_lint changed"); res.Verdict != Verified || noted != tt.want {
			t.Errorf("%s: %s", name, told(res))
		}
	}
}

// TestFailedAside: what failed on the tree and is not required is named, and refuses nothing.
func TestFailedAside(t *testing.T) {
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt()})
	m.receipt(of("vet"), failing)
	res := ask(t, m.open(Options{}), asked())
	if res.Verdict != Verified || !strings.Contains(strings.Join(res.Notes, "\n"), "which is not required, failed on this tree") {
		t.Errorf("%s, %q", told(res), res.Notes)
	}
}

// TestOrderOfFailures names the lines that failed in their order, whatever that of their records and commands, and what else is missing after them.
func TestOrderOfFailures(t *testing.T) {
	m := newMaker(t)
	at := func(n int) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Line.Number, r.Step = n, strconv.Itoa(n) }
	}
	for _, n := range []int{3, 1, 4, 2} {
		m.receipt(of("tool"+strconv.Itoa(n)), at(n), failing)
	}
	res := ask(t, m.open(Options{}), asked(nothing))
	var got []string
	for _, r := range res.Refusals {
		got = append(got, r.Message[:min(len(r.Message), 8)])
	}
	if want := []string{"q.dlct:1", "q.dlct:2", "q.dlct:3", "q.dlct:4"}; res.Verdict != Failed || len(got) < 4 || !slices.Equal(got[:4], want) {
		t.Errorf("%s: %q", res.Verdict, got)
	}
}
