package verify

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestNearest has no gate be of the tree: the newest of the project under the trusted matrix
// says what is missing, or else the newest.
func TestNearest(t *testing.T) {
	onB := func(g *receipts.Gate) { g.Tree = &treeB }
	elsewhere := func(g *receipts.Gate) { g.Place = receipts.Text("a") }
	other := func(g *receipts.Gate) { g.Matrix = receipts.Hash{9} }
	m := newMaker(t)
	h := m.receipt()
	var want receipts.Hash
	for _, tt := range []struct {
		name   string
		change func(*receipts.Gate)
		near   bool // it is the answer from now on
	}{
		{"of another project", elsewhere, true}, // there is no other
		{"of the project", func(*receipts.Gate) {}, true},
		{"of another project again", elsewhere, false},
		{"under another matrix", other, false},
		{"not final", func(g *receipts.Gate) { g.Final = false }, false},
		{"of the project again", func(*receipts.Gate) {}, true},
	} {
		if g := m.gate([]receipts.Hash{h}, onB, tt.change); tt.near {
			want = g
		}
		if got := ask(t, m.open(Options{}), asked()).Gate; got.SHA != want {
			t.Errorf("%s: the gate is %s, want %s", tt.name, got.SHA.Short(), want.Short())
		}
	}
}

// TestMembersOnce has a gate take a receipt in directly, and by a part.
func TestMembersOnce(t *testing.T) {
	m := newMaker(t)
	h := m.receipt()
	part := m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Final = false })
	m.gate([]receipts.Hash{h, part, part})
	if res := ask(t, m.open(Options{}), asked()); res.Verdict != Verified || len(res.Members) != 1 {
		t.Errorf("%s, %d members", told(res), len(res.Members))
	}
}

// TestDescribe names lines of this project and of others from the folder that the reader stands in.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ here, from, place, file, want string }{
		{"", "", "", "q.dlct", "q.dlct:1 (Check it)"},
		{"", "", "a", "q.dlct", "a/q.dlct:1 (Check it)"},
		{"", "sub", "a", "q.dlct", "../a/q.dlct:1 (Check it)"},
		{"", "a", "a", "q.dlct", "q.dlct:1 (Check it)"},
		{"a", "", "", "q.dlct", "../q.dlct:1 (Check it)"},
		{"a", "", "b", "s/q.dlct", "../b/s/q.dlct:1 (Check it)"},
		{"a", "", "a/b", "q.dlct", "b/q.dlct:1 (Check it)"},
		{"a", "sub", "b", "q.dlct", "../../b/q.dlct:1 (Check it)"},
		{"", "", "a", "/tmp/q.dlct", "/tmp/q.dlct:1 (Check it)"},
		{"", "", "a", "-e", "line 1 (Check it)"},
		{"", "=ci", "", "../q.dlct", "q.dlct:1 (Check it)"},
		{"", "=ci", "", "q.dlct", "ci/q.dlct:1 (Check it)"},
		{"", "=/ci", "", "q.dlct", "/ci/q.dlct:1 (Check it)"},
		{"", "=ci", "", "-e", "line 1 (Check it)"},
	} {
		r := &receipts.Receipt{Binding: "check_it", Place: receipts.Text(tt.place), Line: receipts.Line{File: receipts.Text(tt.file), Number: 1, Text: receipts.Text("Check it")}}
		q := Query{Place: receipts.Text(tt.here)}
		if root, ok := strings.CutPrefix(tt.from, "="); ok { // the reader is outside of it
			q.Root = root
		} else {
			q.From = tt.from
		}
		if got := q.describe(r); got != tt.want {
			t.Errorf("in %q below %q: %s of %q is %s, want %s", tt.from, tt.here, tt.file, tt.place, got, tt.want)
		}
	}
}
