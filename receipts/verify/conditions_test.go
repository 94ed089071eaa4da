package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// TestConditions breaks the conditions of the package documentation that are about one
// gate, one at a time. The log that each case changes is verified as it is.
func TestConditions(t *testing.T) {
	type log = func(m *maker)
	one := func(change ...func(*receipts.Receipt)) log {
		return func(m *maker) { m.gate([]receipts.Hash{m.receipt(change...)}) }
	}
	gate := func(change ...func(*receipts.Gate)) log {
		return func(m *maker) { m.gate([]receipts.Hash{m.receipt()}, change...) }
	}
	elsewhere := receipts.Text("a")
	digest := receipts.Hash{5}
	commit := func(q *Query) { q.Tree, q.Commit = &receipts.Tree{Tree: treeA.Tree}, true }
	inexact := func(r *receipts.Receipt) { r.Workspace.Before.Exact = false }
	young := func(q *Query) { q.MaxAge = 90 * time.Minute }
	repeats := func(first receipts.Hash) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Reused = first }
	}
	repeated := func(at time.Duration) log {
		return func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(repeats(m.receipt(func(r *receipts.Receipt) { r.Timestamp.Time = noon.Add(at) })))})
		}
	}
	for _, tt := range []struct {
		name   string
		log    log
		ask    func(*Query)
		want   Verdict
		reason receipts.Reason
	}{
		{"as it should be", one(), nil, Verified, ""},
		{"no gate", func(m *maker) { m.receipt() }, nil, Missing, receipts.Missing},
		{"not final", gate(func(g *receipts.Gate) { g.Final = false }), nil, Missing, receipts.Missing},
		{"no members", func(m *maker) { m.gate([]receipts.Hash{}) }, nothing, Missing, receipts.NotCovered},

		{"with a failure that it names", func(m *maker) {
			f := m.receipt(failing)
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Failed = []receipts.Hash{f} })
		}, nil, Verified, ""},
		{"a failure that it names is not in the log", gate(func(g *receipts.Gate) { g.Failed = []receipts.Hash{{3}} }), nil, Tampered, receipts.Missing},
		{"a failure that a member names is not in the log", func(m *maker) {
			m.gate([]receipts.Hash{m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Final, g.Failed = false, []receipts.Hash{{3}} })})
		}, nil, Tampered, receipts.Missing},
		{"member not in the log", func(m *maker) { m.gate([]receipts.Hash{m.receipt(), {3}}) }, nil, Tampered, receipts.Missing},
		{"member failed", func(m *maker) { m.gate([]receipts.Hash{m.receipt(), m.receipt(of("other"), failing)}) }, nil, Tampered, receipts.NotSucceeded},
		{"member pending", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(), m.receipt(of("other"), func(r *receipts.Receipt) { r.Status = receipts.Pending })})
		}, nil, Tampered, receipts.NotTerminal},
		{"member is not a receipt", func(m *maker) { m.gate([]receipts.Hash{m.receipt(), m.run("r-9")}) }, nil, Tampered, receipts.NotReceipt},
		{"member of a member failed", func(m *maker) {
			part := m.gate([]receipts.Hash{m.receipt(of("other"), failing)}, func(g *receipts.Gate) { g.Final = false })
			m.gate([]receipts.Hash{m.receipt(), part})
		}, nil, Tampered, receipts.NotSucceeded},

		{"tree not known", one(), func(q *Query) { q.Tree = nil }, Stale, receipts.NoTree},
		{"gate without a tree", gate(func(g *receipts.Gate) { g.Tree = nil }), nil, Stale, receipts.NoTree},
		{"gate of another tree", gate(func(g *receipts.Gate) { g.Tree = &treeB }), nil, Stale, receipts.TreeChanged},
		{"member of another tree", one(func(r *receipts.Receipt) { r.Workspace.Before = treeB }), nil, Stale, receipts.TreeChanged},
		{"member of another tree, nothing required", one(func(r *receipts.Receipt) { r.Workspace.Before = treeB }), nothing, Stale, receipts.TreeChanged},
		{"member without a tree", one(func(r *receipts.Receipt) { r.Workspace = nil }), nil, Stale, receipts.NoTree},
		{"member changed the tree", one(func(r *receipts.Receipt) {
			r.Workspace.After, r.Workspace.Changed = &treeB, []receipts.Datum{receipts.Text("x")}
		}), nil, Stale, receipts.TreeChanged},
		{"a commit", one(), commit, Verified, ""},
		{"files that came and went again", gate(func(g *receipts.Gate) { g.Came = 1 }), nil, Stale, receipts.Inexact},
		{"a commit, and files that came and went again", gate(func(g *receipts.Gate) { g.Came = 1 }), commit, Stale, receipts.Inexact},
		{"files that came before a gate in the middle", func(m *maker) {
			inner := m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Final, g.Came = false, 1 })
			m.gate([]receipts.Hash{inner})
		}, commit, Stale, receipts.Inexact},
		{"a commit, and a tree that is not exact", gate(func(g *receipts.Gate) {
			tree := treeA
			tree.Exact = false
			g.Tree, g.Beyond = &tree, []receipts.Datum{receipts.Text("x: filter=lie")}
		}), commit, Stale, receipts.Inexact},
		{"a commit, and no tree of git", gate(func(g *receipts.Gate) { g.Tree = &receipts.Tree{Bytes: treeA.Bytes} }), commit, Stale, receipts.NoTree},
		{"a commit, and a member on a tree that is not exact", one(inexact), commit, Stale, receipts.Inexact},
		{"a commit, and a member that left an exact tree", one(inexact, func(r *receipts.Receipt) { r.Workspace.After = &treeA }), commit, Stale, receipts.Inexact},
		{"a commit, and another line on other files", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(), m.receipt(of("vet"), inexact, func(r *receipts.Receipt) { r.Workspace.Before.Bytes = treeB.Bytes })})
		}, commit, Verified, ""},
		{"the same git tree, other bytes", one(), func(q *Query) {
			other := treeA
			other.Bytes = receipts.Hash{0xc}
			q.Tree = &other
		}, Stale, receipts.TreeChanged},

		{"gate of another project", gate(func(g *receipts.Gate) { g.Place = elsewhere }), nil, Missing, receipts.OtherPlace},
		{"asked in another project", one(), func(q *Query) { q.Place = elsewhere }, Missing, receipts.OtherPlace},
		{"member of another project", one(func(r *receipts.Receipt) { r.Place = elsewhere }), nil, Missing, receipts.OtherPlace},

		{"gate of another project under its own matrix, after a gate here", func(m *maker) {
			one()(m)
			m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Place, r.Matrix = elsewhere, digest })}, func(g *receipts.Gate) { g.Place, g.Matrix = elsewhere, digest })
		}, nil, Verified, ""},
		{"gate of another project under its own matrix, and none here", gate(func(g *receipts.Gate) { g.Place, g.Matrix = elsewhere, digest }), nil, Missing, receipts.Missing},
		{"gate under another matrix, and a failure under this one", func(m *maker) {
			m.receipt(failing)
			m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Matrix, r.Binding = digest, "x" })}, func(g *receipts.Gate) { g.Matrix = digest })
		}, nil, Failed, receipts.NotSucceeded},
		{"matrix not trusted", one(), func(q *Query) { q.Policy = "routing.toml changed" }, Policy, receipts.OtherPolicy},
		{"matrix not trusted, and no gate", func(m *maker) { m.receipt() }, func(q *Query) { q.Policy = "routing.toml changed" }, Policy, receipts.OtherPolicy},
		{"gate under another matrix", gate(func(g *receipts.Gate) { g.Matrix = digest }), nil, Policy, receipts.OtherPolicy},
		{"gate under another matrix, of another tree", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Matrix = digest })}, func(g *receipts.Gate) { g.Matrix, g.Tree = digest, &treeB })
		}, nil, Stale, receipts.OtherPolicy},
		{"member under another matrix", one(func(r *receipts.Receipt) { r.Matrix = digest }), nil, Policy, receipts.OtherPolicy},

		{"requirement not covered", one(), func(q *Query) { q.Require = append(q.Require, Requirement{Name: "x", Binding: "x", Command: digest}) }, Missing, receipts.NotCovered},
		{"requirement by another command", one(of("true"), func(r *receipts.Receipt) { r.Binding = "check_lint" }), nil, Missing, receipts.CommandDiffers},
		{"requirement in another directory", one(func(r *receipts.Receipt) { r.Dir = elsewhere }), nil, Missing, receipts.CommandDiffers},
		{"requirement by a receipt without a binding", one(unbound), nil, Outside, receipts.NotCovered},
		{"requirement under another binding", one(func(r *receipts.Receipt) { r.Binding = "check_weak" }), nil, Missing, receipts.NotCovered},

		{"inputs as they are", one(func(r *receipts.Receipt) { r.Inputs = digest }), func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": digest} }, Verified, ""},
		{"other inputs", one(func(r *receipts.Receipt) { r.Inputs = digest }), func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {6}} }, Stale, receipts.InputsChanged},
		{"no inputs recorded", one(), func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": digest} }, Stale, receipts.InputsChanged},

		{"another session", one(), func(q *Query) { q.Session = "today" }, Missing, receipts.OtherRun},
		{"another nonce", one(), func(q *Query) { q.Nonce = "5f" }, Missing, receipts.OtherNonce},
		{"too old", one(), func(q *Query) { q.MaxAge = time.Minute }, Stale, receipts.TooOld},
		{"as old as it may be", gate(func(g *receipts.Gate) { g.Timestamp.Time = noon.Add(time.Second) }), func(q *Query) { q.MaxAge = time.Hour - time.Second }, Verified, ""},
		{"gate of the future", gate(func(g *receipts.Gate) { g.Timestamp.Time = noon.Add(70 * time.Minute) }), young, Stale, receipts.TooOld},
		{"of the future", one(), func(q *Query) { q.MaxAge, q.Now = time.Minute, noon.Add(-time.Hour) }, Stale, receipts.TooOld},
		{"member too old", one(func(r *receipts.Receipt) { r.Timestamp.Time = noon.Add(-time.Hour) }), func(q *Query) { q.MaxAge = 90 * time.Minute }, Stale, receipts.TooOld},
		{"member of the future", one(func(r *receipts.Receipt) { r.Timestamp.Time = noon.Add(3 * time.Hour) }), young, Stale, receipts.TooOld},
		{"a repeated result of one that is too old", repeated(-time.Hour), young, Stale, receipts.TooOld},
		{"and any age will do", repeated(-time.Hour), nil, Verified, ""},
		{"a repeated result of a young one", repeated(0), young, Verified, ""},
		{"a repeated result of the future", repeated(3 * time.Hour), young, Stale, receipts.TooOld},
		{"a repeated result of one that is not there", one(func(r *receipts.Receipt) { r.Reused = digest }), young, Stale, receipts.TooOld},
		{"a repeated result of a repeated one", func(m *maker) {
			again := m.receipt(repeats(m.receipt()))
			m.gate([]receipts.Hash{m.receipt(repeats(again))})
		}, young, Stale, receipts.TooOld},
		{"a repeated result of no receipt", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(repeats(m.run("r-9")))})
		}, young, Stale, receipts.TooOld},
		{"a repeated result", one(func(r *receipts.Receipt) { r.Reused = digest }), func(q *Query) { q.Fresh = true }, Missing, receipts.ReusedResult},
		{"a repeated result will do", one(func(r *receipts.Receipt) { r.Reused = digest }), nil, Verified, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			tt.log(m)
			q := asked()
			if tt.ask != nil {
				tt.ask(&q)
			}
			res := ask(t, m.open(Options{}), q)
			if res.Verdict != tt.want || tt.reason != "" && !reason(res, tt.reason) || tt.want == Verified && len(res.Refusals) > 0 {
				t.Errorf("%s\nwant %s by %s", told(res), tt.want, tt.reason)
			}
		})
	}
}

// TestAge asks how old a repeated result is, by the name of its receipt and by its gate: as old as what it repeats, and says so.
func TestAge(t *testing.T) {
	m := newMaker(t)
	first := m.receipt(func(r *receipts.Receipt) { r.Timestamp.Time = noon.Add(-time.Hour) })
	again := m.receipt(func(r *receipts.Receipt) { r.Reused = first })
	m.gate([]receipts.Hash{again})
	q := asked(nothing, func(q *Query) { q.MaxAge = 90 * time.Minute })
	const want = "ran 2h0m0s ago, and its result was repeated since; at most 1h30m0s is accepted"
	if res := ask(t, m.open(Options{}), q); res.Verdict != Stale || !strings.Contains(told(res), want) {
		t.Errorf("%s\nwant %q", told(res), want)
	}
	s := m.open(Options{})
	if res := s.judgeAny(q, s.bySHA(again)[again]); res.Verdict != Stale || !strings.Contains(told(res), want) {
		t.Errorf("%s\nwant %q", told(res), want)
	}
}

// TestOutside has a required command pass alone, and not as a line.
func TestOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*receipts.Receipt)
		want   Verdict
	}{
		"as it should be":      {func(*receipts.Receipt) {}, Outside},
		"in another directory": {func(r *receipts.Receipt) { r.Dir = receipts.Text("a") }, Missing},
		"in another project":   {func(r *receipts.Receipt) { r.Place = receipts.Text("a") }, Missing},
	} {
		m := newMaker(t)
		m.receipt(unbound, tt.change)
		if res := ask(t, m.open(Options{}), asked()); res.Verdict != tt.want {
			t.Errorf("%s: %s", name, told(res))
		}
	}
}

// TestAgainIsOfItsStep: what a later attempt excuses is of its own step, also where another step of the command passed beside it.
func TestAgainIsOfItsStep(t *testing.T) {
	m := newMaker(t)
	m.receipt(failing)
	again := m.receipt(func(r *receipts.Receipt) { r.Attempt = 2 })
	other := m.receipt(func(r *receipts.Receipt) { r.Step = "2" })
	m.gate([]receipts.Hash{again, other})
	if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != Flaky {
		t.Error(told(res))
	}
}

// TestLevel has records that nobody signed stand beside signed ones.
func TestLevel(t *testing.T) {
	boss, keys := newSigner(t)
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		want Verdict
	}{
		{"all signed", func(m *maker) { m.gate([]receipts.Hash{m.receipt()}) }, Verified},
		{"gate not signed", func(m *maker) { h := m.receipt(); m.sign = nil; m.gate([]receipts.Hash{h}) }, Missing},
		{"member not signed", func(m *maker) {
			m.sign = nil
			h := m.receipt()
			m.sign = boss
			m.gate([]receipts.Hash{h})
		}, Missing},
		{"gate says less", func(m *maker) { m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Level = 0 }) }, Missing},
		{"part not signed", func(m *maker) {
			h := m.receipt()
			m.sign = nil
			part := m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Final = false })
			m.sign = boss
			m.gate([]receipts.Hash{part})
		}, Missing},
		{"settled by nobody's signature", func(m *maker) {
			h := m.receipt(func(r *receipts.Receipt) { r.Status = receipts.Pending })
			m.sign = nil
			m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.Succeeded, By: "x", Timestamp: m.now()})
			m.sign = boss
			m.gate([]receipts.Hash{h})
		}, Missing},
		{"failure not signed", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt()})
			m.sign = nil
			m.receipt(failing)
		}, Verified},
		{"failure signed, acceptance not", func(m *maker) {
			f := m.receipt(failing)
			m.sign = nil
			m.accept(f)
			m.sign = boss
			m.gate([]receipts.Hash{m.receipt()})
		}, Flaky},
		{"another tree's signed, and more of made-up signers than are looked at", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Tree = &treeB })
			m.sign = nil
			for i := range maxNear + 1 {
				m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Tree, g.Signer = &treeC, fmt.Sprintf("boss+%08x", i) })
			}
		}, Stale},
		{"another tree's signed, this one's not", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Tree = &treeB })
			m.sign = nil
			m.gate([]receipts.Hash{m.receipt()})
		}, Stale},
		{"hidden by 300 others", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt()})
			m.sign = nil
			h := m.receipt()
			for range 300 {
				m.gate([]receipts.Hash{h})
			}
		}, Verified},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			m.sign = boss
			tt.log(m)
			m.signCheckpoint(boss)
			if res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed)); res.Verdict != tt.want {
				t.Errorf("%s\nwant %s", told(res), tt.want)
			}
		})
	}
}

// TestOne asks about one record that is not a final gate.
func TestOne(t *testing.T) {
	m := newMaker(t)
	leaf := m.receipt()
	part := m.gate([]receipts.Hash{leaf}, func(g *receipts.Gate) { g.Final = false })
	s := m.open(Options{})
	for id, want := range map[receipts.Hash]receipts.Reason{leaf: receipts.NotReceipt, part: receipts.NotFinal} {
		if res, err := s.One(asked(), id.String()); err != nil || res.Verdict != Missing || !reason(res, want) {
			t.Errorf("%s, %v; want %s", told(res), err, want)
		}
	}
	final := m.gate([]receipts.Hash{leaf})
	if res, err := m.open(Options{}).One(asked(), final.String()); err != nil || res.Verdict != Verified {
		t.Errorf("%s, %v", told(res), err)
	}
}

// TestDeep has 100,000 gates name one another, and 2,000 with trees of their own.
func TestDeep(t *testing.T) {
	m := newMaker(t)
	h := m.receipt()
	part := func(g *receipts.Gate) { g.Final = false }
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for range n {
		h = m.gate([]receipts.Hash{h}, part)
	}
	g := m.gate([]receipts.Hash{h})
	s := m.open(Options{})
	if res := ask(t, s, asked()); res.Verdict != Verified || len(res.Members) != 1 {
		t.Error(told(res))
	}
	if d, all, err := s.Consume(asked(), g.String()); err != nil || !d.Passed() || len(all.Taken) != n+2 {
		t.Errorf("%v, %v, %d hashes", d.Refusals, err, len(all.Taken))
	}
}

// TestNamedGate asks about a gate by its id where another line failed on the tree: who names
// a gate gets no milder answer than who names none.
func TestNamedGate(t *testing.T) {
	m := newMaker(t)
	m.receipt(of("vet"), failing)
	g := m.gate([]receipts.Hash{m.receipt()})
	q := asked(nothing)
	if res := ask(t, m.open(Options{}), q); res.Verdict != Failed {
		t.Errorf("any gate: %s", told(res))
	}
	res, err := m.open(Options{}).One(q, g.String())
	if err != nil || res.Verdict != Failed {
		t.Errorf("by id: %s, %v", told(res), err)
	}
	if d, _, err := m.open(Options{}).Consume(q, g.String()); err != nil || d.Passed() {
		t.Errorf("it can be consumed: %v", err)
	}
}

// TestUndone has a pass follow a failure, each with and without a signature.
func TestUndone(t *testing.T) {
	boss, keys := newSigner(t)
	vet := of("vet")
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		ask  func(*Query)
		want Verdict
	}{
		{"signed, undone by nobody's signature", func(m *maker) { m.receipt(vet, failing); m.sign = nil; m.receipt(vet) }, nothing, Failed},
		{"signed, undone by a signature", func(m *maker) { m.receipt(vet, failing); m.sign = nil; m.receipt(vet); m.sign = boss; m.receipt(vet) }, nothing, Verified},
		{"signed, undone by nobody's signature in a run that began since", func(m *maker) {
			m.receipt(vet, failing)
			m.sign = nil
			m.run("r-2")
			m.receipt(vet, func(r *receipts.Receipt) { r.Run = "r-2" })
		}, nothing, Failed},
		{"neither signed", func(m *maker) { m.sign = nil; m.receipt(vet, failing); m.receipt(vet) }, nothing, Verified},
		{"under no binding and signed, undone by nobody's signature", func(m *maker) { m.receipt(failing, unbound); m.sign = nil }, func(*Query) {}, Failed},
		{"under no binding, neither signed", func(m *maker) { m.sign = nil; m.receipt(failing, unbound) }, func(*Query) {}, Verified},
	} {
		m := newMaker(t)
		m.sign = boss
		tt.log(m)
		m.gate([]receipts.Hash{m.receipt()})
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), asked(tt.ask)); res.Verdict != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, told(res), tt.want)
		}
	}
}

// A twoFaced log scans its records as face shows them, and reads single ones as they are. A
// B-tree whose inner keys were overwritten does it, and so does a writer between two looks.
type twoFaced struct {
	*slice
	face  func(Raw) (Raw, bool)
	scans int
}

func (l *twoFaced) Records(ctx context.Context, from int64, f func(Raw) bool) error {
	l.scans++
	return l.slice.Records(ctx, from, func(r Raw) bool {
		r, ok := l.face(r)
		return !ok || f(r)
	})
}

// TestReadAgain shows that a record is signed, which no signed checkpoint covers, to one of two looks
// alone: to the reading of the log, or to that of the record, of logs whose records are
// kept in memory and of those that are not.
func TestReadAgain(t *testing.T) {
	boss, keys := newSigner(t)
	bare := func(r Raw) (Raw, bool) { r.Signature = ""; return r, true }
	faces := map[string]struct {
		scan, single func(Raw) (Raw, bool)
	}{
		"no scan shows it":        {bare, nil},
		"no single one shows it":  {func(r Raw) (Raw, bool) { return r, true }, bare},
		"a scan leaves it out":    {func(r Raw) (Raw, bool) { return r, r.Signature == "" }, nil},
		"a scan shows no records": {func(r Raw) (Raw, bool) { return r, false }, nil},
	}
	for name, face := range faces {
		for _, more := range []int{0, fewRecords} {
			m := newMaker(t)
			for range more {
				m.receipt()
			}
			m.sign = boss
			r := m.receipt()
			m.signCheckpoint(boss) // over all but the gate
			m.gate([]receipts.Hash{r})
			m.log.reread = face.single
			log := &twoFaced{slice: m.log, face: face.scan}
			s, err := Open(t.Context(), log, Options{Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			if res := ask(t, s, asked(strict, signed)); res.Verdict != Tampered {
				t.Errorf("%s, after %d more: %s", name, more, told(res))
			}
			if log.scans != 1 {
				t.Errorf("%s, after %d more: the log was read %d times", name, more, log.scans)
			}
		}
	}
}

// TestCovered reads a signed log that grew past its signed checkpoint by unsigned records, with
// keys and a memory of it.
func TestCovered(t *testing.T) {
	boss, keys := newSigner(t)
	m, f := newMaker(t), memoryFile(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	m.sign = nil
	o := Options{Keys: keys, MemoryKept: true}
	m.remember(f, o)
	m.receipt(of("vet"))
	o.Memory = recollect(t, f)
	s := m.open(o)
	if res := ask(t, s, asked(strict, signed)); res.Verdict != Verified || s.audited() != 1 {
		t.Errorf("%s, %d read", told(res), s.audited())
	}
	m.again(m.log.recs[:2])
	m.sign = boss
	m.receipt(of("lint"), func(r *receipts.Receipt) { r.Workspace = nil }) // which no answer reads
	o.Memory = recollect(t, f)
	if res := ask(t, m.open(o), asked(strict, signed)); res.Verdict != Tampered {
		t.Errorf("a signed record past the signed checkpoint: %s", told(res))
	}
}

// TestMemberWithoutTree has the command of a member that does not say what it ran on fail later.
func TestMemberWithoutTree(t *testing.T) {
	m := newMaker(t)
	a := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Workspace = nil })
	m.gate([]receipts.Hash{m.receipt(), a})
	if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != Verified {
		t.Errorf("before: %s", told(res))
	}
	m.receipt(of("vet"), failing)
	if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != Failed {
		t.Errorf("after: %s", told(res))
	}
}

// TestRetries has a later attempt pass: it excuses an attempt of its own step, and no other
// failure.
func TestRetries(t *testing.T) {
	second := func(r *receipts.Receipt) { r.Attempt, r.Run = 2, "r-2" }
	for name, c := range map[string]struct {
		fails func(*receipts.Receipt)
		want  Verdict
	}{
		"of its own step":    {func(r *receipts.Receipt) { r.Run = "r-2" }, Verified},
		"of another step":    {func(r *receipts.Receipt) { r.Run, r.Step = "r-2", "2" }, Flaky},
		"of another run":     {func(r *receipts.Receipt) {}, Flaky},
		"of another binding": {func(r *receipts.Receipt) { r.Binding = "check_more" }, Flaky},
	} {
		m := newMaker(t)
		m.receipt(failing, c.fails)
		m.gate([]receipts.Hash{m.receipt(second)})
		if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, told(res), c.want)
		}
	}
}

// TestOtherStoreNow opens a second session of a process over another log.
func TestOtherStoreNow(t *testing.T) {
	m, n := newMaker(t), newMaker(t)
	m.receipt()
	before := m.open(Options{})
	n.log.origin = "dialect/other"
	n.gate([]receipts.Hash{n.receipt()})
	if res := ask(t, n.open(Options{Before: before}), asked()); res.Verdict != Tampered {
		t.Errorf("%s", told(res))
	}
}

// TestNotesGoOn asks twice in one process where the memory is of another store.
func TestNotesGoOn(t *testing.T) {
	m, n, f := newMaker(t), newMaker(t), memoryFile(t)
	m.gate([]receipts.Hash{m.receipt()})
	m.remember(f, Options{})
	n.log.origin = "dialect/other"
	n.gate([]receipts.Hash{n.receipt()})
	o := Options{Memory: recollect(t, f)}
	for range 2 {
		s := n.open(o)
		if res := ask(t, s, asked()); !strings.Contains(strings.Join(res.Notes, "\n"), "another store stood here") {
			t.Errorf("%q", res.Notes)
		}
		o.Before = s
	}
}

// TestInexactMember has a receipt that was taken by itself know the files at two times.
func TestInexactMember(t *testing.T) {
	bare := treeA
	bare.Exact = false
	for name, w := range map[string]*receipts.Workspace{
		"before": {Before: bare, After: &treeA}, "after": {Before: treeA, After: &bare}, "neither": {Before: treeA, After: &treeA},
	} {
		m := newMaker(t)
		m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Workspace = w })})
		q := asked()
		q.Commit, q.Tree = true, &receipts.Tree{Tree: treeA.Tree}
		if res := ask(t, m.open(Options{}), q); (res.Verdict == Stale) != (name != "neither") {
			t.Errorf("%s: %s", name, told(res))
		}
	}
}

// TestWroteNothing holds a line that may change files, and has changed none, to the tree: what it found is about the files that it saw.
func TestWroteNothing(t *testing.T) {
	for name, c := range map[string]struct {
		w    *receipts.Workspace
		want Verdict
	}{
		"changed none, of another tree": {&receipts.Workspace{Before: treeB, After: &treeB}, Stale},
		"changed none, of this tree":    {&receipts.Workspace{Before: treeA, After: &treeA}, Verified},
		"changed some, of another tree": {&receipts.Workspace{Before: treeA, After: &treeB, Changed: []receipts.Datum{receipts.Text("x.go")}}, Verified},
	} {
		m := newMaker(t)
		writer := m.receipt(func(r *receipts.Receipt) { r.Workspace = c.w })
		m.gate([]receipts.Hash{writer, m.receipt(of("vet"))})
		q := asked()
		q.Require = nil
		if res := ask(t, m.open(Options{}), q); res.Verdict != c.want {
			t.Errorf("%s: %s", name, told(res))
		}
	}
}

// TestChangesFiles names a line that changed the tree that it speaks for.
func TestChangesFiles(t *testing.T) {
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) {
		r.Workspace = &receipts.Workspace{Before: treeB, After: &treeA, Changed: []receipts.Datum{receipts.Text("x.go")}}
	})})
	if res := ask(t, m.open(Options{}), asked()); res.Verdict != Verified || !strings.Contains(strings.Join(res.Notes, "\n"), "files changed while ") {
		t.Errorf("%s, %q", told(res), res.Notes)
	}
}

// TestCheckedTwice: a command that passed on the files of the gate may have passed before them, too, where a line between changed them. Another that
// did so, under a binding with other variables, may be asked for or not.
func TestCheckedTwice(t *testing.T) {
	twin := func(r *receipts.Receipt) { r.Binding = "check_other" }
	vars := func(q *Query) { q.Env = map[string]string{"check_lint": "a", "check_other": "b"} }
	for _, c := range []struct {
		first func(*receipts.Receipt)
		ask   func(*Query)
		want  Verdict
	}{
		{func(*receipts.Receipt) {}, strict, Verified},
		{func(*receipts.Receipt) {}, nothing, Verified},
		{twin, func(q *Query) { strict(q); vars(q) }, Verified},
		{twin, strict, Stale},
		{twin, func(q *Query) { nothing(q); vars(q) }, Stale},
	} {
		m := newMaker(t)
		first := m.receipt(c.first, func(r *receipts.Receipt) { r.Workspace.Before = treeB })
		write := m.receipt(of("format"), changes(treeB, treeA))
		m.gate([]receipts.Hash{first, write, m.receipt()})
		if res := ask(t, m.open(Options{}), asked(c.ask)); res.Verdict != c.want {
			t.Errorf("%s\nwant %s", told(res), c.want)
		}
	}
}
