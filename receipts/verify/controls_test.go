package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// control makes a receipt one of a control of its command.
func control(outcome string) func(*receipts.Receipt) {
	return func(r *receipts.Receipt) {
		r.Control = &receipts.Control{Binding: r.Binding, Command: r.Command, Path: receipts.Text("a.go"), Line: 1, Nonce: "n", Outcome: outcome}
		r.Binding, r.Argv, r.Tests = "", nil, nil
		for _, a := range receipts.ControlArgv(r.Control.Command) {
			r.Argv = append(r.Argv, receipts.Text(a))
		}
		r.Command = receipts.CommandHash(receipts.ControlArgv(r.Control.Command))
		if outcome != receipts.Noticed {
			r.Status, r.StopReason = receipts.StatusFailed, receipts.StopExpectation
		}
	}
}

// TestChecks counts the checks behind a gate that were tested. A control says nothing of its line, and counts on its tree, under
// its matrix and with its binding alone; the newest one decides.
func TestChecks(t *testing.T) {
	noticed, blind := control(receipts.Noticed), control("blind")
	onB := func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} }
	pass := func(m *maker) { m.gate([]receipts.Hash{m.receipt()}) }
	lone := func(after receipts.Tree) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			r.Line.File, r.Workspace = receipts.Text("exec"), &receipts.Workspace{Before: treeA, After: &after}
		}
	}
	for name, c := range map[string]struct {
		log        func(m *maker)
		want       Verdict // with ChecksTested
		tested, of int     // of 0: no check was ever tested
		same       bool
	}{
		"none":               {pass, Missing, 0, 0, false},
		"noticed":            {func(m *maker) { m.receipt(noticed); pass(m) }, Verified, 1, 1, true},
		"after the gate":     {func(m *maker) { pass(m); m.receipt(noticed) }, Verified, 1, 1, true},
		"blind":              {func(m *maker) { pass(m); m.receipt(blind) }, Missing, 0, 1, true},
		"blind since":        {func(m *maker) { pass(m); m.receipt(noticed); m.receipt(blind) }, Missing, 0, 1, true},
		"noticed since":      {func(m *maker) { pass(m); m.receipt(blind); m.receipt(noticed) }, Verified, 1, 1, true},
		"on another tree":    {func(m *maker) { m.receipt(onB, noticed); pass(m) }, Missing, 1, 1, false},
		"of another line":    {func(m *maker) { m.receipt(of("vet"), noticed); pass(m) }, Missing, 0, 0, false},
		"of another binding": {func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Binding = "b" }, noticed); pass(m) }, Missing, 0, 0, false},
		"under another matrix": {func(m *maker) {
			m.receipt(noticed, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{0x55} })
			pass(m)
		}, Missing, 0, 0, false},
		"in another directory": {func(m *maker) { m.receipt(noticed, func(r *receipts.Receipt) { r.Dir = receipts.Text("x") }); pass(m) }, Missing, 0, 0, false},
		"under other inputs": {func(m *maker) {
			m.receipt(noticed, func(r *receipts.Receipt) { r.Inputs = receipts.Hash{0x66} })
			pass(m)
		}, Missing, 0, 0, false},
		"in a clean checkout, whose inputs say nothing of those of the pass": {func(m *maker) {
			m.receipt(noticed, func(r *receipts.Receipt) { r.Clean, r.Inputs = &receipts.Clean{}, receipts.Hash{0x66} })
			pass(m)
		}, Verified, 1, 1, true},
		"a pass that is no check": {func(m *maker) { m.receipt(); pass(m) }, Missing, 0, 0, false},
		"taken by exec":           {func(m *maker) { m.receipt(noticed); m.gate([]receipts.Hash{m.receipt(lone(treeA))}) }, Verified, 1, 1, true},
	} {
		m := newMaker(t)
		c.log(m)
		res := ask(t, m.open(Options{}), asked(strict))
		if res.Verdict != Verified || res.Failures > 0 {
			t.Errorf("%s: without the question it is %s", name, told(res))
		}
		switch k := res.Checks; {
		case k == nil && c.of > 0, k != nil && (k.Tested != c.tested || k.Of != c.of || k.Same != c.same):
			t.Errorf("%s: %+v, want %d of %d, %v", name, k, c.tested, c.of, c.same)
		}
		if res = ask(t, m.open(Options{}), asked(strict, func(q *Query) { q.ChecksTested = true })); res.Verdict != c.want {
			t.Errorf("%s: %s\nwant %s", name, told(res), c.want)
		}
	}
}

// TestLoneCheck: a line whose pass is of a lone command is a check like others, and is not left out beside one that was tested.
func TestLoneCheck(t *testing.T) {
	m := newMaker(t)
	m.receipt(of("vet"), control(receipts.Noticed))
	m.gate([]receipts.Hash{m.receipt(of("vet")), m.receipt(func(r *receipts.Receipt) {
		r.Line.File, r.Workspace.After = receipts.Text("exec"), &treeA
	})})
	res := ask(t, m.open(Options{}), asked(nothing, func(q *Query) { q.ChecksTested = true }))
	if res.Verdict != Missing || res.Checks == nil || res.Checks.Tested != 1 || res.Checks.Of != 2 {
		t.Errorf("%s, %+v", told(res), res.Checks)
	}
}

// TestControlIsNoPass has a control, which succeeded, in the place of a pass: no gate can have it for a member, it meets no
// requirement, and no gate is proposed of it.
func TestControlIsNoPass(t *testing.T) {
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt(control(receipts.Noticed))})
	res := ask(t, m.open(Options{}), asked())
	if res.Verdict != Tampered || len(res.Ungated) > 0 {
		t.Errorf("%s, %d ungated", told(res), len(res.Ungated))
	}
}

// TestControlIsNotConsumed asks for a control by its name, as one who would hand it in for a pass: it is of no success.
func TestControlIsNotConsumed(t *testing.T) {
	m := newMaker(t)
	sha := m.receipt(control(receipts.Noticed))
	e, err := m.open(Options{}).Entry(sha.String())
	if err != nil {
		t.Fatal(err)
	}
	if reason, text := e.Succeeded(receipt(&e)); reason != receipts.NotReceipt || !strings.Contains(text, "broken on purpose") {
		t.Errorf("%s: %s", reason, text)
	}
	res, err := m.open(Options{}).One(asked(), sha.String())
	if err != nil || res.Verdict == Verified {
		t.Errorf("%s, %v", told(res), err)
	}
}

// TestChecksAsked: what is asked of members is asked of the controls behind them.
func TestChecksAsked(t *testing.T) {
	m := newMaker(t)
	old := func(r *receipts.Receipt) { r.Timestamp = receipts.Time{Time: noon.Add(-time.Hour)} }
	m.receipt(old, control(receipts.Noticed))
	m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Session, r.Nonce = "t", "n" })}, func(g *receipts.Gate) { g.Session, g.Nonce = "t", "n" })
	for name, c := range map[string]struct {
		ask  func(*Query)
		want Verdict
	}{
		"nothing":   {func(*Query) {}, Verified},
		"an age":    {func(q *Query) { q.MaxAge = 90 * time.Minute }, Missing},
		"a session": {func(q *Query) { q.Session = "t" }, Missing},
		"a nonce":   {func(q *Query) { q.Nonce = "n" }, Missing},
	} {
		if res := ask(t, m.open(Options{}), asked(strict, c.ask)); res.Verdict != Verified {
			t.Errorf("%s, of members alone: %s", name, told(res))
		}
		if res := ask(t, m.open(Options{}), asked(strict, c.ask, func(q *Query) { q.ChecksTested = true })); res.Verdict != c.want {
			t.Errorf("%s: %s", name, told(res))
		}
	}
}

// TestControlRefused has a control not be one of those that are asked for.
func TestControlRefused(t *testing.T) {
	for name, c := range map[string]struct {
		control func(*receipts.Receipt)
		ask     func(*Query)
	}{
		"repeated, and fresh results are asked for": {func(r *receipts.Receipt) { r.Reused = receipts.Hash{5} }, func(q *Query) { q.Fresh = true }},
		"repeated, and young results are asked for": {func(r *receipts.Receipt) { r.Reused = receipts.Hash{5} }, func(q *Query) { q.MaxAge = 2 * time.Hour }},
		"of the future": {func(r *receipts.Receipt) { r.Timestamp.Time = noon.Add(2 * time.Hour) }, func(q *Query) { q.MaxAge = 2 * time.Hour }},
		"in place, and clean checkouts are asked for": {func(*receipts.Receipt) {}, func(q *Query) { q.Clean = true }},
	} {
		for _, refused := range []bool{false, true} {
			m := newMaker(t)
			clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
			own, want := clean, Verified
			if refused {
				own, want = c.control, Missing
			}
			m.receipt(control(receipts.Noticed), own)
			m.gate([]receipts.Hash{m.receipt(clean)})
			if res := ask(t, m.open(Options{}), asked(strict, c.ask, func(q *Query) { q.ChecksTested = true })); res.Verdict != want {
				t.Errorf("%s %t: %s\nwant %s", name, refused, told(res), want)
			}
		}
	}
}

// TestControlLevel: a control below the level that is asked for says nothing of a check.
func TestControlLevel(t *testing.T) {
	boss, keys := newSigner(t)
	for _, by := range []*receipts.Signer{boss, nil} {
		m := newMaker(t)
		m.sign = by
		m.receipt(control(receipts.Noticed))
		m.sign = boss
		m.gate([]receipts.Hash{m.receipt()})
		m.signCheckpoint(boss)
		want := Verified
		if by == nil {
			want = Missing
		}
		res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed, func(q *Query) { q.ChecksTested = true }))
		if res.Verdict != want || (res.Checks != nil) != (by != nil) {
			t.Errorf("signed %v: %s, %+v", by != nil, told(res), res.Checks)
		}
	}
}
