package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// TestBundleAgrees makes small stores at random, of runs that a line started and of runs that lines of those did: a bundle of the gate over
// the line answers as the store does.
func TestBundleAgrees(t *testing.T) {
	for seed := range uint64(40) {
		path := filepath.Join(t.TempDir(), "receipts.db")
		rnd, s := rand.New(rand.NewPCG(seed, 0)), openAt(t, path)
		boss, o := s, Options{} // the lines of the outer runs are recorded by boss: every second time with a key
		if seed%2 == 1 {
			_, o = newKey(t, "boss")
			boss = openWith(t, path, o)
		}
		said := ""
		begin := func(run, parent string) {
			put(t, &receipts.Run{Version: 1, Run: run, Parent: parent, Session: "session", Started: at(0), Tree: &hereTree, Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})(s)
		}
		begin("r-1", "")
		parents := []string{"r-1/1", "r-7/1", "r-0/1"} // of the second nothing is known
		early := rnd.IntN(4)                           // when the first one of an earlier run is recorded
		var last receipts.Hash
		n := 3 + rnd.IntN(4)
		for i := range n {
			run, parent := fmt.Sprint("r-2", i), parents[rnd.IntN(len(parents))]
			if i == early {
				first := receiptOf("r-0", 20, receipts.Succeeded)
				first.Step, first.Apart = "1", rnd.IntN(4) == 0
				put(t, first)(boss)
			}
			begin(run, parent)
			parents = append(parents, run+"/1")
			r := receiptOf(run, i, receipts.Succeeded)
			argv, how := []string{"/bin/inner", fmt.Sprint(rnd.IntN(2))}, rnd.IntN(5)
			if i >= n-2 { // each passes in the end
				argv[1], how = fmt.Sprint(i%2), 4
			}
			r.Argv, r.Command = []receipts.Datum{receipts.Text(argv[0]), receipts.Text(argv[1])}, receipts.CommandHash(argv)
			word := "passes"
			switch how {
			case 0, 1:
				code := 1
				r.Status, r.ExitCode, word = receipts.StatusFailed, &code, "fails"
			case 2:
				if !last.IsZero() {
					r.Reused, word = last, "repeats"
				}
			}
			switch x := rnd.IntN(6); {
			case i < n-2 && x == 0:
				r.Workspace, word = nil, word+" without files"
			case i < n-2 && x == 1:
				r.Workspace.Before = receipts.Tree{Bytes: receipts.Hash{0xb}}
				word += " on B"
			}
			said += fmt.Sprintf("%s of %s: %s %s; ", run, parent, argv[1], word)
			if h := put(t, r)(s); r.Status == receipts.Succeeded {
				last = h
				g := requestOf(run, r)
				if g.Parent, g.Strict = parent, false; r.Workspace != nil {
					g.Tree = &r.Workspace.Before
				}
				if d, err := s.Gate(ctx, g); err != nil {
					t.Fatal(reasons(d), err)
				}
			}
		}
		end := receiptOf("r-0", 21, receipts.Succeeded)
		end.Step = "2"
		put(t, end)(boss)
		outer := receiptOf("r-1", 9, receipts.Succeeded)
		outer.Step, outer.Attempt = "1", 1+rnd.IntN(2)
		put(t, outer)(boss)
		g := requestOf("r-1", outer)
		g.Tree, g.Strict = &hereTree, false
		if boss != s {
			g.Level = receipts.LevelKey
		}
		d, err := boss.Gate(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		if !d.Passed() {
			continue
		}
		b, err := boss.Bundle(ctx, nil, d.Gate.String())
		if err != nil {
			t.Fatal(err)
		}
		book, err := verify.OfBundle(b, o.Keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []verify.Query{{}, {Strict: true}, {Fresh: true}, {Strict: true, Level: g.Level}} {
			q.Tree = &hereTree
			want, err := boss.Ask(ctx, q, d.Gate.String())
			if err != nil {
				t.Fatal(err)
			}
			got, err := book.One(q, d.Gate.String())
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != want.Verdict || got.Failures != want.Failures || got.Early != want.Early {
				t.Errorf("seed %d, level %d, %sattempt %d: the bundle says %s, %d failures, %v; the store %s, %d failures, %v", seed, q.Level, said, outer.Attempt,
					got.Verdict, got.Failures, got.Refusals, want.Verdict, want.Failures, want.Refusals)
			}
		}
	}
}

// TestBundleAgreesClean: what counts in clean checkouts alone has last words of its own, and a bundle has them.
func TestBundleAgreesClean(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "receipts.db"))
	put(t, &receipts.Run{Version: 1, Run: "r-1", Session: "session", Started: at(0), Tree: &hereTree, Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})(s)
	record := func(i int, run, word string, clean, fails bool) *receipts.Receipt {
		r := receiptOf(run, i, receipts.Succeeded)
		r.Argv = []receipts.Datum{receipts.Text("/bin/" + word)}
		r.Command, r.Binding = receipts.CommandHash([]string{"/bin/" + word}), "check_"+word
		if clean {
			r.Clean = &receipts.Clean{}
		}
		if fails {
			code := 1
			r.Status, r.ExitCode = receipts.StatusFailed, &code
		}
		put(t, r)(s)
		return r
	}
	record(0, "r-0", "other", true, true)
	record(1, "r-0", "other", true, false)
	record(2, "r-0", "other", false, true)
	g := requestOf("r-1", record(3, "r-1", "line", true, false))
	g.Tree, g.Strict = &hereTree, false
	d, err := s.Gate(ctx, g)
	if err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	b, err := s.Bundle(ctx, nil, d.Gate.String())
	if err != nil {
		t.Fatal(err)
	}
	book, err := verify.OfBundle(b, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for clean, verdict := range map[bool]verify.Verdict{true: verify.Verified, false: verify.Failed} {
		q := verify.Query{Tree: &hereTree, Clean: clean}
		want, err := s.Ask(ctx, q, d.Gate.String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := book.One(q, d.Gate.String())
		if err != nil || got.Verdict != want.Verdict || got.Verdict != verdict {
			t.Errorf("clean %v: the bundle says %s, %v; the store %s, %v: %v", clean, got.Verdict, got.Refusals, want.Verdict, want.Refusals, err)
		}
	}
}
