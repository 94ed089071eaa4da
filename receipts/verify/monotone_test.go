package verify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// A tale makes a log at random, with or without what somebody without the key wrote.
type tale struct {
	ops   []saying
	rules rules
}

// A saying adds one record, or asks for a gate.
type saying struct {
	text string
	who  teller
	does func(*telling)
	run  string
}

func say(text string, who teller, does func(*telling)) saying {
	return saying{text: text, who: who, does: does}
}

// A teller writes records.
type teller string

const (
	boss  teller = "boss"  // has the key
	child teller = "child" // is started by a line of boss, without the key
	agent teller = "AGENT" // writes what it likes
)

// A manner says what the agent may write.
type manner string

const (
	anything manner = "anything" // beside records of boss alone
	loose    manner = "loose"    // of runs of its own that no line started
	late     manner = "late"     // when the lines that it names have ended, or of the third lines of runs, which are apart
)

// A telling is a log that is made of a tale.
type telling struct {
	*maker
	boss   *receipts.Signer
	o      Options
	hashes []receipts.Hash // by saying; zero where it added none
	gates  map[int]bool    // by saying: whether the gate was granted
}

func (x *telling) known(of []int) []receipts.Hash {
	list := []receipts.Hash{}
	for _, i := range of {
		if h := x.hashes[i]; !h.IsZero() {
			list = append(list, h)
		}
	}
	return list
}

// tell makes the log of the tale.
func (a *tale) tell(t testing.TB, key *receipts.Signer, o Options, junk bool) *telling {
	x := &telling{maker: newMaker(t), boss: key, o: o, hashes: make([]receipts.Hash, len(a.ops)), gates: make(map[int]bool)}
	for i, op := range a.ops {
		if op.who == agent && !junk {
			continue
		}
		x.n, x.sign = 2*i, nil
		if op.who == boss {
			x.sign = x.boss
		}
		before := len(x.log.recs)
		op.does(x)
		if len(x.log.recs) > before && x.hashes[i].IsZero() {
			r := x.log.recs[before]
			x.hashes[i] = receipts.Record{Kind: r.Kind, Body: r.Body}.SHA()
		}
	}
	x.signCheckpoint(x.boss)
	return x
}

func (a *tale) String() string {
	var b strings.Builder
	for i, op := range a.ops {
		fmt.Fprintf(&b, "\n  %d %s: %s", i, op.who, op.text)
	}
	return b.String()
}

// newTale is a log of boss, and of what the agent wrote in some manner.
func newTale(seed uint64, how manner) *tale {
	rnd := rand.New(rand.NewPCG(seed, 7))
	pick := func(n int) int { return rnd.IntN(n) }
	name := func(run, step int) string { return receipts.StepName(fmt.Sprint("r-", run), fmt.Sprint(step)) }
	a := &tale{rules: rules{matrix: matrix}}
	if pick(2) == 0 {
		a.rules.retries = map[string]bool{"check_vet": true}
	}
	if pick(2) == 0 {
		a.rules.env = map[string]string{"check_lint": "", "strict_lint": "x", "check_all": "y"}
	}
	trees := []receipts.Tree{treeA, treeA, treeA, treeB}
	var fails, pending, passes, all []int
	n := 4 + pick(10)
	begun := make(map[string]bool) // by child
	// In the late manner lines start runs, then those lines end, then the agent writes, and then boss goes on.
	ended, wrote := n, n
	if how == late {
		ended = n
		wrote = ended + 4 + 2 + pick(5)
		n = wrote + 2 + pick(4)
	}
	for len(a.ops) < n {
		i := len(a.ops)
		who := boss
		runs, first, steps, parent := pick(4), 1, pick(2), "" // the last two make up the step
		if pick(2) == 0 {
			parent = name(pick(5), 1+pick(2))
		}
		kind := pick(12)
		closes := how == late && i >= ended && i < ended+4
		switch {
		case closes:
			runs, steps, kind = (i-ended)/2, (i-ended)%2, 2
		case how == late && i < ended:
			if runs = pick(2); pick(2) == 0 {
				who, runs = child, 4+pick(3)
				parent = []string{"", name(pick(2), 1+pick(2)), name(pick(2), 1+pick(2)), name(4+pick(3), 1)}[pick(4)]
			} else {
				parent = ""
			}
		case how == late && i < wrote:
			who, runs = agent, pick(7)
			parent = []string{"", name(pick(2), 1+pick(2)), name(pick(2), 3), name(4+pick(3), 1)}[pick(4)]
		case how == late:
			first, parent = 3, ""
		case pick(2) == 0:
			if who = agent; how == loose {
				runs, parent = 4+pick(3), ""
			}
		}
		if i >= n-2 && len(passes) > 0 { // the end asks about the rest
			if kind = 9; pick(2) == 0 {
				who = boss
			}
		}
		run, step := fmt.Sprint("r-", runs), fmt.Sprint(first+steps)
		if who == child && !begun[run] {
			kind, begun[run] = 0, true
		}
		tree := trees[pick(len(trees))]
		var op saying
		switch kind {
		case 0, 1:
			op = say(fmt.Sprintf("%s begins, of %q", run, parent), who, func(x *telling) {
				x.maker.run(run, func(r *receipts.Run) { r.Parent, r.Tree = parent, &tree })
			})
		case 2, 3, 4, 5, 6:
			argv := []string{"lint", "vet", "all"}[pick(3)]
			binding := "check_" + argv
			if argv == "lint" && pick(3) == 0 {
				binding = "strict_lint"
			}
			bare, other, apart, again, free := pick(6) == 0, pick(10) == 0, pick(10) == 0, pick(6) == 0, pick(10) == 0
			ends, word := func(*receipts.Receipt) {}, "passes"
			answer := pick(5)
			if how == late && first+steps == 3 { // see late
				apart = true
			}
			if closes {
				argv, binding, bare, other, apart, again, free, answer = "all", "check_all", pick(6) == 0, false, apart && pick(2) == 0, false, false, 4
			}
			switch answer {
			case 0, 1:
				ends, word = failing, "FAILS"
				fails = append(fails, i)
			case 2:
				if pick(2) == 0 {
					ends, word = killed, "is killed"
				} else {
					ends, word = func(r *receipts.Receipt) { r.Status, r.ExitCode = receipts.Pending, nil }, "is pending"
					pending = append(pending, i)
				}
			default:
				passes = append(passes, i)
			}
			reused := -1
			if word == "passes" && pick(8) == 0 && len(all) > 0 {
				if reused = all[pick(len(all))]; a.ops[reused].who == agent && who != agent || closes {
					reused = -1
				}
			}
			all = append(all, i)
			op = say(fmt.Sprintf("%s %s of %s/%s on %s (bare %v, other matrix %v, apart %v, attempt 2 %v, no binding %v, repeats %d)", binding, word, run, step, tree.Tree[:1], bare, other, apart, again, free, reused), who,
				func(x *telling) {
					x.receipt(of(argv), func(r *receipts.Receipt) {
						r.Run, r.Step, r.Binding, r.Apart = run, step, binding, apart
						r.Workspace.Before = tree
						if bare {
							r.Workspace = nil
						}
						if other {
							r.Matrix = receipts.Hash{9}
						}
						if again {
							r.Attempt = 2
						}
						if free {
							unbound(r)
						}
						if reused >= 0 {
							r.Reused = x.hashes[reused]
						}
					}, ends)
				})
		case 7, 8, 9:
			var of []int
			anyRun, lead := pick(3) == 0, -1
			for _, j := range slices.Backward(slices.Concat(pending, passes)) {
				if pick(4) == 0 || who == child && a.ops[j].who != child || who == boss && (a.ops[j].who != boss || !anyRun && lead >= 0 && a.ops[j].run != run) {
					continue
				}
				if of = append(of, j); lead < 0 && who == boss {
					lead, run = j, a.ops[j].run
				}
			}
			if who != boss {
				nested := slices.Clone(all)
				if who == child {
					nested = nil
				}
				op = say(fmt.Sprintf("a gate of %s, of %q, over %v with %v", run, parent, of, nested), who, func(x *telling) {
					x.gate(x.known(of), func(g *receipts.Gate) {
						g.Run, g.Parent, g.Nested, g.Level = run, parent, x.known(nested), receipts.LevelKey
					})
				})
				break
			}
			strict, accept := pick(2) == 0, ""
			if pick(4) == 0 {
				accept = "the network"
			}
			op = say(fmt.Sprintf("asks for a gate of %s over %v, strict %v, any run %v, accepts %v", run, of, strict, anyRun, accept != ""), who, func(x *telling) {
				x.signCheckpoint(x.boss)
				g := requestFor(x.known(of)...)
				g.Run, g.Strict, g.AnyRun, g.Level, g.AcceptFlaky = run, strict, anyRun, receipts.LevelKey, accept
				g.Retries, g.Env, g.Final = a.rules.retries, a.rules.env, true
				d, members, err := x.open(x.o).Decide(g)
				if err != nil {
					x.t.Fatal(err)
				}
				if x.gates[i] = d.Passed() && len(members) > 0 && d.Level >= receipts.LevelKey; !d.Passed() || len(members) == 0 {
					return
				}
				if len(d.Accepted) > 0 {
					x.accept(d.Accepted...)
				}
				b := g.Body(members, &d)
				b.Timestamp, b.Nested, b.Covers.Commands = x.now(), d.Nested, len(members)
				x.hashes[i] = x.add(b)
				x.consume(append(slices.Clone(members), d.Unspent...)...)
			})
		case 10:
			if len(pending) == 0 {
				continue
			}
			of, status := pending[pick(len(pending))], receipts.Succeeded
			if owner := a.ops[of].who; who == boss {
				who = owner
			} else if how != anything && who != owner {
				continue
			}
			if pick(3) == 0 {
				status = receipts.StatusFailed
			}
			op = say(fmt.Sprintf("%d is settled: %s", of, status), who, func(x *telling) {
				if h := x.hashes[of]; !h.IsZero() {
					x.add(&receipts.Settlement{Version: 1, Receipt: h, Status: status, By: "ann", Timestamp: x.now()})
				}
			})
		default:
			if len(fails) == 0 {
				continue
			}
			of := fails[pick(len(fails))]
			op = say(fmt.Sprintf("%d is accepted", of), who, func(x *telling) {
				if h := x.hashes[of]; !h.IsZero() {
					x.accept(h)
				}
			})
		}
		op.run = run
		a.ops = append(a.ops, op)
	}
	return a
}

// tales is how many logs a test makes: n, in a soak many times that, or as many as DIALECT_TALES says.
func tales(t *testing.T, n uint64) uint64 {
	if os.Getenv("DIALECT_SOAK") != "" {
		n *= 40
	}
	if text := os.Getenv("DIALECT_TALES"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestUnsignedHelpsNobody adds records without the key to logs of signed ones, at random: no gate is granted, and nothing is verified, that
// would not be without them. Of runs that no line started they change nothing at all.
func TestUnsignedHelpsNobody(t *testing.T) {
	key, keys := newSigner(t)
	o := Options{Keys: keys}
	granted, verified := 0, 0
seeds:
	for seed := range tales(t, 500) {
		how := []manner{loose, anything, late, late}[seed%4]
		a := newTale(seed, how)
		with, without := a.tell(t, key, o, true), a.tell(t, key, o, false)
		for i := range a.ops {
			switch w, ok := with.gates[i], without.gates[i]; {
			case w == ok:
				if w {
					granted++
				}
			case w, how == loose:
				t.Errorf("seed %d, %v: the gate %d is granted with what the agent wrote: %v, and without: %v:%v", seed, how, i, w, ok, a)
				continue seeds
			default:
				continue seeds // the logs go apart here
			}
		}
		for _, need := range []bool{false, true} {
			for _, s := range []bool{false, true} {
				q := asked(signed, func(q *Query) {
					q.Strict, q.Retries, q.Env = s, a.rules.retries, a.rules.env
					if !need {
						q.Require = nil
					}
				})
				w, ok := ask(t, with.open(o), q), ask(t, without.open(o), q)
				if w.Verdict == Verified {
					verified++
				}
				if (w.Verdict == Verified) != (ok.Verdict == Verified) && (how == loose || w.Verdict == Verified) {
					t.Errorf("seed %d, %v, require %v, strict %v: with what the agent wrote it is %s, without %s:%v", seed, how, need, s, told(w), told(ok), a)
					continue seeds
				}
				if w.Verdict == Verified && slices.Index(with.hashes, w.Gate.SHA) == slices.Index(without.hashes, ok.Gate.SHA) && (w.Failures < ok.Failures || w.Early < ok.Early) {
					t.Errorf("seed %d, %v, require %v, strict %v: with what the agent wrote %d failures and %d early ends are counted, without %d and %d:%v",
						seed, how, need, s, w.Failures, w.Early, ok.Failures, ok.Early, a)
					continue seeds
				}
			}
		}
	}
	t.Logf("%d gates granted, %d answers of verified", granted, verified)
}

// TestCutBundle leaves records out of bundles of such logs, at random: no gate is verified by what is left that was not when it was made, or is now.
func TestCutBundle(t *testing.T) {
	key, keys := newSigner(t)
	o := Options{Keys: keys}
	verified, all := 0, 0
	for seed := range tales(t, 400) {
		a := newTale(seed, []manner{anything, late}[seed%2])
		x := a.tell(t, key, o, true)
		for i, granted := range x.gates {
			if !granted {
				continue
			}
			at := slices.IndexFunc(x.log.recs, func(r Raw) bool { return receipts.Record{Kind: r.Kind, Body: r.Body}.SHA() == x.hashes[i] })
			then := newMaker(t)
			then.again(x.log.recs[:at+1])
			then.signCheckpoint(key)
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			b := x.bundle(string(x.log.note), 0)
			b.Records = slices.DeleteFunc(b.Records, func(r receipts.BundleRecord) bool { return int(r.Seq) != at && rnd.IntN(4) == 0 })
			s, err := OfBundle(b, keys, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, strict := range []bool{false, true} {
				q := asked(nothing, signed, func(q *Query) { q.Strict, q.Retries, q.Env = strict, a.rules.retries, a.rules.env })
				judged := func(s *Session) *Result {
					seq, err := s.find(x.hashes[i].String())
					if err != nil {
						t.Fatal(err)
					}
					return s.judge(q, s.entry(seq), whole)
				}
				cut, store := judged(s), judged(then.open(o))
				if all++; cut.Verdict == "" {
					verified++
				}
				if cut.Verdict == "" && store.Verdict != "" && judged(x.open(o)).Verdict != "" { // what was accepted since counts
					var left []int64
					for _, r := range b.Records {
						left = append(left, r.Seq)
					}
					t.Errorf("seed %d, the gate %d at %d, strict %v: by the records %v of the bundle it is verified, by the store %s:%v", seed, i, at, strict, left, told(store), a)
				}
			}
		}
	}
	t.Logf("%d of %d verified", verified, all)
}
