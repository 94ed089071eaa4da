package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// requestFor asks for a gate of the run r-1 over receipts, strictly, on tree A.
func requestFor(hs ...receipts.Hash) receipts.GateRequest {
	g := receipts.GateRequest{Run: "r-1", Session: "s", Matrix: matrix, Tree: &treeA, Strict: true}
	for _, h := range hs {
		g.Expect = append(g.Expect, receipts.Expectation{SHA: h, Step: "1", Required: true})
	}
	return g
}

func (m *maker) decide(o Options, g receipts.GateRequest) receipts.Decision {
	m.t.Helper()
	d, _, err := m.open(o).Decide(g)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

// TestDecide breaks the conditions of a gate over one receipt, one at a time.
func TestDecide(t *testing.T) {
	anyRun := func(g *receipts.GateRequest) { g.AnyRun = true }
	nonce := func(r *receipts.Receipt) { r.Nonce = "5f" }
	none := func(r *receipts.Receipt) { r.Workspace = nil }
	onB := func(r *receipts.Receipt) { r.Workspace.Before = treeB }
	onA := func(g *receipts.GateRequest) { g.Expect[0].Tree = &treeA }
	leaves := func(t receipts.Tree) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Workspace.After = &t }
	}
	nonces := func(any bool, n string) func(*receipts.GateRequest) {
		return func(g *receipts.GateRequest) { g.AnyRun, g.Nonce = any, n }
	}
	unlookedAt := func(r *receipts.Receipt) { r.Workspace.Still = false }
	otherMatrix := func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }
	as := func(*receipts.Receipt) {}
	for _, tt := range []struct {
		name string
		r    func(*receipts.Receipt)
		g    func(*receipts.GateRequest)
		want receipts.Reason
	}{
		{"as it should be", as, nil, ""},
		{"failed", failing, nil, receipts.NotSucceeded},
		{"consumed", as, nil, receipts.Consumed},
		{"another command", as, func(g *receipts.GateRequest) { g.Expect[0].Argv = []string{"vet"} }, receipts.CommandDiffers},
		{"another project", func(r *receipts.Receipt) { r.Place = receipts.Text("a") }, nil, receipts.OtherPlace},
		{"another run", func(r *receipts.Receipt) { r.Run = "r-2" }, nil, receipts.OtherRun},
		{"another run, and any will do", func(r *receipts.Receipt) { r.Run = "r-2" }, anyRun, ""},
		{"another session", func(r *receipts.Receipt) { r.Session = "z" }, anyRun, receipts.OtherRun},

		{"another matrix, of this run", otherMatrix, nil, ""},
		{"another matrix, of any run", otherMatrix, anyRun, receipts.OtherPolicy},
		{"no binding, of any run", unbound, anyRun, ""},

		{"the expected tree", as, onA, ""},
		{"another tree than the expected one", onB, onA, receipts.TreeChanged},
		{"no tree where one is expected", none, onA, receipts.TreeChanged},
		{"no tree", none, nil, ""},
		{"no tree, of any run", none, anyRun, receipts.NoTree},
		{"another tree, of any run", onB, anyRun, receipts.TreeChanged},
		{"changed the tree, of any run", leaves(treeB), anyRun, receipts.TreeChanged},
		{"left the tree as it was, of any run", leaves(treeA), anyRun, ""},
		{"nobody looked when it had ended", unlookedAt, nil, ""},
		{"nobody looked when it had ended, of any run", unlookedAt, anyRun, receipts.TreeChanged},
		{"its inputs changed while it ran", as, func(g *receipts.GateRequest) { g.Expect[0].Moved = "*.lock" }, receipts.TreeChanged},

		{"the nonce", nonce, nonces(false, "5f"), ""},
		{"no nonce", as, nonces(false, "5f"), receipts.OtherNonce},
		{"a nonce that was not asked for", nonce, nil, receipts.OtherNonce},
		{"no nonce, of any run", as, nonces(true, "5f"), receipts.OtherNonce},
		{"a nonce that was not asked for, of any run", nonce, anyRun, ""},
	} {
		m := newMaker(t)
		g := requestFor(m.receipt(tt.r))
		if tt.want == receipts.Consumed {
			m.consume(g.Expect[0].SHA)
		}
		if tt.g != nil {
			tt.g(&g)
		}
		d := m.decide(Options{}, g)
		if d.Passed() != (tt.want == "") || tt.want != "" && d.Refusals[0].Reason != tt.want {
			t.Errorf("%s: %v; want %q", tt.name, d.Refusals, tt.want)
		}
	}
}

// TestDecideLastWord has a command of a request fail as well.
func TestDecideLastWord(t *testing.T) {
	boss, keys := newSigner(t)
	level := func(l int) func(*receipts.GateRequest) {
		return func(g *receipts.GateRequest) { g.Level = l }
	}
	plain := func(g *receipts.GateRequest) { g.Strict = false }
	for _, tt := range []struct {
		name               string
		log                func(m *maker) []receipts.Hash
		g                  func(*receipts.GateRequest)
		want               receipts.Reason
		failures, accepted int
	}{
		{"before", func(m *maker) []receipts.Hash { m.receipt(failing); return []receipts.Hash{m.receipt()} }, nil, receipts.FlakyPass, 1, 0},
		{"before, which is counted", func(m *maker) []receipts.Hash { m.receipt(failing); return []receipts.Hash{m.receipt()} }, plain, "", 1, 0},
		{"before, which is accepted", func(m *maker) []receipts.Hash { m.receipt(failing); return []receipts.Hash{m.receipt()} },
			func(g *receipts.GateRequest) { g.AcceptFlaky = "the network" }, "", 0, 1},
		{"between two passes of one run", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.receipt(failing)
			return []receipts.Hash{h, m.receipt()}
		}, plain, "", 1, 0},
		{"between a pass and one on other files", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.receipt(failing)
			return []receipts.Hash{h, m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB })}
		}, plain, receipts.Superseded, 0, 0},
		{"after", func(m *maker) []receipts.Hash { h := m.receipt(); m.receipt(failing); return []receipts.Hash{h} }, plain, receipts.Superseded, 0, 0},
		{"after, with other inputs", func(m *maker) []receipts.Hash {
			h := m.receipt(func(r *receipts.Receipt) { r.Inputs = receipts.Hash{2} })
			m.receipt(failing, func(r *receipts.Receipt) { r.Inputs = receipts.Hash{1} })
			return []receipts.Hash{h}
		}, plain, receipts.Superseded, 0, 0},
		{"before, with other inputs", func(m *maker) []receipts.Hash {
			m.receipt(failing, func(r *receipts.Receipt) { r.Inputs = receipts.Hash{1} })
			return []receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Inputs = receipts.Hash{2} })}
		}, plain, "", 0, 0},
		{"before, which retries permit", func(m *maker) []receipts.Hash { m.receipt(failing); return []receipts.Hash{m.receipt()} },
			func(g *receipts.GateRequest) { g.Retries = map[string]bool{"check_lint": true} }, "", 1, 0},
		{"before, which retries do not permit a pass by nobody's signature", func(m *maker) []receipts.Hash {
			m.receipt(failing)
			m.sign = nil
			return []receipts.Hash{m.receipt()}
		}, func(g *receipts.GateRequest) { g.Retries = map[string]bool{"check_lint": true} }, receipts.FlakyPass, 1, 0},
		{"before, on the same bytes of another git tree", func(m *maker) []receipts.Hash {
			m.receipt(failing, func(r *receipts.Receipt) { r.Workspace.Before.Tree = treeB.Tree })
			return []receipts.Hash{m.receipt()}
		}, nil, receipts.FlakyPass, 1, 0},
		{"before, and left the tree that the pass left", func(m *maker) []receipts.Hash {
			m.receipt(failing, changes(treeB, treeA))
			return []receipts.Hash{m.receipt(changes(treeC, treeA))}
		}, nil, receipts.FlakyPass, 1, 0},
		{"before, and changed the files to those that pass as they are", func(m *maker) []receipts.Hash {
			m.receipt(failing, changes(treeB, treeA))
			return []receipts.Hash{m.receipt(changes(treeA, treeA))}
		}, nil, "", 0, 0},
		{"after, on the tree of another step", func(m *maker) []receipts.Hash {
			onB := func(r *receipts.Receipt) { r.Workspace.Before = treeB }
			list := []receipts.Hash{m.receipt(), m.receipt(of("vet"), onB)}
			m.receipt(failing, onB)
			return list
		}, nil, "", 0, 0},
		{"between two passes, the later by nobody's signature", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.receipt(failing)
			m.sign = nil
			return []receipts.Hash{h, m.receipt()}
		}, func(g *receipts.GateRequest) { plain(g); g.Level = receipts.LevelHash }, receipts.Superseded, 1, 0},
		{"after, by nobody's signature", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.sign = nil
			m.receipt(failing)
			return []receipts.Hash{h}
		}, level(receipts.LevelKey), "", 0, 0},
		{"after, by nobody's signature, for a gate without one", func(m *maker) []receipts.Hash {
			h := m.receipt()
			m.sign = nil
			m.receipt(failing)
			return []receipts.Hash{h}
		}, level(receipts.LevelHash), receipts.Superseded, 0, 0},
	} {
		m := newMaker(t)
		m.sign = boss
		g := requestFor(tt.log(m)...)
		m.signCheckpoint(boss)
		if tt.g != nil {
			tt.g(&g)
		}
		d := m.decide(Options{Keys: keys}, g)
		if d.Passed() != (tt.want == "") || tt.want != "" && d.Refusals[0].Reason != tt.want || d.Failures != tt.failures || len(d.Accepted) != tt.accepted {
			t.Errorf("%s: %v, %d failures, %d accepted; want %q, %d, %d", tt.name, d.Refusals, d.Failures, len(d.Accepted), tt.want, tt.failures, tt.accepted)
		}
	}
}

// TestDecideLevel has a decision be about a signed receipt and one that nobody signed.
func TestDecideLevel(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	a := m.receipt()
	m.signCheckpoint(boss)
	m.sign = nil
	b := m.receipt(of("vet"))
	for _, tt := range []struct {
		hs   []receipts.Hash
		want int
	}{{[]receipts.Hash{a}, receipts.LevelKey}, {[]receipts.Hash{a, b}, receipts.LevelHash}, {[]receipts.Hash{b, a}, receipts.LevelHash}} {
		var ids []string
		for _, h := range tt.hs {
			ids = append(ids, h.String())
		}
		v, err := m.open(Options{Keys: keys}).Validate(receipts.LevelHash, ids...)
		if d := m.decide(Options{Keys: keys}, requestFor(tt.hs...)); err != nil || !v.Passed() || d.Level != tt.want || v.Level != tt.want {
			t.Errorf("%d receipts: a gate of L%d, valid at L%d, %v; want L%d", len(ids), d.Level, v.Level, err, tt.want)
		}
		v, err = m.open(Options{Keys: keys}).Validate(receipts.LevelKey, ids...)
		if low := len(v.Refusals) == 1 && v.Refusals[0].Reason == receipts.LevelTooLow && v.Refusals[0].SHA == b; err != nil || low != (tt.want == receipts.LevelHash) || v.Passed() == low {
			t.Errorf("%d receipts of L%d where a key is asked for: %v, %v", len(ids), tt.want, v.Refusals, err)
		}
	}
}

// TestDecideNested has steps of the run start runs that left gates.
func TestDecideNested(t *testing.T) {
	m := newMaker(t)
	child := func(parent string, final bool) receipts.Hash {
		return m.gate([]receipts.Hash{m.receipt(of("vet"))}, func(g *receipts.Gate) { g.Run, g.Parent, g.Final = "r-2", parent, final })
	}
	h := m.receipt()
	want := []receipts.Hash{child("r-1/1", true), child("r-1/2", true), child("r-1/1", true), child("r-1/1", false)}
	m.consume(want[2])
	child("r-11/1", true)
	child("", true)
	if d := m.decide(Options{}, requestFor(h)); !d.Passed() || !slices.Equal(d.Nested, want) {
		t.Errorf("%v, nested %v; want %v", d.Refusals, d.Nested, want)
	}
}

// TestGather has a gate request be made of receipts by their ids.
func TestGather(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  func(m *maker) receipts.Hash
		want receipts.Reason
	}{
		{"as it should be", func(m *maker) receipts.Hash { return m.receipt() }, ""},
		{"failed before, which is for the gate to say", func(m *maker) receipts.Hash { m.receipt(failing); return m.receipt() }, ""},
		{"failed, which is for the gate to say", func(m *maker) receipts.Hash { return m.receipt(failing) }, ""},
		{"failed since", func(m *maker) receipts.Hash { h := m.receipt(); m.receipt(failing); return h }, receipts.Superseded},
		{"of another tree", func(m *maker) receipts.Hash {
			return m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB })
		}, receipts.TreeChanged},
		{"of another command", func(m *maker) receipts.Hash { return m.receipt(of("vet")) }, receipts.NotCovered},
		{"unknown", func(m *maker) receipts.Hash { m.receipt(); return receipts.Hash{3} }, receipts.Missing},
	} {
		m := newMaker(t)
		h := tt.log(m)
		g := requestFor()
		refused := m.open(Options{}).Gather(&g, asked(strict), h.String())
		if tt.want == "" && len(refused) > 0 || tt.want != "" && (len(refused) == 0 || refused[0].Reason != tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, refused, tt.want)
		}
		if known := tt.want != receipts.Missing; known && (len(g.Expect) != 1 || g.Expect[0].SHA != h || !g.Expect[0].Required) {
			t.Errorf("%s: the gate expects %v", tt.name, g.Expect)
		}
	}
}

// TestGatherElsewhere: a receipt of the command in another directory is not of what is required, and is not said to be.
func TestGatherElsewhere(t *testing.T) {
	m := newMaker(t)
	h := m.receipt(func(r *receipts.Receipt) { r.Dir = receipts.Text("a") })
	g := requestFor()
	refused := m.open(Options{}).Gather(&g, asked(), h.String())
	if len(refused) != 1 || !strings.Contains(refused[0].Message, "none of the receipts is of its command") {
		t.Error(refused)
	}
}

// TestUnsettled asks which pending receipts a record of a level can settle.
func TestUnsettled(t *testing.T) {
	boss, keys := newSigner(t)
	key, none := receipts.LevelKey, receipts.LevelHash
	for _, c := range []struct {
		name    string
		pending *receipts.Signer
		by      []*receipts.Signer // who settled it
		level   int
		ok      bool
	}{
		{"not settled", boss, nil, none, true},
		{"settled by a key", boss, []*receipts.Signer{boss}, key, false},
		{"settled by nobody's signature, and again so", boss, []*receipts.Signer{nil}, none, false},
		{"settled by nobody's signature, and then by a key", boss, []*receipts.Signer{nil}, key, true},
		{"not signed, settled so, and then by a key", nil, []*receipts.Signer{nil}, key, false},
	} {
		m := newMaker(t)
		m.sign = c.pending
		h := m.receipt(func(r *receipts.Receipt) { r.Status = receipts.Pending })
		for _, by := range c.by {
			m.sign = by
			m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.Succeeded, By: "x", Timestamp: m.now()})
		}
		m.signCheckpoint(boss)
		if d, err := m.open(Options{Keys: keys}).Unsettled(h.String(), c.level); err != nil || d.Passed() != c.ok {
			t.Errorf("%s: %v, %v", c.name, d.Refusals, err)
		}
	}
	m := newMaker(t)
	passed := m.receipt()
	for id, want := range map[receipts.Hash]receipts.Reason{passed: receipts.Repeated, m.gate([]receipts.Hash{passed}): receipts.NotReceipt} {
		if d, err := m.open(Options{}).Unsettled(id.String(), none); err != nil || d.Passed() || d.Refusals[0].Reason != want {
			t.Errorf("%v, %v; want %s", d.Refusals, err, want)
		}
	}
}

// TestOtherSettled: of attempts that a record below the level settled, a gate counts those whose settlement names a key.
func TestOtherSettled(t *testing.T) {
	boss, keys := newSigner(t)
	for signer, want := range map[string]int{"": 0, "zed+12345678": 1} {
		m := newMaker(t)
		m.sign = boss
		h := m.receipt(func(r *receipts.Receipt) { r.Run, r.Status = "r-0", receipts.Pending })
		m.sign = nil
		m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "ci", Timestamp: m.now(), Signer: signer})
		m.sign = boss
		g := requestFor(m.receipt())
		g.Level = receipts.LevelKey
		m.signCheckpoint(boss)
		if d := m.decide(Options{Keys: keys}, g); !d.Passed() || d.OtherSettled != want {
			t.Errorf("settled by %q: %d, %v", signer, d.OtherSettled, d.Refusals)
		}
	}
}

// TestPassed asks what `run --reuse` may repeat.
func TestPassed(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		want bool
	}{
		{"nothing", func(m *maker) {}, false},
		{"passed", func(m *maker) { m.receipt(failing); m.receipt() }, true},
		{"failed since", func(m *maker) { m.receipt(); m.receipt(failing) }, false},
		{"another command", func(m *maker) { m.receipt(of("vet")) }, false},
		{"in another directory", func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Dir = receipts.Text("a") }) }, false},
		{"on another tree", func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB }) }, false},
		{"on the same bytes, of another git tree", func(m *maker) {
			m.receipt(func(r *receipts.Receipt) { r.Workspace.Before.Tree = treeB.Tree })
		}, false},
		{"pending", func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Status = receipts.Pending }) }, false},
	} {
		m := newMaker(t)
		tt.log(m)
		if _, ok, err := m.open(Options{}).Passed(lint, receipts.Datum{}, receipts.Datum{}, treeA); ok != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.name, ok, err)
		}
	}
}

// TestCounted asks for the last success of a command that counted tests.
func TestCounted(t *testing.T) {
	tests := func(r *receipts.Receipt) { r.Tests = &receipts.Tests{Passed: 3} }
	for _, tt := range []struct {
		name string
		log  func(m *maker) receipts.Hash
	}{
		{"none", func(m *maker) receipts.Hash { m.receipt(); return receipts.Hash{} }},
		{"the newest", func(m *maker) receipts.Hash { m.receipt(tests); return m.receipt(tests) }},
		{"before a failure", func(m *maker) receipts.Hash { h := m.receipt(tests); m.receipt(tests, failing); return h }},
		{"before one that counted none", func(m *maker) receipts.Hash { h := m.receipt(tests); m.receipt(); return h }},
		{"before the run itself", func(m *maker) receipts.Hash {
			h := m.receipt(tests)
			m.receipt(tests, func(r *receipts.Receipt) { r.Run = "r-2" })
			return h
		}},
		{"before another command of the binding", func(m *maker) receipts.Hash {
			h := m.receipt(tests)
			m.receipt(of("vet"), tests, func(r *receipts.Receipt) { r.Binding = "check_lint" })
			return h
		}},
		{"before another binding of the command", func(m *maker) receipts.Hash {
			h := m.receipt(tests)
			m.receipt(tests, func(r *receipts.Receipt) { r.Binding = "check_more" })
			return h
		}},
	} {
		m := newMaker(t)
		want := tt.log(m)
		of := receipts.Counting{Binding: "check_lint", Command: lint}
		found, err := m.open(Options{}).Counted([]receipts.Counting{of}, "r-2", "")
		e, ok := found[of]
		if ok == want.IsZero() || e.SHA != want || err != nil {
			t.Errorf("%s: %v, %v, %v; want %v", tt.name, e.SHA, ok, err, want)
		}
	}
}

// TestConsumed has records be consumed that may not, or not again.
func TestConsumed(t *testing.T) {
	m := newMaker(t)
	other := m.receipt(of("vet"))
	part := m.gate([]receipts.Hash{other}, func(g *receipts.Gate) { g.Final = false })
	gate := m.gate([]receipts.Hash{m.receipt(), part})
	decide := func(q Query, ids ...string) (receipts.Decision, []receipts.Hash) {
		t.Helper()
		d, all, err := m.open(Options{}).Consume(q, ids...)
		if err != nil {
			t.Fatal(err)
		}
		return d, all.Taken
	}
	g := receipts.GateID(gate)
	if d, all := decide(asked(), g); !d.Passed() || len(all) != 4 {
		t.Errorf("%v, %d hashes; want the gate, a receipt, a part and its receipt", d.Refusals, len(all))
	}
	if d, _ := decide(asked(nothing), receipts.GateID(part)); !d.Passed() {
		t.Errorf("a part: %v", d.Refusals)
	}
	if d, _ := decide(asked(nothing), m.receipt(of("vet"), unbound).String()); !d.Passed() {
		t.Errorf("a leaf under no binding: %v", d.Refusals)
	}
	bare := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Workspace = nil })
	noTree := func(q *Query) { q.Tree = nil }
	if d, _ := decide(asked(nothing, noTree, func(q *Query) { q.Outside = true }), bare.String()); !d.Passed() {
		t.Errorf("a leaf without a tree, outside of any project: %v", d.Refusals)
	}
	settled := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Status, r.Workspace.Still = receipts.Pending, false })
	m.add(&receipts.Settlement{Version: 1, Receipt: settled, Status: receipts.Succeeded, By: "x", Timestamp: m.now()})
	if d, _ := decide(asked(nothing), settled.String()); !d.Passed() {
		t.Errorf("a leaf whose files nobody looked at, and that somebody settled: %v", d.Refusals)
	}
	refused := func(name string, want receipts.Reason, d receipts.Decision, all []receipts.Hash) {
		t.Helper()
		if d.Passed() || d.Refusals[0].Reason != want || all != nil {
			t.Errorf("%s: %v, want %s", name, d.Refusals, want)
		}
	}
	is := func(name string, want receipts.Reason, q Query, ids ...string) {
		t.Helper()
		d, all := decide(q, ids...)
		refused(name, want, d, all)
	}
	is("of another tree", receipts.TreeChanged, asked(func(q *Query) { q.Tree = &treeB }), g)
	is("a part for a requirement", receipts.NotFinal, asked(), receipts.GateID(part))
	is("leaf without a tree", receipts.NoTree, asked(nothing, noTree), bare.String())
	is("leaf that changed the tree", receipts.TreeChanged, asked(nothing), m.receipt(func(r *receipts.Receipt) { r.Workspace.After = &treeB }).String())
	is("leaf of another tree", receipts.TreeChanged, asked(nothing, func(q *Query) { q.Tree = &treeB }), other.String())
	is("under another matrix", receipts.OtherPolicy, asked(func(q *Query) { q.Policy = "changed" }), g)
	is("leaf under another matrix", receipts.OtherPolicy, asked(nothing, func(q *Query) { q.Matrix = receipts.Hash{1} }), other.String())
	is("twice at once", receipts.Repeated, asked(), g, gate.String())
	is("unknown", receipts.Missing, asked(), "g-000000000000")
	is("leaf for a requirement", receipts.NotFinal, asked(), other.String())
	is("leaf whose files nobody looked at when it had ended", receipts.TreeChanged, asked(nothing), m.receipt(func(r *receipts.Receipt) { r.Workspace.Still = false }).String())
	is("leaf of another project", receipts.OtherPlace, asked(nothing, func(q *Query) { q.Place = receipts.Text("a") }), other.String())
	m.receipt(of("vet"), failing)
	is("failed since", receipts.Superseded, asked(), g)
	is("leaf that failed since", receipts.Superseded, asked(nothing), other.String())
	m = newMaker(t)
	gate = m.gate([]receipts.Hash{m.receipt()})
	m.consume(gate)
	is("again", receipts.Consumed, asked(), gate.String())
	m = newMaker(t)
	m.receipt(failing)
	is("failed before", receipts.FlakyPass, asked(), m.gate([]receipts.Hash{m.receipt()}).String())
	m = newMaker(t)
	f := m.receipt(failing)
	is("a failure", receipts.NotSucceeded, asked(nothing), f.String())
	run := m.run("r-3")
	is("a run", receipts.NotReceipt, asked(nothing), run.String())
}

// TestMet has a line pass elsewhere, under another matrix, and before it failed.
func TestMet(t *testing.T) {
	for name, tt := range map[string]struct {
		log  func(m *maker)
		want bool
	}{
		"as it should be":      {func(m *maker) { m.receipt() }, true},
		"on another tree":      {func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB }) }, false},
		"in another place":     {func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Place = receipts.Text("b") }) }, false},
		"under another matrix": {func(m *maker) { m.receipt(func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }) }, false},
		"and failed after":     {func(m *maker) { m.receipt(); m.receipt(failing) }, false},
		"after it failed":      {func(m *maker) { m.receipt(failing); m.receipt() }, true},
	} {
		m := newMaker(t)
		tt.log(m)
		q := asked()
		if got, err := m.open(Options{}).Met(q, q.Require[0].Meets); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestDecideEarlier has a script with a gate in the middle: what happened to the lines above that since it was made is about the run's last gate, too.
func TestDecideEarlier(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, since bool // the line failed in another run
		strict        bool
		want          receipts.Reason
	}{
		{"nothing failed", false, false, true, ""},
		{"it failed before", true, false, false, ""},
		{"it failed before, strictly", true, false, true, receipts.FlakyPass},
		{"it failed since", false, true, false, receipts.Superseded},
	} {
		m := newMaker(t)
		m.run("r-1")
		other := func(r *receipts.Receipt) { r.Run = "r-2" }
		if c.before {
			m.receipt(failing, other)
		}
		first := m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Final = false })
		if c.since {
			m.receipt(failing, other)
		}
		g := requestFor(m.receipt(of("all")))
		g.Strict = c.strict
		g.Expect = append(g.Expect, receipts.Expectation{SHA: first, Step: "2", Gate: true})
		d := m.decide(Options{}, g)
		var got receipts.Reason
		if !d.Passed() {
			got = d.Refusals[0].Reason
		}
		if failures := c.before && !c.strict; got != c.want || c.want == "" && (len(d.Failed) > 0) != failures {
			t.Errorf("%s: %q, %d failures, want %q: %+v", c.name, got, len(d.Failed), c.want, d.Refusals)
		}
	}
}

// TestDecided has the log hold a gate whose process is gone, and the same run decide once more: that gate stands only if it is of just this request, at its level.
func TestDecided(t *testing.T) {
	boss, keys := newSigner(t)
	for name, tt := range map[string]struct {
		gate    func(*receipts.Gate)
		request func(*receipts.GateRequest)
		stands  bool
	}{
		"the same":       {stands: true},
		"of another run": {gate: func(g *receipts.Gate) { g.Run = "r-2" }},
		"a nonce":        {gate: func(g *receipts.Gate) { g.Nonce = "5f" }},
		"not final":      {gate: func(g *receipts.Gate) { g.Final = false }},
		"other lines":    {gate: func(g *receipts.Gate) { g.Covers.LastLine = 2 }},
		"a script":       {gate: func(g *receipts.Gate) { g.Script = receipts.Hash{1} }},
		"a matrix":       {gate: func(g *receipts.Gate) { g.Matrix = receipts.Hash{1} }},
		"other files":    {gate: func(g *receipts.Gate) { g.Tree = &treeB }},
		"no files":       {gate: func(g *receipts.Gate) { g.Tree = nil }},
		"other members":  {gate: func(g *receipts.Gate) { g.Members = append(g.Members, receipts.Hash{1}) }},
		"not resumed":    {request: func(g *receipts.GateRequest) { g.Resumed = false }},
		"without a key":  {gate: func(g *receipts.Gate) { g.Signer, g.Level = "", 0 }},
	} {
		m := newMaker(t)
		m.sign = boss
		m.run("r-1")
		line := m.receipt()
		if name == "without a key" {
			m.sign = nil
		}
		change := tt.gate
		if change == nil {
			change = func(*receipts.Gate) {}
		}
		gate := m.gate([]receipts.Hash{line}, change)
		m.sign = boss
		m.add(&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{line}, By: gate.String(), Timestamp: m.now()})
		m.signCheckpoint(boss)
		g := requestFor(line)
		g.Resumed, g.Final, g.Level, g.Covers = true, true, receipts.LevelKey, receipts.Covers{FirstLine: 1, LastLine: 1, Commands: 1}
		if tt.request != nil {
			tt.request(&g)
		}
		switch d := m.decide(Options{Keys: keys}, g); {
		case tt.stands && (!d.Passed() || d.Gate != gate):
			t.Errorf("%s: %v, gate %s, want %s", name, d.Refusals, d.Gate.Short(), gate.Short())
		case !tt.stands && (len(d.Refusals) != 1 || d.Refusals[0].Reason != receipts.Consumed):
			t.Errorf("%s: gate %s, %v; want consumed", name, d.Gate.Short(), d.Refusals)
		}
	}
}
