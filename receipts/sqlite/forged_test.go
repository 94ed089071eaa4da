package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// TestBundleAgreesForged makes logs at random, with and without keys, with records that somebody forges and runs that begin twice, and compares what
// the bundle of a gate says with what the store says.
func TestBundleAgreesForged(t *testing.T) {
	passed := 0
	treeB := receipts.Tree{Bytes: receipts.Hash{0xb}}
	for seed := range uint64(200) {
		forged, twice := seed%4 == 0, seed%8 > 5
		path := filepath.Join(t.TempDir(), "receipts.db")
		rnd, s := rand.New(rand.NewPCG(seed, 7)), openAt(t, path)
		boss, o := s, Options{}
		if seed%2 == 1 {
			_, o = newKey(t, "boss")
			boss = openWith(t, path, o)
		}
		said := ""
		begin := func(run, parent string) {
			put(t, &receipts.Run{Version: 1, Run: run, Parent: parent, Session: "session", Started: at(0), Tree: &hereTree, Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})(s)
		}
		begin("r-1", "")
		parents := []string{"r-1/1", "r-0/1", "r-1/2"}
		of := make(map[string]string)
		one := func(i int) {
			run, parent := fmt.Sprint("r-2", i), parents[rnd.IntN(len(parents))]
			if rnd.IntN(3) == 0 {
				run = fmt.Sprint("r-2", rnd.IntN(i+1))
			}
			if of[run] == "" || twice {
				of[run] = parent
				begin(run, parent)
				parents = append(parents, run+"/1")
			} else {
				parent = of[run]
			}
			who, by := s, ""
			if rnd.IntN(3) == 0 {
				who, by = boss, "signed "
			}
			r := receiptOf(run, i, receipts.Succeeded)
			argv := []string{"/bin/inner", fmt.Sprint(rnd.IntN(3))}
			if rnd.IntN(4) == 0 {
				r.Step = "2"
			}
			r.Attempt = 1 + rnd.IntN(2)
			if rnd.IntN(2) == 0 {
				r.Binding = "b" + fmt.Sprint(rnd.IntN(2))
			}
			r.Argv, r.Command = []receipts.Datum{receipts.Text(argv[0]), receipts.Text(argv[1])}, receipts.CommandHash(argv)
			word := "passes"
			if rnd.IntN(2) == 0 {
				code := 1
				r.Status, r.ExitCode, word = receipts.StatusFailed, &code, "fails"
			}
			switch rnd.IntN(6) {
			case 0:
				r.Workspace, word = nil, word+" without files"
			case 1:
				r.Workspace.Before = treeB
				word += " on B"
			case 2:
				r.Workspace.After = &treeB
				word += " leaving B"
			}
			said += fmt.Sprintf("%s of %s: step %s attempt %d %s(%s) %s%s", run, parent, r.Step, r.Attempt, argv[1], r.Binding, by, word)
			if by != "" && o.Signer != nil {
				r.Signer = o.Signer.ID()
			}
			put(t, r)(who)
			if r.Status == receipts.Succeeded && rnd.IntN(2) == 0 {
				g := requestOf(run, r)
				if g.Parent, g.Strict = parent, false; r.Workspace != nil {
					g.Tree = &r.Workspace.Before
				}
				s.Gate(ctx, g)
				said += " (gate)"
			}
			said += "; "
		}
		line := func(run, step string, who *Store, w string) *receipts.Receipt {
			r := receiptOf(run, 100+rnd.IntN(1000), receipts.Succeeded)
			r.Step, r.Binding = step, "line"+step
			argv := []string{"/bin/line", step}
			r.Argv, r.Command = []receipts.Datum{receipts.Text(argv[0]), receipts.Text(argv[1])}, receipts.CommandHash(argv)
			r.Attempt = 1 + rnd.IntN(2)
			r.Apart = rnd.IntN(8) == 0
			if who == boss && o.Signer != nil {
				r.Signer = o.Signer.ID()
			}
			put(t, r)(who)
			said += fmt.Sprintf("LINE %s/%s %s apart %v attempt %d; ", run, step, w, r.Apart, r.Attempt)
			return r
		}
		forge := func() {
			if !forged {
				return
			}
			r := receiptOf([]string{"r-1", "r-0"}[rnd.IntN(2)], 2000+rnd.IntN(1000), receipts.Succeeded)
			r.Step = "1"
			if rnd.IntN(2) == 0 {
				r.Workspace.Before = treeB
			}
			put(t, r)(s)
			said += fmt.Sprintf("FORGED %s B %v; ", r.Run, r.Workspace.Before == treeB)
		}
		n := 2 + rnd.IntN(6)
		i := 0
		for ; i < n; i++ {
			one(i)
			if rnd.IntN(4) == 0 {
				forge()
			}
			if rnd.IntN(6) == 0 {
				line("r-0", "1", boss, "boss")
			}
		}
		a := line("r-1", "1", boss, "boss")
		if rnd.IntN(3) == 0 {
			one(i)
			i++
		}
		b2 := line("r-1", "2", boss, "boss")
		g := requestOf("r-1", a, b2)
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
		said += "GATE; "
		for range rnd.IntN(4) {
			one(i)
			i++
		}
		if rnd.IntN(2) == 0 {
			line("r-0", "1", boss, "boss")
		}
		bu, err := boss.Bundle(ctx, nil, d.Gate.String())
		if err != nil {
			t.Fatal(err)
		}
		book, err := verify.OfBundle(bu, o.Keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		passed++
		for _, q := range []verify.Query{{}, {Strict: true}, {Level: g.Level}, {Strict: true, Level: g.Level}, {Retries: map[string]bool{"line1": true}, Strict: true, Level: g.Level}} {
			q.Tree = &hereTree
			want, err := boss.Ask(ctx, q, d.Gate.String())
			if err != nil {
				t.Fatal(err)
			}
			got, err := book.One(q, d.Gate.String())
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != want.Verdict {
				t.Errorf("seed %d, level %d strict %v, %s\n the bundle says %s, %d failures, %v;\n the store %s, %d failures, %v", seed, q.Level, q.Strict, said,
					got.Verdict, got.Failures, got.Refusals, want.Verdict, want.Failures, want.Refusals)
				break
			}
		}
	}
	if passed < 100 {
		t.Errorf("%d gates passed", passed)
	}
}

// Of a log that was forked after a checkpoint had been kept, neither branch is what two checkpoints are of: the one that was kept, and that of a run which
// went on from a copy of before.
func TestForkedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	fill(t, s, "r-1", 3)
	s.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	fill(t, s, "r-2", 2)
	kept := keep(t, s)
	fork := path + "2"
	if err := os.WriteFile(fork, before, 0o600); err != nil {
		t.Fatal(err)
	}
	other := openAt(t, fork)
	fill(t, other, "r-3", 4)
	of := keep(t, other)
	fill(t, s, "r-4", 4)
	for name, s := range map[string]*Store{"kept": s, "forked": other} {
		if a := audit(t, s, kept, of); a.Consistent() || a.Since != of.Count {
			t.Errorf("%s: %d, %q", name, a.Since, messages(a))
		}
	}
	if a := audit(t, s, kept, keep(t, s)); !a.Consistent() || a.Since != 9 {
		t.Errorf("%d, %q", a.Since, messages(a))
	}
}
