package main_test

import "testing"

// Receipts that workers leave for a gate elsewhere are taken by one.
func TestDeferGate(t *testing.T) {
	t.Parallel()
	l, place := waits(t)
	release(t, place)
	l.worker()
	p := l.run("wait.dlct", "--defer-gate", "--json")
	l.ends(p, 0)
	args := []string{"gate"}
	for _, n := range l.document(p).Lines {
		if n.Receipt != "" {
			args = append(args, n.Receipt)
		}
	}
	if len(args) < 2 {
		t.Fatalf("no receipts: %s", &p.out)
	}
	l.dialect(0, args...)
}
