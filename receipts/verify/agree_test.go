package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestGateAgreesWithVerdict makes small logs at random, of passes and failures of two lines and of runs that a third one started, on two
// trees or on none that is known. A gate refuses what a verdict on the same records does: FAILED where it says superseded, no VERIFIED where
// it says flaky; and both count the same. In every other log the lines are signed, and the runs that they start are not.
func TestGateAgreesWithVerdict(t *testing.T) {
	boss, keys := newSigner(t)
	for seed := range uint64(600) {
		rnd, m := rand.New(rand.NewPCG(seed, 0)), newMaker(t)
		o, level, signer := Options{}, receipts.LevelHash, (*receipts.Signer)(nil)
		if seed%2 > 0 {
			o, level, signer = Options{Keys: keys}, receipts.LevelKey, boss
		}
		var said string
		var members []receipts.Hash
		n := 3 + rnd.IntN(5)
		left, before, parents := rnd.IntN(2*n), rnd.IntN(2*n), []string{"r-1/9", "r-0/9"} // what comes after the receipt of the line was left behind by it
		line := func() {
			m.sign = signer
			members = append(members, m.receipt(of("all"), func(r *receipts.Receipt) { r.Step = "9" }))
			m.sign = nil
			said += " the line ended;"
		}
		for i := range n {
			if i == left {
				line()
			}
			if i == before { // that of an earlier run, whose gate was refused
				m.sign = signer
				m.receipt(of("all"), func(r *receipts.Receipt) { r.Run, r.Step, r.Apart = "r-0", "9", seed%3 == 0 })
				m.sign = nil
				said += " the line of r-0 ended;"
			}
			parent := parents[rnd.IntN(len(parents))]
			argv, tree, name := []string{"lint", "vet"}[rnd.IntN(2)], treeA, "A"
			if rnd.IntN(3) == 0 {
				tree, name = treeB, "B"
			}
			run := fmt.Sprint("r-1", i)
			in := func(r *receipts.Receipt) { r.Run, r.Workspace.Before = run, tree }
			none := func(r *receipts.Receipt) { r.Run, r.Workspace = run, nil }
			kind := rnd.IntN(9)
			if kind != 3 && rnd.IntN(8) > 0 { // else its start is not known
				parents = append(parents, run+"/1")
				m.run(run, func(r *receipts.Run) { r.Parent = parent })
			}
			switch kind {
			case 0, 1, 2:
				how, word := failing, "failed"
				if rnd.IntN(4) == 0 {
					how, word = killed, "was killed"
				}
				if rnd.IntN(5) == 0 {
					in, name = none, "no tree"
				}
				m.receipt(of(argv), in, how)
				said += fmt.Sprintf(" %s %s on %s, in %s of %s;", argv, word, name, run, parent)
			case 3:
				m.sign = signer
				members = append(members, m.receipt(of(argv), func(r *receipts.Receipt) { r.Step = fmt.Sprint(i) }))
				m.sign = nil
				said += fmt.Sprintf(" %s passed as a line;", argv)
			case 5: // left without a gate
				if rnd.IntN(2) == 0 {
					in, name = none, "no tree"
				}
				m.receipt(of(argv), in)
				said += fmt.Sprintf(" %s passed loose on %s, in %s of %s;", argv, name, run, parent)
			case 6:
				said += fmt.Sprintf(" %s of %s began;", run, parent)
			case 4:
				m.gate([]receipts.Hash{m.receipt(of(argv), none)}, func(g *receipts.Gate) { g.Run, g.Parent, g.Tree = run, parent, nil })
				said += fmt.Sprintf(" %s passed in a run with --no-tree;", argv)
			default:
				m.gate([]receipts.Hash{m.receipt(of(argv), in)}, func(g *receipts.Gate) { g.Run, g.Parent, g.Tree = run, parent, &tree })
				said += fmt.Sprintf(" %s passed in a run on %s;", argv, name)
			}
		}
		if left >= n {
			line()
		}
		m.sign = signer
		m.signCheckpoint(boss)
		g := requestFor(members...)
		g.Level = level
		var decisions [2]receipts.Decision
		for i, strict := range []bool{false, true} {
			g.Strict = strict
			decisions[i] = m.decide(o, g)
		}
		s, of := m.open(o), []*receipts.Entry(nil)
		for _, e := range s.bySHA(members...) {
			of = append(of, e)
		}
		nested, _ := s.nested(s.index.len(), g, of)
		var every []receipts.Hash
		for _, e := range s.below(s.index.len(), map[string]bool{"r-1": true}, level, func(parent string) bool { return runOf(parent) == "r-1" }) {
			every = append(every, e.SHA)
		}
		more := m.gate(members, func(b *receipts.Gate) { b.Nested, b.Run = every, "r-1" })
		gate := m.gate(members, func(b *receipts.Gate) { b.Nested = nested })
		m.signCheckpoint(boss)
		for i, strict := range []bool{false, true} {
			s, d := m.open(o), decisions[i]
			seq, err := s.find(gate.String())
			if err != nil {
				t.Fatal(err)
			}
			res := s.judge(asked(nothing, func(q *Query) { q.Strict, q.Level = strict, level }), s.entry(seq), whole)
			if seq, err = s.find(more.String()); err != nil {
				t.Fatal(err)
			}
			if all := s.judge(asked(nothing, func(q *Query) { q.Strict, q.Level = strict, level }), s.entry(seq), whole); all.Verdict != res.Verdict {
				t.Errorf("seed %d, strict %v:%s\nthe verdict is %s; with all that runs left it is %s", seed, strict, said, told(res), told(all))
			}
			superseded := false
			for _, r := range d.Refusals {
				superseded = superseded || r.Reason == receipts.Superseded
			}
			if d.Passed() && (d.Failures != res.Failures || d.Early != res.Early) {
				t.Errorf("seed %d:%s\nthe gate counts %d failures and %d ended early, the verdict %d and %d", seed, said, d.Failures, d.Early, res.Failures, res.Early)
			}
			if d.Passed() != (res.Verdict == "") || superseded && res.Verdict != Failed {
				t.Errorf("seed %d, strict %v:%s\nthe gate says %+v, the verdict is %s", seed, strict, said, d.Refusals, told(res))
			}
		}
	}
}
