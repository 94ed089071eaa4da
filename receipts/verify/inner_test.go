package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// outer is the run that starts others: of the line "all", whose command runs the script of lint.
func (m *maker) outer(nested []receipts.Hash, change ...func(*receipts.Receipt)) receipts.Hash {
	m.t.Helper()
	h := m.receipt(append([]func(*receipts.Receipt){of("all")}, change...)...)
	return m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Nested = nested })
}

// started is a receipt of a run that step 1 of the outer one started, in the project a, under its matrix.
func started(r *receipts.Receipt) {
	r.Run, r.Place, r.Matrix = "r-2", receipts.Text("a"), receipts.Hash{9}
}

// inside is the gate of that run.
func (m *maker) inside(members ...receipts.Hash) receipts.Hash {
	m.t.Helper()
	return m.gate(members, func(g *receipts.Gate) {
		g.Run, g.Parent, g.Place, g.Matrix = "r-2", "r-1/1", receipts.Text("a"), receipts.Hash{9}
	})
}

// child is the gate of a run that a step started, over one receipt.
func (m *maker) child(run, parent string, change ...func(*receipts.Receipt)) receipts.Hash {
	m.t.Helper()
	of := func(r *receipts.Receipt) { r.Run = run }
	h := m.receipt(append([]func(*receipts.Receipt){started, of}, change...)...)
	return m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Run, g.Parent = run, parent })
}

// TestInner has a line start a run, or an agent hand one back. Conditions 12 to 15 are of what that did, too.
func TestInner(t *testing.T) {
	repeats := func(h receipts.Hash) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Reused = h }
	}
	again := func(r *receipts.Receipt) { r.Attempt = 2 }
	onB := func(r *receipts.Receipt) { r.Workspace.Before = treeB }
	fresh := func(q *Query) { q.Fresh = true }
	young := func(q *Query) { q.Now, q.MaxAge = noon.Add(10*time.Second), 9*time.Second } // the first record is just that old
	older := func(q *Query) { young(q); q.Now = q.Now.Add(time.Second) }
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		ask  func(*Query)
		want Verdict
		says string
	}{
		{"as it should be", func(m *maker) { m.outer([]receipts.Hash{m.inside(m.receipt(started))}) }, strict, Verified, ""},
		{"failed before", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started))})
		}, strict, Flaky, "q.dlct:1 (Check with lint), in a run that q.dlct:1 (Check with lint) started, passed on this tree only after it had failed on it"},
		{"failed before, not strictly", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started))})
		}, nil, Verified, ""},
		{"failed after", func(m *maker) {
			g := m.inside(m.receipt(started))
			m.receipt(started, failing)
			m.outer([]receipts.Hash{g})
		}, nil, Failed, "failed on this tree after it had passed"},
		{"failed after, and passed again under another matrix", func(m *maker) {
			a := m.receipt(started)
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(a, m.receipt(started, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{8} }))})
		}, nil, Failed, "failed on this tree after it had passed"},
		{"failed after, and passed again", func(m *maker) {
			a := m.receipt(started)
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(a, m.receipt(started))})
		}, nil, Verified, ""},
		{"failed before in another project", func(m *maker) {
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Place = receipts.Text("b") })
			m.outer([]receipts.Hash{m.inside(m.receipt(started))})
		}, strict, Verified, ""},
		{"failed before on other files than it passed on", func(m *maker) {
			m.receipt(started, failing, of("all"))
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Workspace.Before = treeC })
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Workspace.Before = treeB }))})
		}, strict, Verified, ""},
		{"failed before on the files of the gate, and passed on others", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Workspace.Before = treeB }))})
		}, strict, Failed, "failed on this tree and passed on other files alone"},
		{"failed before, and the outer line has retries", func(m *maker) {
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-3" }))}, again)
		}, strict, Verified, ""},
		{"failed in a run of its own, and the outer line has retries", func(m *maker) {
			m.run("r-2")
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-3" }))}, again)
		}, strict, Flaky, "only after it had failed"},
		{"failed before, and retries of the outer binding allow it", func(m *maker) {
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started))})
		}, func(q *Query) { q.Strict, q.Retries = true, map[string]bool{"check_all": true} }, Verified, ""},
		{"failed before in a run of its own, of which retries of the outer binding say nothing", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started))})
		}, func(q *Query) { q.Strict, q.Retries = true, map[string]bool{"check_all": true} }, Flaky, "only after it had failed"},
		{"failed before, two runs down", func(m *maker) {
			m.receipt(started, failing)
			g := m.inside(m.receipt(started))
			g = m.gate([]receipts.Hash{m.receipt(of("vet"), started)}, func(b *receipts.Gate) { b.Run, b.Parent, b.Nested = "r-3", "r-1/1", []receipts.Hash{g} })
			m.outer([]receipts.Hash{g})
		}, strict, Flaky, "only after it had failed"},
		{"failed on files that the second of two inner runs was on", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started, onB)), m.inside(m.receipt(started))})
		}, strict, Flaky, "only after it had failed"},
		{"failed on files that the first of two inner runs was on", func(m *maker) {
			m.receipt(started, failing)
			m.outer([]receipts.Hash{m.inside(m.receipt(started)), m.inside(m.receipt(started, onB))})
		}, strict, Flaky, "only after it had failed"},
		{"failed after, and passed on other files then", func(m *maker) {
			g := m.inside(m.receipt(started))
			m.receipt(started, failing)
			m.outer([]receipts.Hash{g, m.inside(m.receipt(started, onB))})
		}, nil, Failed, "failed on this tree after it had passed"},
		{"failed after, and passed then", func(m *maker) {
			g := m.inside(m.receipt(started))
			m.receipt(started, failing)
			m.outer([]receipts.Hash{g, m.inside(m.receipt(started))})
		}, nil, Verified, ""},
		{"the line itself failed on files that an inner run alone was on", func(m *maker) {
			m.receipt(of("all"), failing, onB)
			m.outer([]receipts.Hash{m.inside(m.receipt(started, onB))})
		}, strict, Verified, ""},
		{"inputs of another folder under the same matrix", func(m *maker) {
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Matrix, r.Inputs = matrix, receipts.Hash{1} }))})
		}, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}} }, Verified, ""},
		{"inputs of the same folder under another matrix", func(m *maker) {
			m.outer([]receipts.Hash{m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Place, r.Inputs = receipts.Datum{}, receipts.Hash{1} }))})
		}, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}} }, Verified, ""},
		{"inputs of the same folder under the same matrix", func(m *maker) {
			h := m.receipt(started, func(r *receipts.Receipt) { r.Matrix, r.Place, r.Inputs = matrix, receipts.Datum{}, receipts.Hash{1} })
			m.outer([]receipts.Hash{m.inside(h)})
		}, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}} }, Stale, "are not those that it ran with"},
		{"repeated", func(m *maker) {
			m.outer([]receipts.Hash{m.inside(m.receipt(started, repeats(m.receipt(started))))})
		}, strict, Verified, ""},
		{"repeated, and fresh results are asked for", func(m *maker) {
			m.outer([]receipts.Hash{m.inside(m.receipt(started, repeats(m.receipt(started))))})
		}, fresh, Missing, "repeats the result of"},
		{"repeated after a long time", func(m *maker) {
			h := m.receipt(started)
			m.n = 7
			m.outer([]receipts.Hash{m.inside(m.receipt(started, repeats(h)))})
		}, older, Stale, "its result was repeated since"},
		{"young enough", func(m *maker) {
			h := m.receipt(started)
			m.n = 2
			m.outer([]receipts.Hash{m.inside(m.receipt(started, repeats(h)))})
		}, young, Verified, ""},
		{"a gate that names what is not in the log", func(m *maker) { m.outer([]receipts.Hash{{3}, m.inside(receipts.Hash{4})}) }, strict, Verified, ""},
		{"handed back", func(m *maker) {
			g := m.gate([]receipts.Hash{m.receipt(started)})
			m.gate([]receipts.Hash{m.receipt(of("all"), func(r *receipts.Receipt) { r.HandedBack = g })})
		}, strict, Verified, ""},
		{"failed before, and handed back", func(m *maker) {
			m.receipt(started, failing)
			g := m.gate([]receipts.Hash{m.receipt(started)})
			m.gate([]receipts.Hash{m.receipt(of("all"), func(r *receipts.Receipt) { r.HandedBack = g })})
		}, strict, Flaky, "only after it had failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			tt.log(m)
			q := asked(func(q *Query) {
				q.Require = []Requirement{{Name: "all", Binding: "check_all", Command: receipts.CommandHash([]string{"all"}), Words: "all"}}
			})
			if tt.ask != nil {
				tt.ask(&q)
			}
			if res := ask(t, m.open(Options{}), q); res.Verdict != tt.want || !strings.Contains(told(res), tt.says) {
				t.Errorf("%s\nwant %s %q", told(res), tt.want, tt.says)
			}
		})
	}
}

// TestInnerCounts has what inner runs left counted in the outer verdict.
func TestInnerCounts(t *testing.T) {
	m := newMaker(t)
	m.receipt(started, killed)
	f := m.receipt(started, failing)
	m.accept(f)
	m.receipt(started, killed, func(r *receipts.Receipt) { r.Workspace.Before = treeB })
	other := m.inside(m.receipt(started, of("vet"), func(r *receipts.Receipt) { r.Workspace.Before = treeB }))
	m.outer([]receipts.Hash{m.inside(m.receipt(started)), other})
	res := ask(t, m.open(Options{}), asked(strict, nothing))
	if res.Verdict != Verified || res.Early != 1 || !slices.Equal(res.Accepted, []string{`accepted by ann: "the network"`}) {
		t.Errorf("%s; %d ended early, accepted: %q", told(res), res.Early, res.Accepted)
	}
}

// TestInnerLevel has a signed run start one that repeats a result: what an agent recorded without a key does not count for it.
func TestInnerLevel(t *testing.T) {
	s, keys := newSigner(t)
	for _, own := range []bool{true, false} {
		m := newMaker(t)
		if own {
			m.sign = s
		}
		h := m.receipt(started)
		m.sign = nil
		g := m.inside(m.receipt(started, func(r *receipts.Receipt) { r.Reused = h }))
		m.sign = s
		m.outer([]receipts.Hash{g})
		m.signCheckpoint(s)
		res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, signed))
		switch {
		case own && (res.Verdict != Verified || res.Level != receipts.LevelKey):
			t.Errorf("it repeats a signed result: %s, level %d", told(res), res.Level)
		case !own && (res.Verdict != Missing || !strings.Contains(told(res), "is not recorded at the level that is asked for") || res.Level != receipts.LevelHash):
			t.Errorf("it repeats one that is not signed: %s, level %d", told(res), res.Level)
		}
	}
}

// TestDecideInner has a gate take in the runs that its lines started, and what is known of their commands.
func TestDecideInner(t *testing.T) {
	m := newMaker(t)
	m.receipt(started, failing)
	part := m.inside(m.receipt(started, of("vet")))
	last := m.gate([]receipts.Hash{part, m.receipt(started)}, func(g *receipts.Gate) { g.Run, g.Parent = "r-2", "r-1/1" })
	m.consume(last)
	apart := m.child("r-4", "r-1/2")
	m.receipt(of("suite"), func(r *receipts.Receipt) { r.Step, r.Apart = "2", true })
	left := m.child("r-9", "r-1/4")
	m.receipt(started, failing, func(r *receipts.Receipt) { r.Workspace.Before = treeB })
	h := m.receipt(of("all"))

	g := requestFor(h)
	d := m.decide(Options{}, g)
	if len(d.Refusals) != 2 || d.Refusals[0].Reason != receipts.FlakyPass || !strings.Contains(d.Refusals[0].Message+d.Refusals[1].Message, "in a run that") {
		t.Errorf("strictly: %+v", d.Refusals)
	}
	g.Strict = false
	d = m.decide(Options{}, g)
	if !d.Passed() || d.Failures != 1 || !slices.Equal(d.Nested, []receipts.Hash{last, left}) || !slices.Equal(d.Unspent, []receipts.Hash{left}) {
		t.Errorf("passed: %v, %d failures; nested %v, of which nobody has consumed %v; want %v and %v, and the latter, without %v", d.Passed(), d.Failures, d.Nested, d.Unspent, last, left, apart)
	}
	// What an earlier gate of the run has taken in is not taken in again.
	middle := m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Final, b.Nested = false, []receipts.Hash{last} })
	late := m.child("r-5", "r-1/1")
	g = requestFor(m.receipt(of("vet"), func(r *receipts.Receipt) { r.Step = "3" }))
	g.Expect = append(g.Expect, receipts.Expectation{SHA: middle, Step: "2", Gate: true})
	g.Strict = false
	if d = m.decide(Options{}, g); !d.Passed() || !slices.Equal(d.Nested, []receipts.Hash{left, late}) {
		t.Errorf("%+v; nested %v, want %v and %v", d.Refusals, d.Nested, left, late)
	}
}

// TestDecideAnyRun has receipts be gated that a run left, with what its lines started, but for what an agent did.
func TestDecideAnyRun(t *testing.T) {
	m := newMaker(t)
	inside := func(run, step string) receipts.Hash {
		old := m.receipt(started)
		return m.child("r-2"+step, run+"/"+step, func(r *receipts.Receipt) { r.Reused = old })
	}
	step := func(step, kind string) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Step, r.Kind, r.Apart = "r-9", step, kind, step == "3" }
	}
	want := []receipts.Hash{inside("r-9", "1"), inside("r-9", "2")}
	inside("r-9", "3")
	inside("r-9", "4")
	line, script, agent := m.receipt(of("all"), step("1", "process")), m.receipt(of("task:subtask"), step("2", "task")), m.receipt(of("agent"), step("3", "task"))
	g := requestFor(line, script, agent)
	g.Run, g.AnyRun = "r-8", true
	if d := m.decide(Options{}, g); !d.Passed() || !slices.Equal(d.Nested, want) || !slices.Equal(d.Unspent, want) {
		t.Errorf("%+v; nested %v, want %v", d.Refusals, d.Nested, want)
	}
	// Who consumes a receipt of such a line alone hears the same of it.
	q := asked(nothing, func(q *Query) { q.Fresh = true })
	for _, tt := range []struct {
		h    receipts.Hash
		want receipts.Reason
	}{{line, receipts.ReusedResult}, {script, receipts.ReusedResult}, {agent, ""}} {
		d, _, err := m.open(Options{}).Consume(q, tt.h.String())
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && !d.Passed() || tt.want != "" && (len(d.Refusals) != 1 || d.Refusals[0].Reason != tt.want) {
			t.Errorf("%+v, want %q", d.Refusals, tt.want)
		}
	}
}

// TestConsumeInner has a gate be consumed with the runs below it, but for those that somebody consumed before it was made.
func TestConsumeInner(t *testing.T) {
	m := newMaker(t)
	test := m.receipt(started)
	spent := m.inside(test)
	m.consume(spent)
	left := m.gate([]receipts.Hash{m.receipt(started)}, func(g *receipts.Gate) { g.Run, g.Parent = "r-3", "r-1/1" })
	back := m.gate([]receipts.Hash{m.receipt(started)}, func(g *receipts.Gate) { g.Run = "r-4" })
	m.consume(back) // by the run that it was handed back to
	h := m.gate([]receipts.Hash{m.receipt(of("all"), func(r *receipts.Receipt) { r.HandedBack = back })}, func(g *receipts.Gate) { g.Nested = []receipts.Hash{spent, left} })
	d, all, err := m.open(Options{}).Consume(asked(nothing), h.String())
	if err != nil || !d.Passed() {
		t.Fatal(err, d.Refusals)
	}
	if slices.Contains(all.Taken, spent) || !slices.Contains(all.Taken, left) || !slices.Contains(all.Taken, back) {
		t.Errorf("consumed %v: with %v and %v, and without %v", all.Taken, left, back, spent)
	}
	if len(all.Apart) != 2 || !slices.Contains(all.Apart, spent) || !slices.Contains(all.Apart, test) {
		t.Errorf("apart %v: want %v and %v", all.Apart, spent, test)
	}
}

// TestAfter asks for what was recorded after a run began.
func TestAfter(t *testing.T) {
	m := newMaker(t)
	old := m.receipt()
	before := m.gate([]receipts.Hash{old})
	m.run("r-0011223344556677")
	gathered := m.gate([]receipts.Hash{old})
	since := m.gate([]receipts.Hash{m.receipt()})
	below := m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Nested = []receipts.Hash{before} })
	after := func(run string) Query { return asked(func(q *Query) { q.After = run }) }
	s := m.open(Options{})
	for _, tt := range []struct {
		gate receipts.Hash
		run  string
		want string
	}{
		{since, "r-0011223344556677", ""},
		{before, "r-0011223344556677", "includes records from before the run r-0011223344556677 began"},
		{below, "r-0011223344556677", "includes records from before the run r-0011223344556677 began"},
		{gathered, "r-0011223344556677", "includes records from before the run r-0011223344556677 began"},
		{since, "r-7766554433221100", "the beginning of the run r-7766554433221100 is not in the log"},
	} {
		res, err := s.One(after(tt.run), tt.gate.String())
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && res.Verdict != Verified || tt.want != "" && (res.Verdict != Missing || !strings.Contains(told(res), tt.want)) {
			t.Errorf("%s\nwant %q", told(res), tt.want)
		}
	}
}

// TestInnerOfReceipt has a receipt be gated elsewhere, consumed or repeated, whose command started a run.
func TestInnerOfReceipt(t *testing.T) {
	m := newMaker(t)
	m.receipt(started, failing)
	g := m.inside(m.receipt(started))
	own := m.gate([]receipts.Hash{m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-5" })}, func(g *receipts.Gate) { g.Run = "r-5" })
	h := m.receipt(of("all"))
	back := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Step, r.HandedBack = "2", own })
	plain := m.receipt(of("plain"), func(r *receipts.Receipt) { r.Step = "3" })
	s := m.open(Options{})

	req := requestFor(h)
	req.Run, req.AnyRun, req.AnySession = "r-9", true, true
	if d := m.decide(Options{}, req); len(d.Refusals) != 1 || d.Refusals[0].Reason != receipts.FlakyPass {
		t.Errorf("gated elsewhere: %+v", d.Refusals)
	}
	req.Strict = false
	if d := m.decide(Options{}, req); !d.Passed() || d.Failures != 1 || !slices.Equal(d.Nested, []receipts.Hash{g}) {
		t.Errorf("gated elsewhere, not strictly: %+v, %d failures, nested %v", d.Refusals, d.Failures, d.Nested)
	}
	for _, sha := range []receipts.Hash{h, back} {
		if d, _, err := s.Consume(asked(nothing), sha.String()); err != nil || len(d.Refusals) != 1 || d.Refusals[0].Reason != receipts.FlakyPass {
			t.Errorf("consumed by itself: %+v, %v", d.Refusals, err)
		}
	}
	for argv, want := range map[string]bool{"all": false, "vet": false, "plain": true} {
		_, ok, err := s.Passed(receipts.CommandHash([]string{argv}), receipts.Datum{}, receipts.Datum{}, treeA)
		if err != nil || ok != want {
			t.Errorf("%s may be repeated: %v, %v; want %v", argv, ok, err, want)
		}
	}
	if d, _, err := s.Consume(asked(nothing), plain.String()); err != nil || !d.Passed() {
		t.Errorf("what started nothing: %+v, %v", d.Refusals, err)
	}
}

// TestBelow has runs that leave no gate lie between a line and what failed below it.
func TestBelow(t *testing.T) {
	s, keys := newSigner(t)
	loose := func(run string) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run = run }
	}
	for _, tt := range []struct {
		name   string
		log    func(m *maker)
		nested int
		flaky  bool
	}{
		{"a run that exec started", func(m *maker) {
			m.receipt(started, failing)
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.child("r-7", "r-6/1")
		}, 1, true},
		{"what a run left for another gate", func(m *maker) {
			m.receipt(started, failing)
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, loose("r-6"))
		}, 1, true},
		{"what a run left that never failed", func(m *maker) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, loose("r-6"))
		}, 0, false},
		{"what a line left whose runs decide nothing", func(m *maker) {
			m.receipt(started, failing)
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.run("r-7", func(r *receipts.Run) { r.Parent = "r-6/1" })
			m.child("r-8", "r-7/2")
			m.receipt(of("suite"), loose("r-6"), func(r *receipts.Receipt) { r.Apart = true })
		}, 0, false},
		{"what another run left", func(m *maker) {
			m.receipt(started, failing)
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-11/1" })
			m.receipt(started, loose("r-6"))
		}, 0, false},
		{"failed in a run of the line itself, which is not signed", func(m *maker) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing, loose("r-6"))
			m.child("r-7", "r-1/1")
		}, 1, true},
		{"failed in a run of the line itself, and was accepted without the key", func(m *maker) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			f := m.receipt(started, failing, loose("r-6"))
			m.child("r-7", "r-1/1")
			m.accept(f)
		}, 1, true},
		{"failed in a run of the line itself that does not say on what files", func(m *maker) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing, loose("r-6"), func(r *receipts.Receipt) { r.Workspace = nil })
			m.child("r-7", "r-1/1")
		}, 1, true},
		{"failed so, and passed in a run that left no gate", func(m *maker) {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing, loose("r-6"), func(r *receipts.Receipt) { r.Workspace = nil })
			m.run("r-7", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, loose("r-7"))
		}, 1, true},
	} {
		for _, level := range []int{receipts.LevelHash, receipts.LevelKey} {
			m := newMaker(t)
			tt.log(m)
			own := strings.HasPrefix(tt.name, "failed ")
			waved := level == receipts.LevelHash && strings.HasSuffix(tt.name, "without the key")
			m.sign = s
			h := m.receipt(of("all"))
			g := requestFor(h)
			g.Strict = false
			m.signCheckpoint(s)
			d := m.decide(Options{Keys: keys}, g)
			m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Nested = d.Nested })
			m.signCheckpoint(s)
			q := asked(strict, func(q *Query) {
				q.Level, q.Require = level, []Requirement{{Name: "all", Binding: "check_all", Command: receipts.CommandHash([]string{"all"}), Words: "all"}}
			})
			res := ask(t, m.open(Options{Keys: keys}), q)
			want := Verified
			if tt.flaky && (level == receipts.LevelHash || own) && !waved {
				want = Flaky
			}
			if len(d.Nested) != tt.nested || res.Verdict != want {
				t.Errorf("%s, level %d: nested %v, want %d; %s, want %s", tt.name, level, d.Nested, tt.nested, told(res), want)
			}
			if want == Flaky && !strings.Contains(told(res), "in a run that q.dlct:1 (Check with lint) started") {
				t.Errorf("%s: %s", tt.name, told(res))
			}
		}
	}
}

// TestHandedBack has an agent hand back a gate of another matrix, project or tree than its task was of.
func TestHandedBack(t *testing.T) {
	for want, change := range map[string]func(*receipts.Gate){
		"":                                   func(*receipts.Gate) {},
		"under another matrix than the task": func(g *receipts.Gate) { g.Matrix = receipts.Hash{9} },
		"is of another project":              func(g *receipts.Gate) { g.Place = receipts.Text("a") },
		"about other files than the task left": func(g *receipts.Gate) {
			g.Tree = &treeB
		},
		"is about other files": func(g *receipts.Gate) { g.Tree = nil }, // or about these: it does not say it
		"is not in the log":    nil,
	} {
		m := newMaker(t)
		back := receipts.Hash{5}
		if change != nil {
			back = m.gate([]receipts.Hash{m.receipt()}, change)
		}
		h := m.receipt(of("agent"), func(r *receipts.Receipt) { r.Kind, r.HandedBack = "task", back })
		d := m.decide(Options{}, requestFor(h))
		over := m.gate([]receipts.Hash{h})
		q := asked(nothing)
		res, err := m.open(Options{}).One(q, over.String())
		if err != nil {
			t.Fatal(err)
		}
		leaf, _, err := m.open(Options{}).Consume(q, h.String())
		if err != nil {
			t.Fatal(err)
		}
		if ok := want == ""; d.Passed() != ok || (res.Verdict == Verified) != ok || leaf.Passed() != ok || !strings.Contains(told(res), want) {
			t.Errorf("%q: gate %+v; %s; consumed %+v", want, d.Refusals, told(res), leaf.Refusals)
		}
	}
}

// TestBelowForged has somebody without the key say, once a signed gate is made, that a run of its line failed: that refuses nothing.
func TestBelowForged(t *testing.T) {
	s, keys := newSigner(t)
	m := newMaker(t)
	g := m.child("r-7", "r-1/1")
	m.sign = s
	m.outer([]receipts.Hash{g})
	m.signCheckpoint(s)
	m.sign = nil
	m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
	m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
	m.receipt(started, failing, func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil })
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, signed)); res.Verdict != Verified {
		t.Error(told(res))
	}
}

// TestBelowBefore has a signed run be repeated until what its line starts is green: what failed in the one before counts.
func TestBelowBefore(t *testing.T) {
	s, keys := newSigner(t)
	for _, own := range []bool{true, false} {
		m := newMaker(t)
		parent := "r-0/1"
		if !own {
			parent = "" // somebody ran it without the key
		}
		m.run("r-5", func(r *receipts.Run) { r.Parent = "r-0/1" })
		m.run("r-6", func(r *receipts.Run) { r.Parent = parent })
		m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
		m.sign = s
		m.receipt(of("all"), func(r *receipts.Receipt) { r.Run = "r-0" })
		m.sign = nil
		g := m.child("r-7", "r-1/1")
		m.sign = s
		m.outer([]receipts.Hash{g})
		m.signCheckpoint(s)
		want := Verified
		if own {
			want = Flaky
		}
		if res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, signed)); res.Verdict != want {
			t.Errorf("in a run of the key %v: %s; want %s", own, told(res), want)
		}
	}
}

// TestBelowOtherFiles has a run that a line started, and that does not say on what files it ran, fail on others than those of the gate.
func TestBelowOtherFiles(t *testing.T) {
	for tree, want := range map[*receipts.Tree]Verdict{&treeA: Flaky, &treeB: Verified} {
		m := newMaker(t)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-0/1" })
		m.receipt(started, failing, func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil })
		m.receipt(of("all"), func(r *receipts.Receipt) { r.Run, r.Workspace.Before = "r-0", *tree })
		m.outer([]receipts.Hash{m.child("r-7", "r-1/1")})
		if res := ask(t, m.open(Options{}), asked(strict, nothing)); res.Verdict != want {
			t.Errorf("%s; want %s", told(res), want)
		}
	}
}

// signedBy makes receipts that a key signs, where all else is not signed.
func (m *maker) signedBy(s *receipts.Signer) func(...func(*receipts.Receipt)) receipts.Hash {
	return func(change ...func(*receipts.Receipt)) receipts.Hash {
		m.t.Helper()
		m.sign = s
		defer func() { m.sign = nil }()
		return m.receipt(change...)
	}
}

// TestBelowLeft has a line leave a run behind that fails later on, and another line wait for it; and one that fails below many others.
func TestBelowLeft(t *testing.T) {
	s, keys := newSigner(t)
	step2 := func(r *receipts.Receipt) { r.Step = "2" }
	for name, c := range map[string]struct {
		log  func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash
		want Verdict
	}{
		"left behind": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			first := line(of("all"))
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.child("r-7", "r-1/2")
			return []receipts.Hash{first, line(of("wait"), step2)}
		}, Flaky},
		"left behind, without files, and no line waits": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.child("r-7", "r-1/1")
			first := line(of("all"))
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil })
			return []receipts.Hash{first}
		}, Failed},
		"below a hundred runs": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			parent := "r-1/1"
			for i := range 100 {
				run := fmt.Sprintf("r-1%02d", i)
				m.run(run, func(r *receipts.Run) { r.Parent = parent })
				parent = run + "/1"
			}
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-199" })
			m.child("r-7", "r-1/1")
			return []receipts.Hash{line(of("all"))}
		}, Flaky},
		"below a run that started itself": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-6/1" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil })
			m.child("r-7", "r-1/1")
			return []receipts.Hash{line(of("all"))}
		}, Verified},
	} {
		for _, level := range []int{receipts.LevelHash, receipts.LevelKey} {
			m := newMaker(t)
			list := c.log(m, m.signedBy(s))
			g := requestFor(list...)
			g.Level = level
			m.sign = s
			m.signCheckpoint(s)
			d := m.decide(Options{Keys: keys}, g)
			m.gate(list, func(b *receipts.Gate) { b.Nested = d.Nested })
			m.signCheckpoint(s)
			res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, func(q *Query) { q.Level = level }))
			if res.Verdict != c.want || d.Passed() != (c.want == Verified) {
				t.Errorf("%s, level %d: gate %+v; %s, want %s", name, level, d.Refusals, told(res), c.want)
			}
		}
	}
}

// TestInnerForged has somebody without the key write records beside those of a signed run, while it goes on: they may say that something
// failed, and excuse nothing.
func TestInnerForged(t *testing.T) {
	s, keys := newSigner(t)
	step := func(name string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Step = name } }
	apart := func(r *receipts.Receipt) { r.Apart = true }
	// rerun is an inner script that fails first.
	rerun := func(m *maker) receipts.Hash {
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
		return m.child("r-7", "r-1/1")
	}
	for name, c := range map[string]struct {
		log  func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash
		want Verdict
	}{
		"a second attempt of what failed": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.receipt(started, func(r *receipts.Receipt) { r.Run, r.Attempt = "r-6", 2 })
			m.child("r-7", "r-1/1")
			return []receipts.Hash{line(of("all"))}
		}, Flaky},
		"that the runs of the line decide nothing": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			rerun(m)
			first := line(of("all"))
			m.receipt(of("all"), apart)
			return []receipts.Hash{first}
		}, Flaky},
		"that the runs of a line of an inner run decide nothing": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-5", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-5/1" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.child("r-7", "r-5/1")
			m.receipt(of("suite"), apart, func(r *receipts.Receipt) { r.Run = "r-5" })
			return []receipts.Hash{line(of("all"))}
		}, Flaky},
		"a gate below a line whose runs decide nothing, which took the inner one in": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			g := rerun(m)
			first := line(of("all"))
			h := m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-8" })
			m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Run, b.Parent, b.Nested = "r-8", "r-1/2", []receipts.Hash{g} })
			return []receipts.Hash{first, line(of("suite"), step("2"), apart)}
		}, Flaky},
		"a gate below a line with retries, over what the other line started": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.run("r-7", func(r *receipts.Run) { r.Parent = "r-1/1" })
			h := m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-7" })
			m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Run, b.Parent = "r-8", "r-1/2" })
			m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Run, b.Parent = "r-7", "r-1/1" })
			return []receipts.Hash{line(of("all")), line(of("again"), step("2"), func(r *receipts.Receipt) { r.Binding = "test_again" })}
		}, Flaky},
		"nothing: the runs of a line that failed decide nothing": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/2" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.receipt(started, failing, func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil })
			m.child("r-7", "r-1/1")
			return []receipts.Hash{line(of("all")), line(of("suite"), step("2"), apart)}
		}, Verified},
		"nothing: its binding has retries": {func(m *maker, line func(...func(*receipts.Receipt)) receipts.Hash) []receipts.Hash {
			again := func(r *receipts.Receipt) {
				r.Run, r.Binding, r.Place, r.Matrix = "r-6", "test_again", receipts.Datum{}, matrix
			}
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(failing, again)
			h := m.receipt(again, func(r *receipts.Receipt) { r.Attempt = 2 })
			m.gate([]receipts.Hash{h}, func(b *receipts.Gate) { b.Run, b.Parent = "r-6", "r-1/1" })
			return []receipts.Hash{line(of("all"))}
		}, Verified},
	} {
		m := newMaker(t)
		list := c.log(m, m.signedBy(s))
		g := requestFor(list...)
		g.Level, g.Retries = receipts.LevelKey, map[string]bool{"test_again": true}
		m.sign = s
		m.signCheckpoint(s)
		d := m.decide(Options{Keys: keys}, g)
		m.gate(list, func(b *receipts.Gate) { b.Nested = d.Nested })
		m.signCheckpoint(s)
		res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, signed, func(q *Query) { q.Retries = g.Retries }))
		if res.Verdict != c.want || d.Passed() != (c.want == Verified) {
			t.Errorf("%s: gate %+v; %s, want %s", name, d.Refusals, told(res), c.want)
		}
	}
}

// TestBelowSince has a run that a line started leave a pass without a gate, which nothing contradicts until the line runs again. That run has no gate whose pass would
// undo what fails in it.
func TestBelowSince(t *testing.T) {
	for name, want := range map[string]Verdict{"fails": Failed, "passes": Verified, "fails, and passes": Failed} {
		m := newMaker(t)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-6" })
		h := m.receipt(of("all"))
		d := m.decide(Options{}, requestFor(h))
		m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Nested = d.Nested })
		m.run("r-7", func(r *receipts.Run) { r.Parent = "r-8/1" })
		in := func(r *receipts.Receipt) { r.Run = "r-7" }
		if name != "passes" {
			m.receipt(started, in, failing)
		}
		if name != "fails" {
			m.run("r-9", func(r *receipts.Run) { r.Parent = "r-8/1" })
			m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-9" })
		}
		m.receipt(of("all"), func(r *receipts.Receipt) { r.Run = "r-8" })
		if res := ask(t, m.open(Options{}), asked(strict, nothing)); res.Verdict != want || len(d.Nested) > 0 {
			t.Errorf("the line runs again, and what it starts %s: %s, want %s", name, told(res), want)
		}
	}
}

// TestInnerRetried: a failure that the trusted rules give retries does not make a pass below a line flaky, though it has the key and the pass has not.
func TestInnerRetried(t *testing.T) {
	s, keys := newSigner(t)
	for _, retries := range []bool{true, false} {
		m := newMaker(t)
		line := m.signedBy(s)
		line(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
		list := []receipts.Hash{line()}
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/2" })
		m.receipt(func(r *receipts.Receipt) { r.Run = "r-2" })
		list = append(list, line(of("all"), func(r *receipts.Receipt) { r.Step = "2" }))
		g := requestFor(list...)
		g.Level, g.Retries = receipts.LevelKey, map[string]bool{"check_lint": retries}
		m.signCheckpoint(s)
		if d := m.decide(Options{Keys: keys}, g); d.Passed() != retries {
			t.Errorf("retries %v: %v", retries, d.Refusals)
		}
	}
}
