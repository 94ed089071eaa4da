package verify

import (
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

type several []note.Verifiers

func (s several) Verifier(name string, hash uint32) (v note.Verifier, err error) {
	for _, keys := range s {
		if v, err = keys.Verifier(name, hash); err == nil {
			break
		}
	}
	return v, err
}

// TestHandedUnsigned has a worker sign a receipt of a run that has no key.
func TestHandedUnsigned(t *testing.T) {
	crew, keys := newSigner(t)
	m := newMaker(t)
	m.sign = crew
	h := m.receipt(func(r *receipts.Receipt) { r.Dispatch = 1 })
	m.sign = nil
	m.gate([]receipts.Hash{h})
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed)); res.Verdict != Missing || !strings.Contains(told(res), "no gate here is signed with a key that counts") {
		t.Error(told(res))
	}
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict)); res.Verdict != Verified || res.Level != receipts.LevelHash {
		t.Errorf("%s, level %d", told(res), res.Level)
	}
}

// TestHandedAbove: the checkpoint that covers a worker's receipts covers none that came after it.
func TestHandedAbove(t *testing.T) {
	crew, keys := newSigner(t)
	g, err := crew.Sign(origin, receipts.Hash{1})
	if err != nil {
		t.Fatal(err)
	}
	for seq, fault := range map[int64]bool{4: false, 5: true} {
		if text := (Coverage{"boss+00000001": 5}).Fault(keys, seq, g, "boss", g.ID(), true); (text != "") != fault {
			t.Errorf("record %d, of 5 that are covered: %q", seq, text)
		}
	}
}

// TestHanded has a worker sign a receipt, and the orchestrator the rest, and the checkpoint: it is covered by that, and a receipt of a worker
// behind it is not, nor one that the other key has signed of an attempt of its own.
func TestHanded(t *testing.T) {
	boss, bossKeys := newSigner(t)
	crew, crewKeys := newSigner(t)
	keys := several{bossKeys, crewKeys}
	handed := func(r *receipts.Receipt) { r.Dispatch = 1 }
	for name, tt := range map[string]struct {
		spoil func(m *maker)
		own   bool // the receipt is of no worker
		want  string
	}{
		"as it should be": {func(m *maker) { m.signCheckpoint(boss) }, false, ""},
		"of its own":      {func(m *maker) { m.signCheckpoint(boss) }, true, "record 1 is signed, and no signed checkpoint covers it"},
		"no checkpoint":   {func(*maker) {}, false, "no signed checkpoint covers it"},
		"an older one": {func(m *maker) {
			recs := m.log.recs
			m.again(recs[:1])
			m.signCheckpoint(boss)
			m.again(recs)
		}, false, "the signed checkpoint covers 1 records alone"},
		"one before it cut out":    {func(m *maker) { m.signCheckpoint(boss); m.again(m.log.recs[1:]) }, false, "cut or rolled back"},
		"its signature taken away": {func(m *maker) { m.signCheckpoint(boss); m.log.recs[1].Signature = "" }, false, "it was taken away"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker(t)
			m.sign = boss
			m.receipt(of("vet"))
			m.sign = crew
			var change []func(*receipts.Receipt)
			if !tt.own {
				change = append(change, handed)
			}
			h := m.receipt(change...)
			m.sign = boss
			m.gate([]receipts.Hash{h})
			tt.spoil(m)
			res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed))
			if tt.want == "" && res.Verdict != Verified || tt.want != "" && (res.Verdict != Tampered || !strings.Contains(told(res), tt.want)) {
				t.Errorf("%s\nwant %q", told(res), tt.want)
			}
		})
	}
}

// TestHandedRetry has a worker sign a second attempt of a step that failed: it is a retry only where the rules give the binding any.
func TestHandedRetry(t *testing.T) {
	boss, bossKeys := newSigner(t)
	crew, crewKeys := newSigner(t)
	for _, tt := range []struct {
		by      *receipts.Signer
		retries bool
		want    Verdict
	}{{crew, false, Flaky}, {crew, true, Verified}, {boss, false, Verified}} {
		m := newMaker(t)
		m.sign = tt.by
		attempt := func(n int) func(*receipts.Receipt) {
			return func(r *receipts.Receipt) {
				if r.Attempt = n; tt.by == crew {
					r.Dispatch = 1
				}
			}
		}
		m.receipt(failing, attempt(1))
		pass := m.receipt(attempt(2))
		m.sign = boss
		m.gate([]receipts.Hash{pass})
		m.signCheckpoint(boss)
		res := ask(t, m.open(Options{Keys: several{bossKeys, crewKeys}}), asked(strict, signed, func(q *Query) {
			if tt.retries {
				q.Retries = map[string]bool{"check_lint": true}
			}
		}))
		if res.Verdict != tt.want {
			t.Errorf("of the worker %v, with retries %v: %s\nwant %s", tt.by == crew, tt.retries, told(res), tt.want)
		}
	}
}

// TestHandedExact has an agent test the files of a commit with something beside them that no clone has, and hand that gate back.
func TestHandedExact(t *testing.T) {
	rough := treeA
	rough.Exact = false
	for name, tt := range map[string]struct {
		gate, line receipts.Tree
		came       int
		commit     bool
		want       Verdict
		why        string
	}{
		"exact":                    {treeA, treeA, 0, true, Verified, ""},
		"the gate is not":          {rough, treeA, 0, true, Stale, "has: it does not say that its tree is exact"},
		"a line is not":            {treeA, rough, 0, true, Stale, "ran on other files than a clone of the commit has"},
		"files that came and went": {treeA, treeA, 1, true, Stale, " may have read a file that no longer exists"},
		"of no commit":             {rough, rough, 0, false, Verified, ""},
	} {
		for _, inner := range []bool{false, true} {
			m := newMaker(t)
			back := m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = tt.line })}, func(g *receipts.Gate) { g.Tree, g.Came = &tt.gate, tt.came })
			task := func(r *receipts.Receipt) { r.Kind, r.HandedBack = "task", back }
			var over receipts.Hash
			if inner {
				m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
				in := func(r *receipts.Receipt) { r.Run, r.Step = "r-6", "1" }
				below := m.gate([]receipts.Hash{m.receipt(of("agent"), task, in)}, func(g *receipts.Gate) { g.Run, g.Parent = "r-6", "r-1/1" })
				over = m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Nested = []receipts.Hash{below} })
			} else {
				over = m.gate([]receipts.Hash{m.receipt(of("agent"), task)})
			}
			res, err := m.open(Options{}).One(asked(nothing, func(q *Query) { q.Commit = tt.commit }), over.String())
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != tt.want || len(res.Refusals) > 0 && !strings.HasSuffix(res.Refusals[0].Message, tt.why) {
				t.Errorf("%s, inner %v: %s\nwant %s: %s", name, inner, told(res), tt.want, tt.why)
			}
		}
	}
}

// TestInnerCame has the run that a line started see files that came and went, and the run of the line not: the gate of the line is as good as that.
func TestInnerCame(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*receipts.Gate)
		want   Verdict
	}{
		"none came":          {func(*receipts.Gate) {}, Verified},
		"one came":           {func(g *receipts.Gate) { g.Came = 1 }, Stale},
		"in another project": {func(g *receipts.Gate) { g.Came, g.Place = 1, receipts.Text("a") }, Stale},
		"on other files":     {func(g *receipts.Gate) { g.Came, g.Tree = 1, &treeB }, Verified},
	} {
		m := newMaker(t)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		in := func(r *receipts.Receipt) { r.Run, r.Step = "r-6", "1" }
		below := m.gate([]receipts.Hash{m.receipt(of("vet"), in)}, func(g *receipts.Gate) { g.Run, g.Parent = "r-6", "r-1/1" }, tt.change)
		line := m.receipt()
		for _, anyRun := range []bool{false, true} { // a run passes, and its verdict says what came
			g := requestFor(line)
			if g.AnyRun = anyRun; anyRun {
				g.Tree = &treeA
			}
			if d := m.decide(Options{}, g); d.Passed() != (tt.want == Verified || !anyRun) {
				t.Errorf("%s: gate of any run %v: %v", name, anyRun, d.Refusals)
			}
		}
		if d, _, err := m.open(Options{}).Consume(asked(nothing), line.String()); err != nil || d.Passed() != (tt.want == Verified) {
			t.Errorf("%s: consumed: %v, %v", name, d.Refusals, err)
		}
		tree := treeA
		tree.Exact = false
		m.gate([]receipts.Hash{line}, func(g *receipts.Gate) {
			g.Nested, g.Tree, g.Beyond = []receipts.Hash{below}, &tree, []receipts.Datum{receipts.Text("pipe: a FIFO: no commit holds it")}
		})
		res := ask(t, m.open(Options{}), asked())
		if res.Verdict != tt.want {
			t.Errorf("%s: %s\nwant %s", name, told(res), tt.want)
		}
		if len(res.Refusals) > 0 && !strings.HasSuffix(res.Refusals[0].Message, " may have read a file that no longer exists") {
			t.Errorf("%s: %s", name, told(res)) // what makes the tree inexact is another thing
		}
	}
}
