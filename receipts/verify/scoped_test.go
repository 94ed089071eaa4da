package verify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// The scopes of the present files, tree B: those of lint are as they were on tree A, those of vet have changed.
var (
	lintFiles, vetBefore, vetFiles = receipts.Hash{0x51}, receipts.Hash{0x52}, receipts.Hash{0x53}
	rest                           = receipts.Hash{0x54}
)

func scopedQuery(change ...func(*Query)) Query {
	q := asked(nothing)
	q.Tree = &treeB
	q.Scopes = &Scopes{
		Of: func(binding string) receipts.Hash {
			return map[string]receipts.Hash{"check_lint": lintFiles, "check_vet": vetFiles}[binding]
		},
		Rest: func(bindings []string) receipts.Hash {
			if slices.Equal(bindings, []string{"check_lint", "check_vet"}) {
				return rest
			}
			return receipts.Hash{}
		},
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

func about(scope receipts.Hash) func(*receipts.Receipt) {
	return func(r *receipts.Receipt) { r.Scope = scope }
}

func on(t receipts.Tree) func(*receipts.Receipt) {
	return func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: t} }
}

func beside(h receipts.Hash) func(*receipts.Gate) { return func(g *receipts.Gate) { g.Rest = h } }

func over(t receipts.Tree) func(*receipts.Gate) { return func(g *receipts.Gate) { g.Tree = &t } }

func apart(g *receipts.Gate) { g.Final, g.Part, g.Covers.Commands = false, true, len(g.Members) }

// full is a run of both lines on tree A.
func (m *maker) full(change ...func(*receipts.Receipt)) receipts.Hash {
	return m.gate([]receipts.Hash{m.receipt(append(change, about(lintFiles))...), m.receipt(append(change, of("vet"), about(vetBefore))...)}, beside(rest))
}

// since is a run of vet alone on tree B.
func (m *maker) since(change ...func(*receipts.Receipt)) receipts.Hash {
	return m.gate([]receipts.Hash{m.receipt(append([]func(*receipts.Receipt){of("vet"), on(treeB), about(vetFiles)}, change...)...)}, apart, over(treeB), beside(rest))
}

// TestScoped breaks the conditions of VERIFIED FOR CHANGED PATHS, one at a time.
func TestScoped(t *testing.T) {
	elsewhere := receipts.Text("a")
	boss, keys := newSigner(t)
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		ask  func(*Query)
		want Verdict
	}{
		{"as it should be", func(m *maker) { m.full(); m.since() }, nil, Scoped},
		{"a pass before the full run", func(m *maker) { m.since(); m.full() }, nil, Stale},
		{"on exactly the present files, without a scope", func(m *maker) { m.full(); m.since(about(receipts.Hash{})) }, nil, Scoped},
		{"required by the baseline, and covered", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Require = asked().Require }, Scoped},
		{"what ran on another tree, with the same named files", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("vet"), on(treeC), about(vetFiles))}, apart, over(treeC), beside(rest))
		}, nil, Scoped},
		{"a gate over the present files goes before it", func(m *maker) {
			m.full()
			m.since()
			m.gate([]receipts.Hash{m.receipt(on(treeB))}, over(treeB))
		}, nil, Verified},

		{"failed on the present files before the full run", func(m *maker) {
			m.receipt(of("vet"), on(treeB), about(vetFiles), failing)
			m.full()
			m.since()
		}, nil, Scoped},
		{"failed so, and asked strictly", func(m *maker) {
			m.receipt(of("vet"), on(treeB), about(vetFiles), failing)
			m.full()
			m.since()
		}, strict, Stale},
		{"failed so, and was accepted", func(m *maker) {
			m.accept(m.receipt(of("vet"), on(treeB), about(vetFiles), failing))
			m.full()
			m.since()
		}, strict, Scoped},
		{"another command failed so", func(m *maker) {
			m.receipt(of("more"), on(treeB), failing)
			m.full()
			m.since()
		}, strict, Failed},
		{"a newer full run has a line that did not run on the present files", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("more")), m.receipt(of("vet"), about(vetBefore))}, beside(rest))
			m.since()
		}, func(q *Query) { q.Scopes.Rest = func([]string) receipts.Hash { return rest } }, Scoped},
		{"so it has, and that line failed since", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("more"), about(receipts.Hash{9})), m.receipt(of("vet"), about(vetBefore))}, beside(rest))
			m.since()
			m.receipt(of("more"), on(treeC), failing)
		}, func(q *Query) { q.Scopes.Rest = func([]string) receipts.Hash { return rest } }, Stale},
		{"whose checks are to be tested", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.ChecksTested = true }, Stale},
		{"whose checks were tested on the files of each gate", func(m *maker) {
			m.receipt(about(lintFiles), control(receipts.Noticed))
			m.receipt(of("vet"), about(vetBefore), control(receipts.Noticed))
			m.receipt(of("vet"), on(treeB), about(vetFiles), control(receipts.Noticed))
			m.full()
			m.since()
		}, func(q *Query) { q.ChecksTested = true }, Stale},
		{"of which only built-ins are about the present files, and clean checkouts are asked for", func(m *maker) {
			clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
			builtin := func(r *receipts.Receipt) { r.Kind = "builtin" }
			m.full(clean)
			m.gate([]receipts.Hash{m.receipt(on(treeB), about(lintFiles), builtin), m.receipt(of("vet"), on(treeB), about(vetFiles), builtin),
				m.receipt(of("more"), on(treeB), clean)}, apart, over(treeB), beside(rest))
		}, func(q *Query) { q.Clean = true }, Stale},
		{"beside a gate over the present files that is of other lines", func(m *maker) {
			m.full()
			m.since()
			m.gate([]receipts.Hash{m.receipt(of("more"), on(treeB))}, over(treeB))
		}, func(q *Query) { q.Require = asked().Require }, Scoped},
		{"failed below a line that failed with it, on other files of the line", func(m *maker) {
			m.full()
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-2/1" })
			m.receipt(of("inner"), on(treeC), failing, func(r *receipts.Receipt) { r.Run, r.Binding = "r-6", "check_inner" })
			m.receipt(of("vet"), on(treeC), about(receipts.Hash{9}), failing, func(r *receipts.Receipt) { r.Run = "r-2" })
			m.since()
		}, nil, Scoped},
		{"failed below a line that passed, on the present files", func(m *maker) {
			m.full()
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-2/1" })
			m.receipt(of("inner"), on(treeC), failing, func(r *receipts.Receipt) { r.Run, r.Binding = "r-6", "check_inner" })
			m.receipt(of("vet"), on(treeC), about(vetFiles), func(r *receipts.Receipt) { r.Run = "r-2" })
		}, nil, Stale},
		{"failed below a line that passed, on the present files, and the line passed again", func(m *maker) {
			m.full()
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-2/1" })
			m.receipt(of("inner"), on(treeC), failing, func(r *receipts.Receipt) { r.Run, r.Binding = "r-6", "check_inner" })
			m.receipt(of("vet"), on(treeC), about(vetFiles), func(r *receipts.Receipt) { r.Run = "r-2" })
			m.since()
		}, strict, Stale},
		{"a line of it failed below another command", func(m *maker) {
			m.full()
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-2/1" })
			m.receipt(on(treeC), about(lintFiles), failing, func(r *receipts.Receipt) { r.Run = "r-6" })
			m.receipt(of("run"), on(treeC), unbound, func(r *receipts.Receipt) { r.Run = "r-2" })
			m.since()
		}, nil, Stale},
		{"another command failed below one that is no line of it", func(m *maker) {
			m.full()
			m.run("r-6", func(r *receipts.Run) { r.Parent = "r-2/1" })
			m.receipt(of("inner"), on(treeC), failing, func(r *receipts.Receipt) { r.Run, r.Binding = "r-6", "check_inner" })
			m.receipt(of("run"), on(treeC), unbound, func(r *receipts.Receipt) { r.Run = "r-2" })
			m.since()
		}, nil, Stale},
		{"it is not allowed", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Scopes = nil }, Stale},
		{"of a commit", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Commit = true }, Stale},
		{"without rules", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Matrix = receipts.Hash{} }, Stale},
		{"the rules are not the trusted ones", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Policy = "x" }, Policy},
		{"no full run", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt()}, apart, beside(rest))
			m.since()
		}, nil, Missing},
		{"a full run that is not over all that is required", func(m *maker) { m.full(); m.since() }, func(q *Query) {
			q.Require = append(asked().Require, Requirement{Name: "x", Binding: "x", Command: receipts.Hash{9}})
		}, Stale},
		{"a full run under other rules", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(about(lintFiles))}, beside(rest), func(g *receipts.Gate) { g.Matrix = receipts.Hash{9} })
			m.since()
		}, nil, Policy},
		{"a full run of another project", func(m *maker) {
			in := func(r *receipts.Receipt) { r.Place = elsewhere }
			m.gate([]receipts.Hash{m.receipt(in, about(lintFiles)), m.receipt(of("vet"), in, about(vetBefore))}, beside(rest), func(g *receipts.Gate) { g.Place = elsewhere })
			m.since()
		}, nil, Stale},
		{"a full run that a failure contradicts", func(m *maker) { m.full(); m.receipt(failing, about(receipts.Hash{9})); m.since() }, nil, Stale},
		{"a later full run that a failure under no binding contradicts", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(on(treeC), about(lintFiles)), m.receipt(of("vet"), on(treeC), about(vetBefore))}, beside(rest), over(treeC))
			m.receipt(unbound, failing, on(treeC))
			m.since()
		}, nil, Stale},
		{"a later full run whose line failed before it passed, and the question is strict", func(m *maker) {
			m.full()
			m.receipt(failing, on(treeC), about(receipts.Hash{9}))
			m.gate([]receipts.Hash{m.receipt(on(treeC), about(receipts.Hash{9})), m.receipt(of("vet"), on(treeC), about(vetBefore))}, beside(rest), over(treeC))
			m.since()
		}, strict, Stale},
		{"a full run on whose files another line has failed", func(m *maker) { m.full(); m.receipt(of("more"), failing); m.since() }, nil, Stale},
		{"a full run whose lines write", func(m *maker) {
			m.full(func(r *receipts.Receipt) { r.Workspace.After = &treeA })
			m.since()
		}, nil, Stale},
		{"a full run with a line that writes, and passed later without a change", func(m *maker) {
			wrote := func(r *receipts.Receipt) { r.Workspace.After = &treeA }
			m.gate([]receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore), wrote)}, beside(rest))
			m.since()
		}, nil, Stale},
		{"a member of the full run that failed", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), failing)}, beside(rest))
			m.since()
		}, nil, Tampered},
		{"with other inputs", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {9}} }, Stale},
		{"too old", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.MaxAge = time.Minute }, Stale},
		{"of another session", func(m *maker) { m.full(); m.since() }, func(q *Query) { q.Session = "x" }, Stale},

		{"an unnamed file changed", func(m *maker) { m.full(); m.since() }, func(q *Query) {
			q.Scopes.Rest = func([]string) receipts.Hash { return receipts.Hash{9} }
		}, Stale},
		{"no digest of the unnamed files in either", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore))})
			m.since()
			m.gate([]receipts.Hash{m.receipt(on(treeB), about(lintFiles))}, apart, over(treeB))
		}, func(q *Query) { q.Scopes.Rest = func([]string) receipts.Hash { return receipts.Hash{} } }, Stale},
		{"no digest of the unnamed files", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore))})
			m.since()
		}, func(q *Query) { q.Scopes.Rest = func([]string) receipts.Hash { return receipts.Hash{} } }, Stale},
		{"the unnamed files of other lines", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(about(lintFiles))}, beside(rest))
		}, nil, Stale},

		{"a changed line did not run", func(m *maker) { m.full() }, nil, Stale},
		{"the last line did not run", func(m *maker) { m.full(); m.since() }, func(q *Query) {
			of := q.Scopes.Of
			q.Scopes.Of = func(b string) receipts.Hash {
				if b == "check_lint" {
					return receipts.Hash{9}
				}
				return of(b)
			}
		}, Stale},
		{"patterns that match nothing", func(m *maker) {
			m.gate([]receipts.Hash{m.receipt(), m.receipt(of("vet"), about(vetBefore))}, beside(rest))
			m.since()
		}, func(q *Query) {
			of := q.Scopes.Of
			q.Scopes.Of = func(b string) receipts.Hash {
				if b == "check_lint" {
					return receipts.Hash{}
				}
				return of(b)
			}
		}, Stale},
		{"a pass below no gate", func(m *maker) { m.full(); m.receipt(of("vet"), on(treeB), about(vetFiles)) }, nil, Stale},
		{"a pass beside other unnamed files", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("vet"), on(treeC), about(vetFiles))}, apart, over(treeC), beside(receipts.Hash{9}))
		}, nil, Stale},
		{"a pass of which nobody knows beside which files", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("vet"), on(treeC), about(vetFiles))}, apart, over(treeC))
		}, nil, Stale},
		{"a pass while files changed", func(m *maker) {
			m.full()
			m.gate([]receipts.Hash{m.receipt(of("vet"), on(treeB), about(vetFiles))}, apart, over(treeC), beside(rest))
		}, nil, Stale},
		{"a pass of a line that wrote", func(m *maker) { m.full(); m.since(func(r *receipts.Receipt) { r.Workspace.After = &treeB }) }, nil, Stale},
		{"a pass of another command", func(m *maker) {
			m.full()
			m.since(of("true"), func(r *receipts.Receipt) { r.Binding = "check_vet" })
		}, nil, Stale},
		{"a pass under another binding", func(m *maker) { m.full(); m.since(func(r *receipts.Receipt) { r.Binding = "check_less" }) }, nil, Stale},
		{"a pass under no binding", func(m *maker) { m.full(); m.since(unbound) }, nil, Stale},
		{"a pass in another directory", func(m *maker) { m.full(); m.since(func(r *receipts.Receipt) { r.Dir = elsewhere }) }, nil, Stale},
		{"a pass under other rules", func(m *maker) { m.full(); m.since(func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} }) }, nil, Stale},
		{"a pass with other inputs", func(m *maker) { m.full(); m.since(func(r *receipts.Receipt) { r.Inputs = receipts.Hash{9} }) }, func(q *Query) {
			q.Inputs = map[string]receipts.Hash{"check_vet": {}}
		}, Stale},

		{"a failure on the named files after it", func(m *maker) {
			m.full()
			m.since()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
		}, nil, Stale},
		{"a failure on the named files of a line that did not change", func(m *maker) {
			m.full()
			m.since()
			m.receipt(failing, on(treeC), about(lintFiles))
		}, nil, Stale},
		{"a failure of which nobody knows on which files: one of them could not be read", func(m *maker) {
			m.full()
			m.receipt(of("lint"), failing, on(treeC), about(receipts.Hash{}))
			m.since()
		}, nil, Stale},
		{"a failure that changed the named files", func(m *maker) {
			m.full()
			m.since()
			m.receipt(of("vet"), failing, changes(treeC, treeA), about(vetFiles))
		}, nil, Stale},
		{"a failure of another line, on files that it names", func(m *maker) {
			m.full()
			m.since()
			m.receipt(of("more"), failing, on(treeC), about(receipts.Hash{0x55}))
		}, func(q *Query) {
			of := q.Scopes.Of
			q.Scopes.Of = func(b string) receipts.Hash {
				if b == "check_more" {
					return receipts.Hash{0x55}
				}
				return of(b)
			}
		}, Stale},
		{"a failure after it, with what another setup installed", func(m *maker) {
			in := func(n byte) func(*receipts.Receipt) {
				return func(r *receipts.Receipt) {
					setup := receipts.Setup{Commands: []receipts.Datum{receipts.Text("npm ci")}, Locks: []receipts.Datum{receipts.Text("package-lock.json")}, Key: receipts.Hash{1}, Result: receipts.Hash{n}}
					r.Inputs, r.Clean = receipts.Hash{n}, &receipts.Clean{Setup: &setup}
				}
			}
			m.full(in(1))
			m.receipt(failing, about(lintFiles), in(2))
			m.since(in(2))
		}, nil, Stale},
		{"a failure on the present files", func(m *maker) { m.full(); m.since(); m.receipt(of("more"), failing, on(treeB)) }, nil, Failed},
		{"a failure of a line's command under no binding", func(m *maker) { m.full(); m.since(); m.receipt(unbound, failing, on(treeB)) }, nil, Stale},
		{"a failure of it on other files", func(m *maker) { m.full(); m.since(); m.receipt(unbound, failing, on(treeC)) }, nil, Scoped},
		{"a failure of it that was accepted", func(m *maker) { m.full(); m.since(); m.accept(m.receipt(unbound, failing, on(treeB))) }, strict, Scoped},
		{"a failure of it before a pass", func(m *maker) { m.full(); m.receipt(unbound, of("vet"), unbound, failing, on(treeB)); m.since() }, nil, Scoped},
		{"a failure of it before a pass, and asked strictly", func(m *maker) { m.full(); m.receipt(of("vet"), unbound, failing, on(treeB)); m.since() }, strict, Stale},
		{"a failure of it under another binding", func(m *maker) {
			m.full()
			m.since()
			m.receipt(failing, on(treeB), func(r *receipts.Receipt) { r.Binding = "check_less" })
		}, func(q *Query) { q.Require = asked().Require }, Failed},
		{"a failure of it under another binding, which sets other variables", func(m *maker) {
			m.full()
			m.since()
			m.receipt(failing, on(treeB), func(r *receipts.Receipt) { r.Binding = "check_less" })
		}, func(q *Query) {
			q.Require, q.Env = asked().Require, map[string]string{"check_less": "a"}
		}, Scoped},
		{"a failure of it before, under another binding, which sets other variables", func(m *maker) {
			m.receipt(failing, on(treeB), func(r *receipts.Receipt) { r.Binding = "check_less" })
			m.full()
			m.since()
		}, func(q *Query) {
			q.Strict, q.Require, q.Env = true, asked().Require, map[string]string{"check_less": "a"}
		}, Scoped},
		{"a failure that was accepted", func(m *maker) {
			m.full()
			m.accept(m.receipt(of("vet"), failing, on(treeC), about(vetFiles)))
			m.since()
		}, nil, Scoped},
		{"a failure between two passes", func(m *maker) {
			m.full()
			m.since()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
			m.since()
		}, nil, Scoped},
		{"a failure, and a pass after it", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
			m.since()
		}, nil, Scoped},
		{"and the question is strict", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
			m.since()
		}, strict, Stale},
		{"a failure between a pass and the full run that came after both", func(m *maker) {
			pass := m.receipt(on(treeB), about(lintFiles))
			m.receipt(failing, on(treeC), about(lintFiles))
			m.gate([]receipts.Hash{m.receipt(about(receipts.Hash{9})), m.receipt(of("vet"), about(vetBefore))}, beside(rest))
			m.gate([]receipts.Hash{pass}, apart, over(treeB), beside(rest))
			m.since()
		}, nil, Stale},
		{"a failure between a pass of the full run and its gate", func(m *maker) {
			lint, vet := m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore))
			m.receipt(failing, on(treeC), about(lintFiles))
			m.gate([]receipts.Hash{lint, vet}, beside(rest))
			m.since()
		}, nil, Stale},
		{"a failure before the full run, of a line that it has", func(m *maker) {
			m.receipt(failing, on(treeC), about(lintFiles))
			m.full()
			m.since()
		}, strict, Scoped},
		{"a failure before the full run, of a line that it has not", func(m *maker) {
			pass := m.receipt(on(treeB), about(lintFiles))
			m.receipt(of("more"), failing, on(treeC), about(receipts.Hash{}))
			m.gate([]receipts.Hash{m.receipt(about(receipts.Hash{9})), m.receipt(of("vet"), about(vetBefore))}, beside(rest))
			m.gate([]receipts.Hash{pass}, apart, over(treeB), beside(rest))
			m.since()
		}, strict, Scoped},
		{"a failure on other files of a line", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(receipts.Hash{9}))
			m.since()
		}, strict, Scoped},

		{"signed", func(m *maker) { m.sign = boss; m.full(); m.since(); m.signCheckpoint(boss) }, signed, Scoped},
		{"behind more gates without a signature than are looked at", func(m *maker) {
			m.sign = boss
			m.full()
			m.since()
			m.signCheckpoint(boss)
			m.sign = nil
			for range 2 * maxFull {
				m.gate([]receipts.Hash{m.receipt(on(treeC), about(receipts.Hash{9}))}, over(treeC))
			}
		}, signed, Scoped},
		{"behind more records of made-up signers than are looked at", func(m *maker) {
			m.sign = boss
			m.full()
			m.since()
			m.signCheckpoint(boss)
			m.sign = nil
			for i := range maxScoped + 1 {
				madeUp := fmt.Sprintf("boss+%08x", i)
				h := m.receipt(on(treeC), failing, about(receipts.Hash{9}), func(r *receipts.Receipt) { r.Signer = madeUp })
				m.gate([]receipts.Hash{h}, over(treeC), func(g *receipts.Gate) { g.Signer = madeUp })
			}
		}, signed, Scoped},
		{"a full run that is not signed", func(m *maker) { m.full(); m.sign = boss; m.since(); m.signCheckpoint(boss) }, signed, Missing},
		{"a pass that is not signed", func(m *maker) {
			m.sign = boss
			m.full()
			m.signCheckpoint(boss)
			m.sign = nil
			m.since()
		}, signed, Stale},
		{"a failure that a pass without a signature does not undo", func(m *maker) {
			m.sign = boss
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
			m.signCheckpoint(boss)
			m.sign = nil
			m.since()
		}, nil, Stale},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			tt.log(m)
			q := scopedQuery()
			if tt.ask != nil {
				tt.ask(&q)
			}
			res := ask(t, m.open(Options{Keys: keys}), q)
			if res.Verdict != tt.want {
				t.Errorf("%s\nwant %s", told(res), tt.want)
			}
			if res.Verdict == Scoped && (len(res.Members) != 2 || len(res.Refusals) > 0 || res.Body == nil || !res.Body.Final) {
				t.Errorf("%d members, %v", len(res.Members), res.Refusals)
			}
		})
	}
}

// TestScopedCounts: the answer says what else is known of its lines on the files that they name.
func TestScopedCounts(t *testing.T) {
	for _, c := range []struct {
		name            string
		log             func(m *maker)
		failures, early int
	}{
		{"nothing", func(m *maker) { m.full(); m.since() }, 0, 0},
		{"a failure on the present files", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeB), about(vetFiles))
			m.since()
		}, 1, 0},
		{"a failure on the files that the line names", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(vetFiles))
			m.since()
		}, 1, 0},
		{"one that was accepted", func(m *maker) {
			m.full()
			m.accept(m.receipt(of("vet"), failing, on(treeC), about(vetFiles)))
			m.since()
		}, 0, 0},
		{"kills", func(m *maker) {
			m.full()
			m.receipt(of("vet"), killed, on(treeB), about(vetFiles))
			m.receipt(of("vet"), killed, on(treeC), about(vetFiles))
			m.since()
			m.receipt(killed, on(treeC), about(lintFiles))
		}, 0, 3},
		{"on other files, and of other lines", func(m *maker) {
			m.full()
			m.receipt(of("vet"), failing, on(treeC), about(receipts.Hash{9}))
			m.receipt(of("vet"), killed, on(treeC), about(receipts.Hash{9}))
			m.receipt(of("more"), killed, on(treeB))
			m.since()
		}, 0, 0},
	} {
		m := newMaker(t)
		c.log(m)
		res := ask(t, m.open(Options{}), scopedQuery())
		if res.Verdict != Scoped || res.Failures != c.failures || res.Early != c.early {
			t.Errorf("%s: %d failures, %d ended early, want %d and %d: %s", c.name, res.Failures, res.Early, c.failures, c.early, told(res))
		}
	}
}

// TestScopedLevel: the level is that of the least of the passes, and not that of the full run alone.
func TestScopedLevel(t *testing.T) {
	boss, keys := newSigner(t)
	for want, since := range map[int]*receipts.Signer{receipts.LevelKey: boss, receipts.LevelHash: nil} {
		m := newMaker(t)
		m.sign = boss
		m.full()
		m.sign = since
		m.since()
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), scopedQuery()); res.Verdict != Scoped || res.Level != want {
			t.Errorf("%s, L%d; want L%d", told(res), res.Level, want)
		}
	}
}

// TestScopedIsNoGate: neither a record by its name nor a consumption is answered so.
func TestScopedIsNoGate(t *testing.T) {
	m := newMaker(t)
	full := m.full()
	since := m.since()
	s := m.open(Options{})
	for _, h := range []receipts.Hash{full, since} {
		if res, err := s.One(scopedQuery(), receipts.GateID(h)); err != nil || res.Verdict == Scoped || res.Verdict == Verified {
			t.Errorf("%v, %s", err, told(res))
		}
		d, _, err := s.Consume(scopedQuery(), receipts.GateID(h))
		if err != nil {
			t.Fatal(err)
		}
		if h == full && d.Passed() {
			t.Error("the gate over other files was consumed")
		}
	}
}

// TestScopedKept: the log counts as kept if what was kept covers all that the answer rests on.
func TestScopedKept(t *testing.T) {
	m := newMaker(t)
	m.full()
	first := m.head()
	m.since()
	second := m.head()
	for _, c := range []struct {
		kept receipts.Checkpoint
		want bool
	}{{first, false}, {second, true}} {
		res := ask(t, m.open(Options{Kept: &c.kept}), scopedQuery())
		if res.Verdict != Scoped || res.Kept != c.want || res.Since != 1 {
			t.Errorf("of %d records: kept %v, %d since, %s", c.kept.Count, res.Kept, res.Since, told(res))
		}
	}
}

// TestScopedDeep: what failed however far below a line of a later run failed for that line.
func TestScopedDeep(t *testing.T) {
	for _, deep := range []bool{false, true} {
		for _, mid := range []string{"unbound", "bound scope other"} {
			m := newMaker(t)
			m.full()
			m.since()
			// later run r-2 of vet (passes), whose inner fails on the files
			parent := "r-2/1"
			if deep {
				m.run("r-5", func(r *receipts.Run) { r.Parent = "r-2/1" })
				parent = "r-5/1"
			}
			m.run("r-6", func(r *receipts.Run) { r.Parent = parent })
			m.receipt(of("inner"), on(treeB), failing, func(r *receipts.Receipt) {
				r.Run, r.Binding, r.Matrix, r.Place = "r-6", "check_inner", receipts.Hash{9}, receipts.Text("a")
			})
			if deep {
				m.receipt(of("middle"), on(treeB), func(r *receipts.Receipt) {
					r.Run, r.Matrix, r.Place = "r-5", receipts.Hash{9}, receipts.Text("a")
					if mid == "unbound" {
						unbound(r)
					}
				})
			}
			m.receipt(of("vet"), on(treeB), about(vetFiles), func(r *receipts.Receipt) { r.Run = "r-2" })
			r := ask(t, m.open(Options{}), scopedQuery())
			if r.Verdict == Scoped {
				t.Errorf("deep %v, the line between is %s: %s", deep, mid, told(r))
			}
		}
	}
}

// TestScopedRetries: a line with retries may have failed first, also for who asks strictly about changed paths.
func TestScopedRetries(t *testing.T) {
	for binding, want := range map[string]Verdict{"": Stale, "check_lint": Stale, "check_vet": Scoped} {
		m := newMaker(t)
		m.full()
		m.receipt(of("vet"), on(treeB), about(vetFiles), failing, func(r *receipts.Receipt) { r.Run = "r-2" })
		m.since()
		q := scopedQuery(strict, func(q *Query) { q.Retries = map[string]bool{binding: true} })
		if res := ask(t, m.open(Options{}), q); res.Verdict != want {
			t.Errorf("retries of %q: %s\nwant %s", binding, told(res), want)
		}
	}
}

// TestScopedPart: changed paths rest on the gate of a whole run, and not on that of a line of a larger one.
func TestScopedPart(t *testing.T) {
	for outer, want := range map[string]Verdict{"": Scoped, "r-0/2": Missing} {
		m := newMaker(t)
		m.run("r-0", func(r *receipts.Run) {
			r.Planned = []receipts.Planned{{Step: "1", Line: 1, Command: receipts.Hash{1}}, {Step: "2", Line: 2, Command: receipts.Hash{2}}}
		})
		m.gate([]receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore))}, beside(rest), func(g *receipts.Gate) { g.Parent = outer })
		m.receipt(of("all"), func(r *receipts.Receipt) { r.Run, r.Step = "r-0", "2" })
		m.since()
		if res := ask(t, m.open(Options{}), scopedQuery()); res.Verdict != want {
			t.Errorf("of %q: %s\nwant %s", outer, told(res), want)
		}
	}
}

// TestScopedAside: what is neither required nor of the full run, and failed, refuses no question about changed paths that names what is required.
func TestScopedAside(t *testing.T) {
	for _, c := range []struct {
		other    func(*receipts.Receipt)
		required bool
		want     Verdict
	}{{of("other"), true, Scoped}, {of("other"), false, Failed}, {about(lintFiles), true, Stale}, {about(lintFiles), false, Failed}} {
		required, want := c.required, c.want
		m := newMaker(t)
		m.full()
		m.since()
		m.receipt(c.other, on(treeB), failing, func(r *receipts.Receipt) { r.Run = "r-3" })
		if res := ask(t, m.open(Options{}), scopedQuery(func(q *Query) {
			if required {
				q.Require = []Requirement{{Binding: "check_vet", Command: receipts.CommandHash([]string{"vet"})}}
			}
		})); res.Verdict != want {
			t.Errorf("required %v: %s\nwant %s", required, told(res), want)
		}
	}
}

// TestScopedElsewhere: what a gate over the present files would leave aside, since it was in another place or with other inputs, is left aside by scope,
// too, and counted.
func TestScopedElsewhere(t *testing.T) {
	clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
	inputs := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Inputs = receipts.Hash{n} }
	}
	inClean := func(q *Query) { q.Clean = true }
	given := func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}, "check_vet": {2}} }
	for _, c := range []struct {
		name           string
		of             func(*receipts.Receipt) // of the passes
		change         func(*Query)
		failure        []func(*receipts.Receipt)
		want           Verdict
		inPlace, other int
	}{
		{"by scope, in place", clean, inClean, []func(*receipts.Receipt){on(treeC), about(lintFiles)}, Scoped, 1, 0},
		{"on the files, in place", clean, inClean, []func(*receipts.Receipt){on(treeB), about(lintFiles)}, Scoped, 1, 0},
		{"by scope, clean", clean, inClean, []func(*receipts.Receipt){on(treeC), about(lintFiles), clean}, Stale, 0, 0},
		{"by scope, in place, and asked of any place", clean, func(*Query) {}, []func(*receipts.Receipt){on(treeC), about(lintFiles)}, Stale, 0, 0},
		{"of no line, in place", clean, inClean, []func(*receipts.Receipt){of("more"), on(treeC), about(lintFiles)}, Scoped, 0, 0},
		{"by scope, other inputs", inputs(2), given, []func(*receipts.Receipt){on(treeC), about(lintFiles), inputs(1)}, Scoped, 0, 1},
		{"on the files, other inputs", inputs(2), given, []func(*receipts.Receipt){on(treeB), about(lintFiles), inputs(1)}, Scoped, 0, 1},
		{"by scope, the same inputs", inputs(2), given, []func(*receipts.Receipt){on(treeC), about(lintFiles), inputs(2)}, Stale, 0, 0},
		{"ended early, in place", clean, inClean, []func(*receipts.Receipt){on(treeC), about(lintFiles), killed}, Scoped, 0, 0},
	} {
		m := newMaker(t)
		m.full(c.of)
		m.since(c.of)
		m.receipt(slices.Concat([]func(*receipts.Receipt){failing}, c.failure)...)
		res := ask(t, m.open(Options{}), scopedQuery(c.change))
		if res.Verdict != c.want || c.want == Scoped && (res.InPlace != c.inPlace || res.OtherInputs != c.other || res.Failures+res.Early > 0) {
			t.Errorf("%s: %d in place, %d with other inputs, want %d and %d: %s", c.name, res.InPlace, res.OtherInputs, c.inPlace, c.other, told(res))
		}
	}
}

// TestScopedInner has a command that a line of the full run started fail later, by itself, on exactly the present files: also for who requires the line alone.
func TestScopedInner(t *testing.T) {
	for _, place := range []string{"", "a"} {
		for _, fails := range []bool{false, true} {
			m := newMaker(t)
			deep := func(run string, change ...func(*receipts.Receipt)) receipts.Hash {
				return m.receipt(append([]func(*receipts.Receipt){of("deep"), func(r *receipts.Receipt) { r.Run, r.Place = run, receipts.Text(place) }}, change...)...)
			}
			m.run("r-1")
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			inner := deep("r-2")
			in := m.gate([]receipts.Hash{inner}, func(g *receipts.Gate) { g.Run, g.Parent, g.Place = "r-2", "r-1/1", receipts.Text(place) })
			list := []receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore), func(r *receipts.Receipt) { r.Step = "2" })}
			m.gate(list, beside(rest), func(g *receipts.Gate) { g.Nested = []receipts.Hash{in} })
			m.since()
			want := Scoped
			if fails {
				want = Stale
				deep("r-9", on(treeB), failing)
			}
			for _, require := range []bool{true, false} {
				q := scopedQuery(func(q *Query) {
					if require {
						q.Require = asked().Require
					}
				})
				if !require && fails && place == "" {
					want = Failed // another line's
				}
				if res := ask(t, m.open(Options{}), q); res.Verdict != want {
					t.Errorf("place %q, fails %v, require %v: %s; want %s", place, fails, require, told(res), want)
				}
			}
		}
	}
}

// TestScopedInnerInputs: the inputs of a line say nothing of another command that failed below it, whatever ran with others.
func TestScopedInnerInputs(t *testing.T) {
	for _, n := range []byte{1, 2} {
		m := newMaker(t)
		deep := func(run string, inputs byte, change ...func(*receipts.Receipt)) receipts.Hash {
			return m.receipt(append([]func(*receipts.Receipt){of("deep"), func(r *receipts.Receipt) {
				r.Run, r.Place, r.Inputs = run, receipts.Text("a"), receipts.Hash{inputs}
			}}, change...)...)
		}
		m.run("r-1")
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		inner := deep("r-2", 2)
		in := m.gate([]receipts.Hash{inner}, func(g *receipts.Gate) { g.Run, g.Parent, g.Place = "r-2", "r-1/1", receipts.Text("a") })
		list := []receipts.Hash{m.receipt(about(lintFiles)), m.receipt(of("vet"), about(vetBefore), func(r *receipts.Receipt) { r.Step = "2" })}
		m.gate(list, beside(rest), func(g *receipts.Gate) { g.Nested = []receipts.Hash{in} })
		m.since()
		q := scopedQuery(func(q *Query) {
			q.Require, q.Inputs = asked().Require, map[string]receipts.Hash{"check_deep": {2}}
		})
		if res := ask(t, m.open(Options{}), q); res.Verdict != Scoped {
			t.Fatal(told(res))
		}
		deep("r-9", n, on(treeB), failing)
		if res := ask(t, m.open(Options{}), q); res.Verdict != Stale {
			t.Errorf("it failed with the inputs %d: %s", n, told(res))
		}
	}
}
