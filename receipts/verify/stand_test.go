package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestStand has a command of a run that a line started fail, in a record that does not say on what files: it is about those of the line, as far as
// a record of the line's run vouches for it.
func TestStand(t *testing.T) {
	in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
	step := func(name string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Step = name } }
	apart := func(r *receipts.Receipt) { r.Apart = true }
	bare := func(r *receipts.Receipt) { r.Workspace = nil }
	below := func(m *maker) { m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/2" }) }
	fails := func(m *maker) { m.receipt(in("r-6"), bare, failing) }
	line := func(m *maker, change ...func(*receipts.Receipt)) {
		m.receipt(append([]func(*receipts.Receipt){of("suite"), step("2")}, change...)...)
	}
	gate := func(m *maker) { m.gate([]receipts.Hash{m.receipt()}) }
	for name, c := range map[string]struct {
		log  func(m *maker)
		want Verdict
	}{
		"of the line":                             {func(m *maker) { below(m); fails(m); line(m); gate(m) }, Flaky},
		"of a line on other files":                {func(m *maker) { below(m); fails(m); line(m, on(treeB)); gate(m) }, Verified},
		"of a line that changed them to these":    {func(m *maker) { below(m); fails(m); line(m, changes(treeB, treeA)); gate(m) }, Flaky},
		"of the second attempt of a line":         {func(m *maker) { below(m); line(m, on(treeB)); fails(m); line(m); gate(m) }, Flaky},
		"of the first attempt of a line":          {func(m *maker) { below(m); fails(m); line(m, on(treeB)); line(m); gate(m) }, Verified},
		"of a line whose runs decide nothing":     {func(m *maker) { below(m); fails(m); line(m, apart); gate(m) }, Verified},
		"of one of which a later record says so":  {func(m *maker) { below(m); fails(m); line(m); line(m, apart); gate(m) }, Flaky},
		"after the last record of the line's run": {func(m *maker) { below(m); line(m); gate(m); fails(m) }, Verified},
		"below a line of a run that decides nothing": {func(m *maker) {
			below(m)
			m.run("r-7", func(r *receipts.Run) { r.Parent = "r-6/1" })
			m.receipt(in("r-7"), bare, failing)
			m.receipt(of("inner"), in("r-6"))
			line(m, apart)
			gate(m)
		}, Verified},
	} {
		m := newMaker(t)
		c.log(m)
		if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != c.want {
			t.Errorf("%s: %s\nwant %s", name, told(res), c.want)
		}
	}
}

// TestApartFirst: the runs that a step started decide nothing only if each record of the step that has the level says so.
func TestApartFirst(t *testing.T) {
	apart := func(r *receipts.Receipt) { r.Apart = true }
	plain := func(*receipts.Receipt) {}
	for name, c := range map[string]struct {
		first, second func(*receipts.Receipt)
		nested        int
	}{"neither": {plain, plain, 1}, "both": {apart, apart, 0}, "the second": {plain, apart, 1}, "the first": {apart, plain, 1}} {
		m := newMaker(t)
		m.child("r-2", "r-1/2")
		for _, change := range []func(*receipts.Receipt){c.first, c.second} {
			m.receipt(of("suite"), func(r *receipts.Receipt) { r.Step = "2" }, change)
		}
		if d := m.decide(Options{}, requestFor(m.receipt())); !d.Passed() || len(d.Nested) != c.nested {
			t.Errorf("%s: nested %v, want %d: %v", name, d.Nested, c.nested, d.Refusals)
		}
	}
}

// TestMadeUpSignerOfRun: a record without the key that names a signer nobody knows does not make its run one with the key, whose beginning would have
// to have it.
func TestMadeUpSignerOfRun(t *testing.T) {
	boss, keys := newSigner(t)
	in := func(r *receipts.Receipt) { r.Run = "r-6" }
	m := newMaker(t)
	m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
	m.receipt(in, failing)
	m.receipt(of("more"), in, func(r *receipts.Receipt) { r.Signer = "zed+12345678" })
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed)); res.Verdict != Flaky {
		t.Error(told(res))
	}
}

// TestForgedGateOfRun: a gate without the key does not say which line started a run that has records with it.
func TestForgedGateOfRun(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	other := m.receipt(of("vet"), func(r *receipts.Receipt) { r.Run = "r-2" })
	m.sign = nil
	m.gate([]receipts.Hash{other}, func(g *receipts.Gate) { g.Run, g.Parent = "r-2", "r-1/1" })
	m.sign = boss
	h := m.receipt()
	m.signCheckpoint(boss)
	if d := m.decide(Options{Keys: keys}, requestFor(h)); !d.Passed() || len(d.Nested) > 0 {
		t.Errorf("nested %v: %v", d.Nested, d.Refusals)
	}
}

// TestSinceUnvouched: a pass that nobody's signature puts below a line, once the run that it is of had its gate, refuses nothing.
func TestSinceUnvouched(t *testing.T) {
	boss, keys := newSigner(t)
	in := func(r *receipts.Receipt) { r.Run = "r-6" }
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt(of("vet"), in)}, func(g *receipts.Gate) { g.Run, g.Parent = "r-6", "r-1/1" })
	m.receipt(of("more"), on(treeC), in)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.receipt(of("more"), on(treeC), failing, func(r *receipts.Receipt) { r.Run = "r-9" })
	m.signCheckpoint(boss)
	if res := ask(t, m.open(Options{Keys: keys}), asked(signed)); res.Verdict != Verified {
		t.Error(told(res))
	}
}

// TestNestedFailure: a failure that a gate names beside the passes that it took in does not undo itself.
func TestNestedFailure(t *testing.T) {
	m := newMaker(t)
	m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
	list := []receipts.Hash{m.receipt(), m.receipt(of("vet"), func(r *receipts.Receipt) { r.Step = "2" })}
	f := m.receipt(of("vet"), failing, func(r *receipts.Receipt) { r.Run = "r-6" })
	m.gate(list, func(g *receipts.Gate) { g.Nested = []receipts.Hash{f} })
	if res := ask(t, m.open(Options{}), asked()); res.Verdict != Failed {
		t.Error(told(res))
	}
}

// TestUnknownBeginning: a pass with the key of a run whose beginning the log lacks is of no line, and undoes no failure below one. A bundle may leave a
// beginning out.
func TestUnknownBeginning(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
	m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
	first := m.receipt(of("vet"), in("r-6"))
	m.receipt(of("vet"), failing, in("r-6"))
	second := m.receipt(of("vet"), in("r-8"))
	m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Nested = []receipts.Hash{first, second} })
	m.signCheckpoint(boss)
	if res := ask(t, m.open(Options{Keys: keys}), asked(signed)); res.Verdict != Failed {
		t.Errorf("of a log: %s", told(res))
	}
	s, err := OfBundle(m.bundle(string(m.log.note), 0), keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res := ask(t, s, asked(signed)); res.Verdict != Verified {
		t.Errorf("of a bundle: %s", told(res))
	}
}

// TestOuterDeep: a verdict names the line for what a run came to that lies some runs below it.
func TestOuterDeep(t *testing.T) {
	const depth = 8
	m := newMaker(t)
	for i := 2; i <= depth; i++ {
		m.run(fmt.Sprint("r-", i), func(r *receipts.Run) { r.Parent = fmt.Sprintf("r-%d/1", i-1) })
	}
	in := func(r *receipts.Receipt) { r.Run = fmt.Sprint("r-", depth) }
	m.receipt(of("vet"), in, failing)
	inner := m.receipt(of("vet"), in)
	m.gate([]receipts.Hash{m.receipt()}, func(g *receipts.Gate) { g.Nested = []receipts.Hash{inner} })
	if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != Flaky || !strings.Contains(told(res), "in a run that q.dlct:1 (Check with lint) started") {
		t.Error(told(res))
	}
}
