package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestForgedParent has somebody without the key say of a signed run that a line of it started it: what else that run did is not below the line.
func TestForgedParent(t *testing.T) {
	s, keys := newSigner(t)
	for _, forged := range []string{"", "a beginning", "a gate"} {
		m := newMaker(t)
		line := m.signedBy(s)
		bare := func(r *receipts.Receipt) { r.Workspace = nil }
		pass := line(func(r *receipts.Receipt) { r.Step = "2" })
		line(failing, func(r *receipts.Receipt) { r.Run = "r-2" })
		switch forged {
		case "a beginning":
			m.run("r-1", func(r *receipts.Run) { r.Parent = "r-1/2" })
		case "a gate":
			m.gate([]receipts.Hash{pass}, func(g *receipts.Gate) { g.Parent = "r-1/2" })
		}
		line(bare)
		g := requestFor(pass)
		g.Level, g.Strict = receipts.LevelKey, false
		m.signCheckpoint(s)
		if d := m.decide(Options{Keys: keys}, g); d.Passed() || d.Refusals[0].Reason != receipts.Superseded {
			t.Errorf("forged %q: %+v", forged, d.Refusals)
		}
	}
}

// TestTakenSince has somebody without the key write, after a signed gate, a gate over a pass below a line of it, which a failure contradicts that the key signed.
func TestTakenSince(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		in := func(r *receipts.Receipt) { r.Run = "r-6"; unbound(r) }
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		pass := m.receipt(in)
		list := []receipts.Hash{line(of("all"))}
		m.sign = s
		g := m.gate(list)
		m.receipt(failing, unbound, func(r *receipts.Receipt) { r.Run = "r-7" })
		m.sign = nil
		m.signCheckpoint(s)
		if forge {
			m.gate([]receipts.Hash{pass}, func(b *receipts.Gate) { b.Run, b.Parent = "r-6", "r-6/1" })
		}
		res, err := m.open(Options{Keys: keys}).One(asked(nothing, signed), g.String())
		if err != nil || res.Verdict != Failed {
			t.Errorf("forged %v: %s, %v", forge, told(res), err)
		}
	}
}

// TestAcceptedUnseen: a run that accepts failures before passes accepts none for a pass without the key that came after the receipt of its line.
func TestAcceptedUnseen(t *testing.T) {
	s, keys := newSigner(t)
	for _, seen := range []bool{true, false} {
		m := newMaker(t)
		line := m.signedBy(s)
		in := func(r *receipts.Receipt) { r.Run = "r-6" }
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		f := m.receipt(in, failing)
		if seen {
			m.receipt(in)
		}
		list := []receipts.Hash{line(of("all"))}
		if !seen {
			m.receipt(in)
		}
		g := requestFor(list...)
		g.Level, g.Strict, g.AcceptFlaky = receipts.LevelKey, false, "the network"
		m.signCheckpoint(s)
		if d := m.decide(Options{Keys: keys}, g); slices.Contains(d.Accepted, f) != seen {
			t.Errorf("seen %v: accepted %v, %v", seen, d.Accepted, d.Refusals)
		}
	}
}

// TestHiddenBehind has somebody without the key write, in the name of a line that is running, a failure that a second attempt of its step excuses: it
// takes the place of no failure that the key signed.
func TestHiddenBehind(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		in := func(r *receipts.Receipt) { r.Run = "r-9" }
		f := line(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
		if forge {
			m.run("r-9", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.receipt(failing, in)
			m.receipt(in, func(r *receipts.Receipt) { r.Attempt, r.Reused = 2, f })
		}
		list := []receipts.Hash{line(of("words"))}
		m.sign = s
		m.gate(list)
		m.signCheckpoint(s)
		if res := ask(t, m.open(Options{Keys: keys}), asked(nothing, signed)); res.Verdict != Failed {
			t.Errorf("forged %v: %s", forge, told(res))
		}
	}
}

// TestForgedOuter has a command of a line that is apart say that its own run started the run of the line: what the other lines started counts all the same.
func TestForgedOuter(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		m.sign = s
		m.run("r-1")
		m.sign = nil
		in := func(r *receipts.Receipt) { r.Run = "r-2" }
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		f := m.receipt(failing, in)
		m.receipt(in)
		list := []receipts.Hash{line(of("all"))}
		m.run("r-8", func(r *receipts.Run) { r.Parent = "r-1/2" })
		if forge {
			m.run("r-1", func(r *receipts.Run) { r.Parent = "r-8/1" })
		}
		list = append(list, line(of("vet"), func(r *receipts.Receipt) { r.Step, r.Apart = "2", true }))
		g := requestFor(list...)
		g.Level, g.Strict = receipts.LevelKey, false
		m.signCheckpoint(s)
		if d := m.decide(Options{Keys: keys}, g); !d.Passed() || !slices.Contains(d.Failed, f) || d.Failures != 1 {
			t.Errorf("forged %v: %+v", forge, d)
		}
	}
}

// TestMadeUpSigner has as many records as are read bear the name of a key that nobody has: what notes say of executables and tests is of records that the
// key signed all the same.
func TestMadeUpSigner(t *testing.T) {
	s, keys := newSigner(t)
	tool := func(sum byte, passed int) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			r.Executable = &receipts.File{Path: receipts.Text("/bin/tool"), SHA256: receipts.Hash{sum}}
			r.Tests = &receipts.Tests{Passed: passed}
		}
	}
	zed := func(r *receipts.Receipt) { r.Signer = "zed+12345678" }
	onB := func(r *receipts.Receipt) { r.Workspace.Before = treeB }
	m := newMaker(t)
	m.sign = s
	first := m.receipt(tool(1, 3), onB, func(r *receipts.Receipt) { r.Run = "r-0" })
	before := m.gate([]receipts.Hash{first}, func(g *receipts.Gate) { g.Run, g.Tree = "r-0", &treeB })
	m.sign = nil
	forged := m.receipt(tool(2, 1), zed, onB, func(r *receipts.Receipt) { r.Run = "r-0" })
	for range gatesRead {
		m.gate([]receipts.Hash{forged}, func(g *receipts.Gate) { g.Signer, g.Tree = "zed+12345678", &treeB })
	}
	for range maxBefore {
		m.receipt(tool(2, 1), zed, onB)
	}
	m.sign = s
	m.gate([]receipts.Hash{m.receipt(tool(2, 1))})
	m.signCheckpoint(s)
	session := m.open(Options{Keys: keys})
	res := ask(t, session, asked(signed))
	if text := strings.Join(res.Notes, "\n"); res.Verdict != Verified || !strings.Contains(text, "the executable of check_lint changed") {
		t.Errorf("%s: %s", told(res), text)
	}
	if res.Tested == nil || res.Tested.Before == nil || res.Tested.Gate != before {
		t.Errorf("the tests are compared with %+v", res.Tested)
	}
	of := receipts.Counting{Binding: "check_lint", Command: lint}
	if found, err := session.Counted([]receipts.Counting{of}, "r-1", s.ID()); err != nil || found[of].SHA != first {
		t.Errorf("counted %+v, %v", found, err)
	}
}

// TestAcceptedForeign has a gate without the key, in the name of a line, take in a pass of another run: the run of the line accepts no failure for that.
func TestAcceptedForeign(t *testing.T) {
	s, keys := newSigner(t)
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(s)
		onB := func(r *receipts.Receipt) { r.Run, r.Workspace.Before = "r-0", treeB }
		m.sign = s
		m.run("r-0")
		m.sign = nil
		f := line(failing, onB)
		pass := line(onB)
		list := []receipts.Hash{line()}
		if forge {
			m.gate([]receipts.Hash{pass}, func(b *receipts.Gate) { b.Run, b.Parent = "r-9", "r-1/1" })
		}
		g := requestFor(list...)
		g.Level, g.Strict, g.AcceptFlaky = receipts.LevelKey, false, "the network"
		m.signCheckpoint(s)
		if d := m.decide(Options{Keys: keys}, g); slices.Contains(d.Accepted, f) {
			t.Errorf("forged %v: accepted %v, %v", forge, d.Accepted, d.Refusals)
		}
	}
}

// TestForeignFirst has a gate without the key put a pass of a run of its own below a line that has ended: what failed after the pass that the line started counts
// for that one all the same, though the other came later.
func TestForeignFirst(t *testing.T) {
	boss, bossKeys := newSigner(t)
	other, otherKeys := newSigner(t)
	both := several{bossKeys, otherKeys}
	for _, forge := range []bool{false, true} {
		m := newMaker(t)
		line := m.signedBy(boss)
		m.sign = boss
		m.run("r-1")
		m.sign = nil
		in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		inner := m.receipt(in("r-2"))
		m.gate([]receipts.Hash{inner}, func(b *receipts.Gate) { b.Run, b.Parent = "r-2", "r-1/1" })
		list := []receipts.Hash{line(of("all"))}
		m.signedBy(other)(failing, in("r-7"))
		if forge {
			m.run("r-8")
			pass := m.receipt(in("r-8"))
			m.gate([]receipts.Hash{pass}, func(b *receipts.Gate) { b.Run, b.Parent = "r-9", "r-1/1" })
		}
		list = append(list, line(of("vet"), func(r *receipts.Receipt) { r.Step = "2" }))
		g := requestFor(list...)
		g.Level, g.Strict, g.Retries = receipts.LevelKey, false, map[string]bool{"check_lint": true}
		m.signCheckpoint(boss)
		d, members, err := m.open(Options{Keys: bossKeys}).Decide(g)
		if err != nil || !d.Passed() {
			t.Fatal(err, d.Refusals)
		}
		body := g.Body(members, &d)
		body.Timestamp, body.Nested, body.Final, body.Covers = m.now(), d.Nested, true, receipts.Covers{FirstLine: 1, LastLine: 2, Commands: 2}
		m.sign = boss
		m.add(body)
		m.signCheckpoint(boss)
		note := m.log.note
		m.signCheckpoint(other)
		m.log.note = slices.Concat(note, []byte("\n"), m.log.note)
		require := func(q *Query) {
			q.Require = []Requirement{{Name: "all", Binding: "check_all", Command: receipts.CommandHash([]string{"all"}), Words: "all"}}
			q.Retries = g.Retries
		}
		if res := ask(t, m.open(Options{Keys: both}), asked(signed, require)); res.Verdict != Failed {
			t.Errorf("forged %v: %s", forge, told(res))
		}
	}
}
