package verify

import (
	"slices"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestAround asks what a bundle of a gate needs beside its members, for a reader who may ask with any keys, at any level, and about clean checkouts.
func TestAround(t *testing.T) {
	boss, _ := newSigner(t)
	in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
	bare := func(r *receipts.Receipt) { r.Workspace = nil }
	gate := func(m *maker) []receipts.Hash {
		h := m.receipt()
		return []receipts.Hash{h, m.gate([]receipts.Hash{h})}
	}
	for name, log := range map[string]func(m *maker) (named []receipts.Hash, want receipts.Hash){
		"a control": func(m *maker) ([]receipts.Hash, receipts.Hash) {
			return gate(m), m.receipt(control(receipts.Noticed))
		},
		"the last pass that a key signed": func(m *maker) ([]receipts.Hash, receipts.Hash) {
			named := gate(m)
			m.sign = boss
			h := m.receipt(of("vet"))
			m.sign = nil
			m.receipt(of("vet"))
			return named, h
		},
		"the last pass in a clean checkout": func(m *maker) ([]receipts.Hash, receipts.Hash) {
			named := gate(m)
			h := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} })
			m.receipt(of("vet"))
			return named, h
		},
		"what failed below a line that says that its runs decide nothing": func(m *maker) ([]receipts.Hash, receipts.Hash) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/2" })
			h := m.receipt(of("vet"), in("r-6"), bare, failing)
			m.receipt(of("suite"), func(r *receipts.Receipt) { r.Step, r.Apart = "2", true })
			return gate(m), h
		},
		"a pass below a line that a failure contradicts since": func(m *maker) ([]receipts.Hash, receipts.Hash) {
			m.gate([]receipts.Hash{m.receipt(of("vet"), in("r-6"))}, func(g *receipts.Gate) { g.Run, g.Parent = "r-6", "r-1/1" })
			h := m.receipt(of("more"), on(treeC), in("r-6"))
			named := gate(m)
			m.receipt(of("more"), on(treeC), in("r-9"), failing)
			return named, h
		},
	} {
		m := newMaker(t)
		named, want := log(m)
		around, err := m.open(Options{}).Around(named...)
		if err != nil || !slices.ContainsFunc(around, func(e receipts.Entry) bool { return e.SHA == want }) {
			t.Errorf("%s is not there: %v", name, err)
		}
	}
}
