package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// TestForgedFiles has records without the key, in the name of the step of a signed line, say other files than those on which an inner
// command failed, which says none.
func TestForgedFiles(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		bare := func(r *receipts.Receipt) { r.Run, r.Workspace = "r-6", nil }
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(started, bare)
		if forge {
			m.receipt(of("all")) // unsigned, of r-1/1, tree A
		}
		m.receipt(started, failing, bare)
		if forge {
			m.receipt(of("all"), func(r *receipts.Receipt) { r.Workspace.Before = treeB })
		}
		line := m.signedBy(s)
		list := []receipts.Hash{line(of("all"))}
		g := requestFor(list...)
		g.Level = receipts.LevelKey
		m.sign = s
		m.signCheckpoint(s)
		d := m.decide(Options{Keys: keys}, g)
		m.gate(list, func(b *receipts.Gate) { b.Nested = d.Nested })
		m.signCheckpoint(s)
		res := ask(t, m.open(Options{Keys: keys}), asked(strict, nothing, signed))
		if d.Passed() || res.Verdict != Failed {
			t.Errorf("forged %v: the gate passes: %v; %s", forge, d.Passed(), told(res))
		}
	}
}

// TestForgedPass has somebody without the key write, after a signed gate, a pass in the name of a run of its line: it undoes nothing of what
// failed below a later signed line.
func TestForgedPass(t *testing.T) {
	s, keys := newSigner(t)
	for _, attempt := range []int{1, 2} {
		for _, forge := range []bool{false, true} {
			for _, ask := range []func(*Query){nothing, strict} {
				m := newMaker(t)
				line := m.signedBy(s)
				in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
				m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
				m.receipt(started, in("r-6"))
				list := []receipts.Hash{line(of("all"), func(r *receipts.Receipt) { r.Attempt = attempt })}
				g := requestFor(list...)
				g.Level = receipts.LevelKey
				m.sign = s
				m.signCheckpoint(s)
				d := m.decide(Options{Keys: keys}, g)
				h := m.gate(list, func(b *receipts.Gate) { b.Nested = d.Nested })
				m.sign = nil
				m.run("r-5", func(r *receipts.Run) { r.Parent = "r-0/1" })
				m.receipt(started, failing, in("r-5"))
				line(of("all"), in("r-0"))
				m.signCheckpoint(s)
				if forge { // not even below the checkpoint
					m.run("r-9", func(r *receipts.Run) { r.Parent = "r-1/1" })
					m.receipt(started, in("r-9"))
				}
				res, err := m.open(Options{Keys: keys}).One(asked(nothing, signed, ask), h.String())
				if err != nil || !d.Passed() || res.Verdict != Failed {
					t.Errorf("attempt %d, forged %v: the gate passes: %v; %s, %v", attempt, forge, d.Passed(), told(res), err)
				}
			}
		}
	}
}

// TestForgedPassRefuses has such a pass not make of what is verified a thing that passed only at a second attempt.
func TestForgedPassRefuses(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
		m.run("r-5", func(r *receipts.Run) { r.Parent = "r-0/1" })
		m.receipt(started, failing, in("r-5"))
		line(of("all"), in("r-0"))
		list := []receipts.Hash{line(of("all"))}
		m.sign = s
		m.gate(list)
		m.signCheckpoint(s)
		m.sign = nil
		if forge {
			m.run("r-9", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(started, in("r-9"))
		}
		if res := ask(t, m.open(Options{Keys: keys}), asked(nothing, signed, strict)); res.Verdict != Verified {
			t.Errorf("forged %v: %s", forge, told(res))
		}
	}
}

// TestUnsignedBelow: what failed in a run that a signed line started counts for those who require nothing, with a signature or without.
func TestUnsignedBelow(t *testing.T) {
	s, keys := newSigner(t)
	for _, sign := range []bool{true, false} {
		m := newMaker(t)
		line := m.signedBy(s)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-0/1" })
		if sign {
			m.sign = s
		}
		m.receipt(failing, of("suite"), func(r *receipts.Receipt) { r.Run = "r-6" })
		m.sign = nil
		line(of("all"), func(r *receipts.Receipt) { r.Run = "r-0" })
		m.sign = s
		m.gate([]receipts.Hash{m.receipt(of("vet"))})
		m.signCheckpoint(s)
		if res := ask(t, m.open(Options{Keys: keys}), asked(nothing, signed)); res.Verdict != Failed {
			t.Errorf("signed %v: %s", sign, told(res))
		}
	}
}

// TestGateOfPart: who names nothing asks about the whole of a run, and not about that of a line of it.
func TestGateOfPart(t *testing.T) {
	two := func(r *receipts.Run) {
		r.Planned = nil
		for _, step := range []string{"1", "2"} {
			r.Planned = append(r.Planned, receipts.Planned{Step: step, Line: 1, Command: receipts.CommandHash([]string{"all", step})})
		}
	}
	one := func(r *receipts.Run) { two(r); r.Planned = r.Planned[1:] }
	in := func(change func(*receipts.Receipt)) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Step = "r-0", "2"; change(r) }
	}
	none := func(*receipts.Receipt) {}
	for name, c := range map[string]struct {
		begun func(*receipts.Run)     // the outer run, where the log has its beginning
		line  func(*receipts.Receipt) // its line, where that has ended
		ask   func(*Query)
		want  Verdict
	}{
		"a line of several":             {two, in(none), nothing, Missing},
		"what it covers is asked about": {two, in(none), strict, Verified},
		"of another project":            {two, in(func(r *receipts.Receipt) { r.Place = receipts.Text("a") }), nothing, Verified},
		"under other rules":             {two, in(func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }), nothing, Verified},
		"of an agent":                   {two, in(func(r *receipts.Receipt) { r.Apart = true }), nothing, Verified},
		"a line that was asked for":     {func(r *receipts.Run) { one(r); r.Part, r.Script.Path = true, receipts.Text("q.dlct") }, in(none), nothing, Missing},
		"of a text of one line":         {func(r *receipts.Run) { one(r); r.Part, r.Script.Path = true, receipts.Datum{} }, in(none), nothing, Verified},
		"of a line that goes on":        {two, nil, nothing, Verified},
		"of more than is listed":        {func(r *receipts.Run) { one(r); r.More = 1 }, in(none), nothing, Missing},
		"the only line, or exec":        {one, in(none), nothing, Verified},
		"of what is not known":          {nil, in(none), nothing, Verified},
	} {
		m := newMaker(t)
		if c.begun != nil {
			m.run("r-0", c.begun)
		}
		m.run("r-1", func(r *receipts.Run) { r.Parent = "r-0/2" })
		m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Parent = "r-0/2" })
		if c.line != nil {
			m.receipt(of("all"), c.line)
		}
		if res := ask(t, m.open(Options{}), asked(c.ask)); res.Verdict != c.want {
			t.Errorf("%s: %s\nwant %s", name, told(res), c.want)
		}
	}
}

// TestForgedAttempt has somebody without the key write, after all was signed, that a later attempt passed in a run that a signed line started.
func TestForgedAttempt(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-0/1" })
		m.receipt(failing, of("suite"), func(r *receipts.Receipt) { r.Run = "r-6" })
		line(of("all"), func(r *receipts.Receipt) { r.Run = "r-0" })
		m.sign = s
		m.gate([]receipts.Hash{m.receipt(of("vet"))})
		m.signCheckpoint(s)
		m.sign = nil
		if forge {
			m.receipt(of("suite"), func(r *receipts.Receipt) { r.Run, r.Attempt = "r-6", 2 })
		}
		if res := ask(t, m.open(Options{Keys: keys}), asked(nothing, signed)); res.Verdict != Failed {
			t.Errorf("forged %v: %s", forge, told(res))
		}
	}
}

// TestUndoneUnderBinding: for a gate, as for a verdict, a pass under no binding does not undo what failed under one.
func TestUndoneUnderBinding(t *testing.T) {
	for _, c := range []struct {
		failed, last func(*receipts.Receipt)
		want         bool
	}{
		{func(*receipts.Receipt) {}, func(*receipts.Receipt) {}, true},
		{func(r *receipts.Receipt) { r.Binding = "" }, func(*receipts.Receipt) {}, true},
		{func(*receipts.Receipt) {}, func(r *receipts.Receipt) { r.Binding = "" }, false},
	} {
		m := newMaker(t)
		first := m.receipt()
		m.receipt(failing, c.failed)
		g := requestFor(first, m.receipt(c.last))
		g.Strict = false
		if d := m.decide(Options{}, g); d.Passed() != c.want {
			t.Errorf("it passes: %v; %v", d.Passed(), d.Refusals)
		}
	}
}

// TestRetriesOfRules: of a run that a line started, retries excuse what the rules that are asked for say, and a later attempt what has the level.
func TestRetriesOfRules(t *testing.T) {
	s, keys := newSigner(t)
	inner := func(m *maker, change func(*receipts.Receipt)) []receipts.Hash {
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		in := func(r *receipts.Receipt) { r.Run, r.Step = "r-6", "1"; change(r) }
		m.receipt(failing, in)
		return []receipts.Hash{m.receipt(in, func(r *receipts.Receipt) { r.Attempt = max(r.Attempt, 1) })}
	}
	for name, c := range map[string]struct {
		change func(*receipts.Receipt)
		signed bool
		want   Verdict
	}{
		"of these rules":       {func(*receipts.Receipt) {}, false, Verified},
		"of another matrix":    {func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }, false, Flaky},
		"of another place":     {func(r *receipts.Receipt) { r.Place = receipts.Text("a") }, false, Flaky},
		"below a signed line":  {func(*receipts.Receipt) {}, true, Verified},
		"and of other rules":   {func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }, true, Flaky},
		"a later attempt, too": {func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9}; r.Attempt = 2 }, true, Flaky},
	} {
		m := newMaker(t)
		nested := inner(m, c.change)
		q := asked(nothing, strict, func(q *Query) { q.Retries = map[string]bool{"check_lint": true} })
		o := Options{}
		line := []receipts.Hash{}
		if c.signed {
			line = append(line, m.signedBy(s)(of("all")))
			m.sign, o.Keys, q.Level = s, keys, receipts.LevelKey
		} else {
			line = append(line, m.receipt(of("all")))
		}
		m.gate(line, func(g *receipts.Gate) { g.Nested = nested })
		if c.signed {
			m.signCheckpoint(s)
		}
		if res := ask(t, m.open(o), q); res.Verdict != c.want {
			t.Errorf("%s: %s\nwant %s", name, told(res), c.want)
		}
	}
}

// TestNotExcusedAfterLine has a record without the key, of a run that a line started, pass after the receipt of the line, which is signed: it takes
// no failure back, since who signed the receipt did not see it.
func TestNotExcusedAfterLine(t *testing.T) {
	boss, keys := newSigner(t)
	for _, c := range []struct {
		name   string
		before bool
		want   Verdict
	}{{"before the receipt of the line", true, Verified}, {"after it", false, Failed}} {
		m := newMaker(t)
		in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
		m.sign = boss
		m.run("r-1")
		members := []receipts.Hash{m.receipt()}
		m.sign = nil
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/2" })
		m.receipt(failing, in("r-2"))
		m.run("r-3", func(r *receipts.Run) { r.Parent = "r-1/2" })
		var pass receipts.Hash
		if c.before {
			pass = m.receipt(in("r-3"))
		}
		m.sign = boss
		members = append(members, m.receipt(of("all"), func(r *receipts.Receipt) { r.Step = "2" }))
		m.sign = nil
		if !c.before {
			pass = m.receipt(in("r-3"))
		}
		m.sign = boss
		g := requestFor(members...)
		g.Level, g.Strict = receipts.LevelKey, false
		m.signCheckpoint(boss)
		if d := m.decide(Options{Keys: keys}, g); d.Passed() != (c.want == Verified) {
			t.Errorf("%s: the gate says %+v", c.name, d.Refusals)
		}
		m.gate(members, func(b *receipts.Gate) { b.Nested = []receipts.Hash{pass} })
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), asked(signed)); res.Verdict != c.want {
			t.Errorf("%s: %s", c.name, told(res))
		}
	}
}

// TestNotExcusedAfterNearestLine has two lines around a run, both signed: a record without the key that passes after the nearer one has ended takes
// no failure back, though the other one is still running.
func TestNotExcusedAfterNearestLine(t *testing.T) {
	boss, keys := newSigner(t)
	for before, want := range map[bool]Verdict{true: Verified, false: Failed} {
		m := newMaker(t)
		in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
		begin := func(run, parent string) { m.run(run, func(r *receipts.Run) { r.Parent = parent }) }
		m.sign = boss
		m.run("r-1")
		members := []receipts.Hash{m.receipt()}
		begin("r-2", "r-1/2")
		m.sign = nil
		begin("r-3", "r-2/1")
		m.receipt(failing, in("r-3"))
		begin("r-4", "r-2/1")
		var nested []receipts.Hash
		if before {
			nested = append(nested, m.receipt(in("r-4")))
		}
		m.sign = boss
		inner := m.receipt(of("inner"), in("r-2"))
		if !before {
			m.sign = nil
			nested = append(nested, m.receipt(in("r-4")))
			m.sign = boss
		}
		nested = append(nested, m.gate([]receipts.Hash{inner}, func(b *receipts.Gate) { b.Run, b.Parent = "r-2", "r-1/2" }))
		members = append(members, m.receipt(of("all"), func(r *receipts.Receipt) { r.Step = "2" }))
		m.gate(members, func(b *receipts.Gate) { b.Nested = nested })
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), asked(signed)); res.Verdict != want {
			t.Errorf("before the receipt of the nearest line %v: %s", before, told(res))
		}
	}
}

// TestRecordedLate: of two runs the log has the receipts as their writers got to it. A failure that began after a pass is later, though it was recorded
// before it.
func TestRecordedLate(t *testing.T) {
	at := func(run string, seconds time.Duration) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Timestamp.Time = run, noon.Add(seconds*time.Second) }
	}
	for _, c := range []struct {
		name           string
		failed, passed func(*receipts.Receipt)
		plain, strict  Verdict
	}{
		{"recorded before the run of the pass began, by a clock that was ahead", at("r-0", 9), at("r-1", 2), Verified, Flaky},
		{"it began before the pass", at("r-2", 1), at("r-1", 2), Verified, Flaky},
		{"it began after the pass", at("r-2", 3), at("r-1", 2), Failed, Failed},
		{"of the same run the log's order counts", at("r-1", 3), at("r-1", 2), Verified, Flaky},
	} {
		for _, gated := range []bool{true, false} {
			m := newMaker(t)
			if strings.HasPrefix(c.name, "recorded before") {
				m.receipt(failing, c.failed)
				m.run("r-1")
			} else {
				m.run("r-1")
				m.receipt(failing, c.failed)
			}
			pass := m.receipt(c.passed)
			if gated {
				m.gate([]receipts.Hash{pass})
				g := requestFor(pass)
				g.Strict = false
				d := m.decide(Options{}, g)
				if refused := c.plain == Failed; d.Passed() == refused {
					t.Errorf("%s: the gate says %+v", c.name, d.Refusals)
				}
			}
			for q, want := range map[*Query]Verdict{ptr(asked()): c.plain, ptr(asked(strict)): c.strict} {
				if !gated && want != Failed {
					want = Missing
				}
				if res := ask(t, m.open(Options{}), *q); res.Verdict != want {
					t.Errorf("%s, gated %t, strict %t: %s", c.name, gated, q.Strict, told(res))
				}
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// TestRecordedLateRepeated: what repeats a pass is as old as that, and a pass before which something failed that began later is not repeated.
func TestRecordedLateRepeated(t *testing.T) {
	for _, later := range []bool{false, true} {
		m := newMaker(t)
		m.run("r-1")
		m.receipt(failing, func(r *receipts.Receipt) {
			if r.Run = "r-2"; later {
				r.Timestamp.Time = noon.Add(time.Hour)
			}
		})
		pass := m.receipt()
		r := asked().Require[0]
		if _, ok, err := m.open(Options{}).Passed(r.Command, r.Dir, receipts.Datum{}, treeA); ok == later || err != nil {
			t.Errorf("began later %t: repeated %t, %v", later, ok, err)
		}
		m.run("r-3")
		again := m.receipt(func(r *receipts.Receipt) { r.Run, r.Reused, r.Timestamp.Time = "r-3", pass, noon.Add(2*time.Hour) })
		m.gate([]receipts.Hash{again}, func(g *receipts.Gate) { g.Run = "r-3" })
		want := Verified
		if later {
			want = Failed
		}
		if res := ask(t, m.open(Options{}), asked()); res.Verdict != want {
			t.Errorf("began later %t: %s", later, told(res))
		}
	}
}

// TestForgedBeginning: a record without the key under the id of a signed run, written before that run began, says of no line that it started it: else the
// failure would be below a line with other variables than the pass, and of another thing.
func TestForgedBeginning(t *testing.T) {
	boss, keys := newSigner(t)
	in := func(run, step string) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Step = run, step }
	}
	for _, begins := range []bool{true, false} { // a lone command has no record of a beginning
		m := newMaker(t)
		run := func(id, parent string) {
			m.sign = nil
			m.run(id, func(r *receipts.Run) { r.Parent = parent })
			if m.sign = boss; begins {
				m.run(id)
			}
		}
		m.sign = boss
		m.run("r-0")
		m.receipt(of("a"), in("r-0", "1"), func(r *receipts.Receipt) { r.Workspace.Before = treeB })
		m.receipt(of("b"), in("r-0", "2"), func(r *receipts.Receipt) { r.Workspace.Before = treeB })
		run("r-1", "r-0/1")
		failure := m.receipt(failing, in("r-1", "1"))
		run("r-2", "r-0/2")
		pass := m.receipt(in("r-2", "1"))
		m.gate([]receipts.Hash{pass}, func(g *receipts.Gate) { g.Run = "r-2" })
		m.signCheckpoint(boss)
		q := asked(signed, strict, func(q *Query) { q.Env = map[string]string{"check_a": "a", "check_b": "b", "check_lint": ""} })
		s := m.open(Options{Keys: keys})
		if res := ask(t, s, q); res.Verdict != Flaky || !strings.Contains(told(res), failure.Short()) {
			t.Errorf("recorded beginnings %t: %s", begins, told(res))
		}
		if begins {
			if seq, err := s.find("r-2"); err != nil || s.entry(seq).Level != receipts.LevelKey {
				t.Errorf("r-2 is record %d, %v", seq, err)
			}
		}
	}
}

// TestSettledSince has an attempt that was pending when the gate was made settled afterwards: with the key, or by anybody. The gate keeps its proof, and what
// somebody settled without the key still counts as an attempt without an answer.
func TestSettledSince(t *testing.T) {
	boss, keys := newSigner(t)
	for _, signed := range []bool{true, false} {
		m := newMaker(t)
		m.sign = boss
		attempt := m.receipt(func(r *receipts.Receipt) { r.Run, r.Status = "r-0", receipts.Pending })
		pass := m.receipt()
		m.gate([]receipts.Hash{pass}, func(g *receipts.Gate) { g.Level, g.Early = receipts.LevelKey, []receipts.Hash{attempt} })
		gate := m.log.recs[len(m.log.recs)-1]
		if !signed {
			m.sign = nil
		}
		m.add(&receipts.Settlement{Version: 1, Receipt: attempt, Status: receipts.Succeeded, By: "x", Timestamp: m.now()})
		m.sign = boss
		m.receipt(of("vet"))
		m.signCheckpoint(boss)
		early := 1
		if signed {
			early = 0
		}
		s := m.open(Options{Keys: keys})
		if res := ask(t, s, asked(func(q *Query) { q.Level = receipts.LevelKey })); res.Verdict != Verified || res.Early != early {
			t.Errorf("signed %t: %s, %d early", signed, told(res), res.Early)
		}
		around, err := s.Around(pass, receipts.Record{Kind: gate.Kind, Body: gate.Body}.SHA())
		if err != nil || !slices.ContainsFunc(around, func(e receipts.Entry) bool { return e.SHA == attempt }) {
			t.Errorf("signed %t: the attempt is not around its gate: %v", signed, err)
		}
		b, err := OfBundle(m.bundle(string(m.log.note), 0), keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res := ask(t, b, asked(func(q *Query) { q.Level = receipts.LevelKey })); res.Verdict != Verified {
			t.Errorf("signed %t: of the whole log as a bundle: %s", signed, told(res))
		}
	}
}

// TestAroundHasRetries: what undoes a failure goes with it, also where a later pass has the last word.
func TestAroundHasRetries(t *testing.T) {
	m := newMaker(t)
	first := m.receipt()
	m.gate([]receipts.Hash{first})
	in := func(attempt int) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Attempt = "r-2", attempt }
	}
	m.receipt(failing, in(1))
	second := m.receipt(in(2))
	m.receipt(func(r *receipts.Receipt) { r.Run = "r-3" })
	around, err := m.open(Options{}).Around(first)
	if err != nil || !slices.ContainsFunc(around, func(e receipts.Entry) bool { return e.SHA == second }) {
		t.Errorf("the second attempt is not there: %v", err)
	}
}

// TestRetriesElsewhere: a binding of the same name in another project permits nothing here.
func TestRetriesElsewhere(t *testing.T) {
	for _, own := range []bool{true, false} {
		m := newMaker(t)
		of := func(r *receipts.Receipt) {
			if of("all")(r); !own {
				r.Matrix, r.Place = receipts.Hash{7}, receipts.Text("b")
			}
		}
		m.run("r-0")
		m.run("r-8", func(r *receipts.Run) { r.Parent = "r-0/1" })
		m.receipt(started, failing, func(r *receipts.Receipt) { r.Run = "r-8" })
		m.receipt(of, failing, func(r *receipts.Receipt) { r.Run = "r-0" })
		m.run("r-1")
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		g := m.inside(m.receipt(started))
		m.outer([]receipts.Hash{g})
		want := Flaky
		if own {
			want = Verified
		}
		res := ask(t, m.open(Options{}), asked(nothing, strict, func(q *Query) { q.Retries = map[string]bool{"check_all": true} }))
		if res.Verdict != want {
			t.Errorf("own %t: %s", own, told(res))
		}
	}
}

// TestAcceptedForLess: a run that accepts failures accepts none that the key signed for a pass without it, below one of its lines, and none of a line that
// had more to meet.
func TestAcceptedForLess(t *testing.T) {
	boss, keys := newSigner(t)
	for _, c := range []struct {
		name string
		own  func(*receipts.Receipt) // the pass of the run itself; nil for one of an inner run
		want bool
	}{
		{"of its own line", func(*receipts.Receipt) {}, true},
		{"of another binding of the command", func(r *receipts.Receipt) { r.Binding = "smoke" }, false},
		{"passed below a line", nil, false},
	} {
		m := newMaker(t)
		m.sign = boss
		f := m.receipt(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
		m.run("r-1")
		var g receipts.GateRequest
		if c.own == nil {
			m.sign = nil
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(func(r *receipts.Receipt) { r.Run = "r-2" })
			m.sign = boss
			g = requestFor(m.receipt(of("all")))
		} else {
			g = requestFor(m.receipt(c.own))
		}
		g.Level, g.Strict, g.AcceptFlaky = receipts.LevelKey, false, "the network"
		m.signCheckpoint(boss)
		d := m.decide(Options{Keys: keys}, g)
		if got := slices.Contains(d.Accepted, f); !d.Passed() || got != c.want {
			t.Errorf("%s: accepted %t: %+v", c.name, got, d.Refusals)
		}
	}
}

// TestAcceptedBelowNone: a run that accepts failures accepts none, for a pass below one of its lines, of a run whose own lines are not known: they
// may have had other things to meet.
func TestAcceptedBelowNone(t *testing.T) {
	for parent, want := range map[string]bool{"": true, "r-8/1": false} {
		m := newMaker(t)
		m.run("r-0", func(r *receipts.Run) { r.Parent = parent })
		f := m.receipt(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
		m.run("r-1")
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(func(r *receipts.Receipt) { r.Run = "r-2" })
		g := requestFor(m.receipt(of("all")))
		g.Strict, g.AcceptFlaky = false, "the network"
		d := m.decide(Options{}, g)
		if got := slices.Contains(d.Accepted, f); !d.Passed() || got != want {
			t.Errorf("parent %q: accepted %t: %+v", parent, got, d.Refusals)
		}
	}
}

// TestBegunAfterItsLine: a run that says that a line started it, and began when that line had ended, is below no line whose variables could set it apart.
func TestBegunAfterItsLine(t *testing.T) {
	m := newMaker(t)
	in := func(run, step string) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Run, r.Step = run, step }
	}
	m.run("r-0")
	m.receipt(of("a"), in("r-0", "1"), func(r *receipts.Receipt) { r.Workspace.Before = treeB })
	m.receipt(of("b"), in("r-0", "2"), func(r *receipts.Receipt) { r.Workspace.Before = treeB })
	m.run("r-1", func(r *receipts.Run) { r.Parent = "r-0/1" })
	m.receipt(failing, in("r-1", "1"))
	m.run("r-2", func(r *receipts.Run) { r.Parent = "r-0/2" })
	m.gate([]receipts.Hash{m.receipt(in("r-2", "1"))}, func(g *receipts.Gate) { g.Run = "r-2" })
	q := asked(strict, func(q *Query) { q.Env = map[string]string{"check_a": "a", "check_b": "b", "check_lint": ""} })
	if res := ask(t, m.open(Options{}), q); res.Verdict != Flaky {
		t.Error(told(res))
	}
}

// TestAcceptedElsewhere: a run that accepts failures accepts those below its own lines, and not what failed below a line of another script, for which its
// command repeats the pass.
func TestAcceptedElsewhere(t *testing.T) {
	for _, own := range []bool{true, false} {
		m := newMaker(t)
		line := func(run, argv string) receipts.Hash {
			return m.receipt(of(argv), func(r *receipts.Receipt) { r.Run = run })
		}
		m.run("r-0")
		m.run("r-8", func(r *receipts.Run) { r.Parent = "r-0/1" })
		f := m.receipt(failing, func(r *receipts.Receipt) { r.Run = "r-8" })
		outer := "all"
		line("r-0", outer)
		m.run("r-1")
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(func(r *receipts.Receipt) { r.Run = "r-2" })
		if !own {
			outer = "other"
		}
		g := requestFor(line("r-1", outer))
		g.Strict, g.AcceptFlaky = false, "the network"
		if d := m.decide(Options{}, g); !d.Passed() || slices.Contains(d.Accepted, f) != own || !slices.Contains(d.Failed, f) {
			t.Errorf("own %t: accepted %v, named %v: %+v", own, d.Accepted, d.Failed, d.Refusals)
		}
	}
}
