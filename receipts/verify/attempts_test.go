package verify

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestBundleAttempts has a bundle lack attempts that its gate counts, or what shows that one it names is an attempt.
func TestBundleAttempts(t *testing.T) {
	boss, keys := newSigner(t)
	in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
	for name, c := range map[string]struct {
		log    func(m *maker)
		level  int
		want   Verdict
		reason string
	}{
		"failures": {func(m *maker) {
			f := m.receipt(failing, in("r-0"))
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Failed, g.FailedMore = []receipts.Hash{f}, 1 })
		}, 0, Missing, "the bundle has 1 of the 2 failures"},
		"early ends": {func(m *maker) {
			f := m.receipt(killed, in("r-0"))
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Early, g.EarlyMore = []receipts.Hash{f}, 1 })
		}, 0, Missing, "the bundle has 1 of the 2 early ends"},
		"nothing: one that was pending then was settled since": {func(m *maker) {
			h := m.receipt(in("r-0"), func(r *receipts.Receipt) { r.Status = receipts.Pending })
			m.receipt(killed, in("r-9"))
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Early, g.EarlyMore = []receipts.Hash{h}, 1 })
			m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "x", Timestamp: m.now()})
		}, 0, Verified, ""},
		"that the run of a failure without a signature was of a line": {func(m *maker) {
			m.sign = nil
			f := m.receipt(failing, in("r-6"))
			m.sign = boss
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Failed = []receipts.Hash{f} })
		}, receipts.LevelKey, Missing, "the bundle leaves out what shows"},
	} {
		m := newMaker(t)
		m.sign = boss
		c.log(m)
		m.signCheckpoint(boss)
		s, err := OfBundle(m.bundle(string(m.log.note), 0), keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res := ask(t, s, asked(func(q *Query) { q.Level = c.level })); res.Verdict != c.want || !strings.Contains(told(res), c.reason) {
			t.Errorf("%s: %s\nwant %s, %q", name, told(res), c.want, c.reason)
		}
	}
}

// TestLevelOfEachPass: what retries permit a pass with a signature they do not permit one without it beside it.
func TestLevelOfEachPass(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	m.receipt(failing)
	with := m.receipt()
	m.signCheckpoint(boss)
	m.sign = nil
	m.gate([]receipts.Hash{with, m.receipt()})
	q := asked(strict, func(q *Query) { q.Retries = map[string]bool{"check_lint": true} })
	if res := ask(t, m.open(Options{Keys: keys}), q); res.Verdict != Flaky {
		t.Error(told(res))
	}
}

// TestNotUndoneAfterLine: what failed below a line is not undone by a pass without a signature that came once the line had ended.
func TestNotUndoneAfterLine(t *testing.T) {
	boss, keys := newSigner(t)
	for want, after := range map[Verdict]bool{Verified: false, Failed: true} {
		m := newMaker(t)
		line := m.signedBy(boss)
		in := func(r *receipts.Receipt) { r.Run = "r-6" }
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(of("vet"), failing, in)
		var list []receipts.Hash
		if after {
			list = append(list, line())
		}
		m.receipt(of("vet"), in)
		if !after {
			list = append(list, line())
		}
		m.sign = boss
		m.gate(list)
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), asked(nothing, signed)); res.Verdict != want {
			t.Errorf("after the line %t: %s", after, told(res))
		}
	}
}

// TestRepeatedBelow: a gate takes in what a run below its line repeated, whatever else is known of it: nothing was executed for that.
func TestRepeatedBelow(t *testing.T) {
	m := newMaker(t)
	first := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Run = "r-0" })
	m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
	m.receipt(of("vet"), func(r *receipts.Receipt) { r.Run, r.Reused = "r-6", first })
	if d := m.decide(Options{}, requestFor(m.receipt())); !d.Passed() || len(d.Nested) != 1 {
		t.Errorf("nested %v: %v", d.Nested, d.Refusals)
	}
}

// TestPassedStarted: a line that started a run is not repeated, also if the run ended after it.
func TestPassedStarted(t *testing.T) {
	m := newMaker(t)
	m.receipt()
	m.child("r-2", "r-1/1")
	m.receipt(of("more"), func(r *receipts.Receipt) { r.Step = "2" })
	if _, ok, err := m.open(Options{}).Passed(lint, receipts.Datum{}, receipts.Datum{}, treeA); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}
