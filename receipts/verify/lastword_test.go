package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// TestReasons has acceptances of a failure of which one counts: the result names nobody else.
func TestReasons(t *testing.T) {
	boss, keys := newSigner(t)
	trust := func(m *maker, by string, failures ...receipts.Hash) {
		m.add(&receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: failures, Reason: "x", By: by, Timestamp: m.now()})
	}
	probe := newMaker(t)
	probe.sign, probe.n = boss, 1
	f := probe.receipt(failing)
	m := newMaker(t)
	m.sign = boss
	trust(m, "mallory, before it failed", f)
	if m.receipt(failing) != f {
		t.Fatal("the failure has another hash")
	}
	other := m.receipt(of("other"))
	m.signCheckpoint(boss)
	m.sign = nil
	trust(m, "mallory, without a key", f)
	m.sign = boss
	trust(m, "ann, another one", other)
	trust(m, "ann", f)
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	r := ask(t, m.open(Options{Keys: keys}), asked())
	if want := []string{`accepted by ann: "x"`}; r.Verdict != Verified || !slices.Equal(r.Accepted, want) {
		t.Errorf("%s\n%q\nwant %q", told(r), r.Accepted, want)
	}
}

// TestLastWord has a command fail on the tree before and after it passed.
func TestLastWord(t *testing.T) {
	settled := func(m *maker, status receipts.Status) {
		h := m.receipt(func(r *receipts.Receipt) { r.Status = receipts.Pending })
		m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: status, By: "x", Timestamp: m.now()})
	}
	pass := func(m *maker, change ...func(*receipts.Receipt)) { m.gate([]receipts.Hash{m.receipt(change...)}) }
	inputs := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Inputs = receipts.Hash{n} }
	}
	left := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.InputsAfter = receipts.Hash{n} }
	}
	present := func(q *Query) { q.Inputs = map[string]receipts.Hash{"check_lint": {2}} }
	clean := func(setup byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			if r.Clean = (&receipts.Clean{}); setup > 0 {
				r.Clean.Setup = &receipts.Setup{Commands: []receipts.Datum{receipts.Text("npm ci")}, Locks: []receipts.Datum{receipts.Text("package-lock.json")}, Key: receipts.Hash{1}, Result: receipts.Hash{setup}}
			}
		}
	}
	environment := func(r *receipts.Receipt) { r.Environment = receipts.Hash{8} }
	other := func(r *receipts.Receipt) { r.Binding = "check_other" } // of the same command
	vars := func(q *Query) { q.Env = map[string]string{"check_lint": "a", "check_other": "b"} }
	same := func(q *Query) { q.Env = map[string]string{"check_lint": "a", "check_other": "a"} }
	ofOther := func(q *Query) { vars(q); q.Require[0].Binding = "check_other" }
	for _, tt := range []struct {
		name           string
		log            func(m *maker)
		plain, strict  Verdict
		failures, ends int
		other          int
		ask            func(*Query)
	}{
		{"failed before", func(m *maker) { m.receipt(failing); pass(m) }, Verified, Flaky, 1, 0, 0, nil},
		{"in another environment", func(m *maker) { m.receipt(failing, environment); pass(m) }, Verified, Flaky, 1, 0, 0, nil},
		{"under a binding with other variables", func(m *maker) { m.receipt(failing, other); pass(m) }, Verified, Verified, 0, 0, 0, vars},
		{"under a binding with the same variables", func(m *maker) { m.receipt(failing, other); pass(m) }, Failed, Flaky, 1, 0, 0, same},
		{"under another matrix, whose place the trusted one takes", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"under a binding of which nothing is known", func(m *maker) { m.receipt(failing, other); pass(m) }, Failed, Flaky, 1, 0, 0, nil},
		{"under a binding with other variables of another matrix", func(m *maker) {
			m.receipt(failing, other, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} })
			pass(m)
		}, Failed, Flaky, 1, 0, 0, vars},
		{"under no binding, which each is about", func(m *maker) { m.receipt(failing, unbound); pass(m) }, Verified, Flaky, 1, 0, 0, vars},
		{"after it passed, and one with other variables passed since", func(m *maker) {
			a := m.receipt(other)
			m.receipt(failing, other)
			m.gate([]receipts.Hash{a, m.receipt()})
		}, Failed, Failed, 0, 0, 0, ofOther},
		{"after it passed, under a binding with other variables", func(m *maker) { pass(m); m.receipt(failing, other) }, Verified, Verified, 0, 0, 0, vars},
		{"twice", func(m *maker) { m.receipt(failing); m.receipt(failing); pass(m) }, Verified, Flaky, 2, 0, 0, nil},
		{"crashed before", func(m *maker) {
			m.receipt(killed, func(r *receipts.Receipt) { r.StopReason, r.Signal = receipts.StopCrashed, "SIGSEGV" })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"by an expectation", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.StopReason = receipts.StopExpectation })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"by an MCP tool's answer", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.StopReason = receipts.StopToolError })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"killed before", func(m *maker) { m.receipt(killed); m.receipt(killed); pass(m) }, Verified, Verified, 0, 2, 0, nil},
		{"failed after", func(m *maker) { pass(m); m.receipt(failing) }, Failed, Failed, 0, 0, 0, nil},
		{"failed after, in another environment", func(m *maker) { pass(m); m.receipt(failing, environment) }, Failed, Failed, 0, 0, 0, nil},
		{"failed after, and recorded before, by runs whose beginnings nobody knows", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.Run, r.Timestamp.Time = "r-9", noon.Add(time.Minute) })
			pass(m)
		}, Failed, Failed, 0, 0, 0, nil},
		{"killed after", func(m *maker) { pass(m); m.receipt(killed) }, Verified, Verified, 0, 1, 0, nil},
		{"only failed", func(m *maker) { m.receipt(failing) }, Failed, Failed, 0, 0, 0, nil},
		{"failed between two passes", func(m *maker) {
			a := m.receipt()
			m.receipt(failing)
			m.gate([]receipts.Hash{a, m.receipt()})
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed between two passes that the gate has in the other order", func(m *maker) {
			a := m.receipt()
			m.receipt(failing)
			m.gate([]receipts.Hash{m.receipt(), a})
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed under no binding after a pass that no gate has", func(m *maker) { m.receipt(); m.receipt(failing, unbound) }, Failed, Failed, 0, 0, 0, nil},
		{"failed and passed, and the gate is of another tree", func(m *maker) {
			m.receipt(failing)
			m.receipt()
			h := m.receipt(func(r *receipts.Receipt) { r.Workspace.Before = treeB })
			m.gate([]receipts.Hash{h}, func(g *receipts.Gate) { g.Tree = &treeB })
		}, Stale, Stale, 0, 0, 0, nil},
		{"failed before on another tree, and the gate is of that one", func(m *maker) {
			on := func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} }
			m.receipt(failing, on)
			m.gate([]receipts.Hash{m.receipt(on)}, func(g *receipts.Gate) { g.Tree = &treeB })
		}, Stale, Stale, 0, 0, 0, nil},
		{"failed after on another tree, and the gate is of that one", func(m *maker) {
			on := func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} }
			m.gate([]receipts.Hash{m.receipt(on)}, func(g *receipts.Gate) { g.Tree = &treeB })
			m.receipt(failing, on)
		}, Stale, Stale, 0, 0, 0, nil},
		{"failed and passed on this tree, and the gate is of the one that the pass left", func(m *maker) {
			m.receipt(failing)
			m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Workspace.After = &treeB })}, func(g *receipts.Gate) { g.Tree = &treeB })
		}, Stale, Flaky, 1, 0, 0, nil},
		{"another line failed before, and the gate has this one twice", func(m *maker) {
			m.receipt(of("vet"), failing)
			m.gate([]receipts.Hash{m.receipt(), m.receipt(), m.receipt(of("vet"))})
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed on another tree", func(m *maker) {
			pass(m)
			m.receipt(failing, func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} })
		}, Verified, Verified, 0, 0, 0, nil},
		{"failed before on the same bytes, of another git tree", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.Workspace.Before.Tree = treeB.Tree })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed after on the same bytes, of another git tree", func(m *maker) {
			pass(m)
			m.receipt(failing, func(r *receipts.Receipt) { r.Workspace.Before.Tree = treeB.Tree })
		}, Failed, Failed, 0, 0, 0, nil},
		{"failed before on other bytes, of the same git tree", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.Workspace.Before.Bytes = treeB.Bytes })
			pass(m)
		}, Verified, Verified, 0, 0, 0, nil},
		{"failed and left the tree that the pass left", func(m *maker) {
			m.receipt(failing, changes(treeB, treeA))
			pass(m, changes(treeC, treeA))
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed and left the tree that the pass left, after it", func(m *maker) {
			pass(m, changes(treeC, treeA))
			m.receipt(failing, changes(treeB, treeA))
		}, Failed, Failed, 0, 0, 0, nil},
		{"failed on the tree that the pass left", func(m *maker) {
			m.receipt(failing, changes(treeA, treeB))
			pass(m, changes(treeC, treeA))
		}, Failed, Flaky, 1, 0, 0, nil},
		{"failed on the tree that a second attempt left", func(m *maker) {
			m.receipt(failing, changes(treeA, treeB))
			pass(m, changes(treeB, treeA), func(r *receipts.Receipt) { r.Attempt = 2 })
		}, Verified, Verified, 1, 0, 0, nil},
		{"failed, and changed the files to those that pass as they are", func(m *maker) {
			m.receipt(failing, changes(treeB, treeA))
			pass(m, changes(treeA, treeA))
		}, Verified, Verified, 0, 0, 0, nil},
		{"failed in another project", func(m *maker) {
			pass(m)
			m.receipt(failing, func(r *receipts.Receipt) { r.Place = receipts.Text("a") })
		}, Verified, Verified, 0, 0, 0, nil},
		{"another line failed after", func(m *maker) { pass(m); m.receipt(of("vet"), failing) }, Verified, Verified, 0, 0, 0, nil},
		{"another line failed after, nothing required", func(m *maker) { pass(m); m.receipt(of("vet"), failing) }, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed before, nothing required", func(m *maker) { m.receipt(of("vet"), failing); pass(m) }, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed, and passed under another matrix", func(m *maker) {
			pass(m)
			m.receipt(of("vet"), failing)
			m.receipt(of("vet"), func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} })
		}, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed under another matrix, and passed under this one", func(m *maker) {
			m.receipt(of("vet"), failing, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} })
			m.receipt(of("vet"))
			pass(m)
		}, Verified, Verified, 0, 0, 0, nothing},
		{"another line failed, and a later attempt passed on files that it did not leave", func(m *maker) {
			m.receipt(of("vet"), failing, func(r *receipts.Receipt) { r.Run = "r-0" })
			m.receipt(of("vet"), changes(treeB, treeC), func(r *receipts.Receipt) { r.Run, r.Attempt = "r-0", 2 })
			pass(m)
		}, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed, and a later attempt passed on files that it left", func(m *maker) {
			m.receipt(of("vet"), failing, changes(treeA, treeB), func(r *receipts.Receipt) { r.Run = "r-0" })
			m.receipt(of("vet"), changes(treeB, treeC), func(r *receipts.Receipt) { r.Run, r.Attempt = "r-0", 2 })
			pass(m)
		}, Verified, Verified, 0, 0, 0, nothing},
		{"another line failed, and its pass before that was repeated in a run that began since", func(m *maker) {
			in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
			m.run("r-0")
			first := m.receipt(of("vet"), in("r-0"))
			m.receipt(of("vet"), failing, in("r-9"))
			m.run("r-2")
			m.receipt(of("vet"), in("r-2"), func(r *receipts.Receipt) { r.Reused = first })
			pass(m)
		}, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed, and its command passed under no binding", func(m *maker) {
			m.receipt(of("vet"), failing)
			m.receipt(of("vet"), func(r *receipts.Receipt) { r.Binding = "" })
			pass(m)
		}, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed, and its command passed under another binding", func(m *maker) {
			m.receipt(of("vet"), failing)
			m.receipt(of("vet"), func(r *receipts.Receipt) { r.Binding = "check_less" })
			pass(m)
		}, Failed, Failed, 0, 0, 0, nothing},
		{"another line failed with these inputs, then with others", func(m *maker) {
			m.receipt(of("vet"), failing, inputs(2))
			m.receipt(of("vet"), failing, inputs(1))
			pass(m, inputs(2))
		}, Failed, Failed, 0, 0, 0, func(q *Query) {
			nothing(q)
			q.Inputs = map[string]receipts.Hash{"check_lint": {2}, "check_vet": {2}}
		}},
		{"another line failed with these inputs, and passed with others", func(m *maker) {
			m.receipt(of("vet"), failing, inputs(2))
			m.receipt(of("vet"), inputs(1))
			pass(m, inputs(2))
		}, Failed, Failed, 0, 0, 0, func(q *Query) {
			nothing(q)
			q.Inputs = map[string]receipts.Hash{"check_lint": {2}, "check_vet": {2}}
		}},
		{"another line failed, which was accepted, nothing required", func(m *maker) {
			m.accept(m.receipt(of("vet"), failing))
			pass(m)
		}, Verified, Verified, 0, 0, 0, nothing},
		{"settled as failed before", func(m *maker) { settled(m, receipts.StatusFailed); pass(m) }, Verified, Flaky, 1, 0, 0, nil},
		{"settled as failed after", func(m *maker) { pass(m); settled(m, receipts.StatusFailed) }, Failed, Failed, 0, 0, 0, nil},
		{"failed under no binding before", func(m *maker) {
			m.receipt(failing, func(r *receipts.Receipt) { r.Binding = "" })
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
		{"failed under no binding, which has no inputs", func(m *maker) { m.receipt(failing, unbound); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, nil},
		{"other inputs failed before", func(m *maker) { m.receipt(failing, inputs(1)); pass(m, inputs(2)) }, Verified, Verified, 0, 0, 1, present},
		{"other inputs failed after", func(m *maker) { pass(m, inputs(2)); m.receipt(failing, inputs(1)) }, Verified, Verified, 0, 0, 1, present},
		{"other inputs failed after, where nobody knows the present ones", func(m *maker) { pass(m, inputs(2)); m.receipt(failing, inputs(1)) }, Failed, Failed, 1, 0, 0, nil},
		{"what another setup installed failed after", func(m *maker) { pass(m, inputs(2), clean(3)); m.receipt(failing, inputs(1), clean(4)) }, Failed, Failed, 1, 0, 0, present},
		{"what another setup installed failed before", func(m *maker) { m.receipt(failing, inputs(1), clean(4)); pass(m, inputs(2), clean(3)) }, Verified, Verified, 0, 0, 1, present},
		{"the same inputs failed before", func(m *maker) { m.receipt(failing, inputs(2)); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, present},
		{"it failed, and left the inputs that it passed with", func(m *maker) { m.receipt(failing, inputs(1), left(2)); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, present},
		{"the same, where nobody knows the present inputs", func(m *maker) { m.receipt(failing, inputs(1), left(2)); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, nil},
		{"it failed with inputs that its pass left", func(m *maker) { m.receipt(failing, inputs(2)); pass(m, inputs(1), left(2)) }, Verified, Flaky, 1, 0, 0, nil},
		{"it failed with the inputs that it passed with, and left others", func(m *maker) { m.receipt(failing, inputs(2), left(3)); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, present},
		{"another line failed, began with the present inputs, and left others", func(m *maker) {
			m.receipt(of("vet"), failing, inputs(2), left(3))
			pass(m)
		}, Failed, Failed, 0, 0, 0, func(q *Query) { nothing(q); q.Inputs = map[string]receipts.Hash{"check_vet": {2}} }},
		{"another line failed, and left the present inputs", func(m *maker) {
			m.receipt(of("vet"), failing, inputs(1), left(2))
			pass(m)
		}, Failed, Failed, 0, 0, 0, func(q *Query) { nothing(q); q.Inputs = map[string]receipts.Hash{"check_vet": {2}} }},
		{"another line failed, and its pass left other inputs", func(m *maker) {
			m.receipt(of("vet"), failing, inputs(2))
			m.receipt(of("vet"), inputs(2), left(3))
			pass(m)
		}, Failed, Failed, 0, 0, 0, func(q *Query) { nothing(q); q.Inputs = map[string]receipts.Hash{"check_vet": {2}} }},
		{"other inputs of a clean checkout failed before", func(m *maker) { m.receipt(failing, inputs(1), clean(0)); pass(m, inputs(2), clean(0)) }, Verified, Flaky, 1, 0, 0, nil},
		{"other inputs of the same setup failed before", func(m *maker) { m.receipt(failing, inputs(1), clean(3)); pass(m, inputs(2), clean(3)) }, Verified, Flaky, 1, 0, 0, present},
		{"another setup with the same inputs failed before", func(m *maker) { m.receipt(failing, inputs(2), clean(3)); pass(m, inputs(2), clean(4)) }, Verified, Flaky, 1, 0, 0, present},
		{"another setup failed before", func(m *maker) { m.receipt(failing, inputs(1), clean(3)); pass(m, inputs(2), clean(4)) }, Verified, Verified, 0, 0, 1, present},
		{"without the setup it failed before", func(m *maker) { m.receipt(failing, inputs(1), clean(0)); pass(m, inputs(2), clean(4)) }, Verified, Verified, 0, 0, 1, nil},
		{"passed in a clean checkout, whose inputs are not those of the working tree", func(m *maker) { pass(m, inputs(1), clean(0)) }, Verified, Verified, 0, 0, 0, present},
		{"failed in a clean checkout after it had passed there, and the working tree has other inputs", func(m *maker) {
			pass(m, inputs(1), clean(0))
			m.receipt(failing, inputs(1), clean(0))
		}, Failed, Failed, 0, 0, 0, present},
		{"failed in place, with the inputs of the clean checkout", func(m *maker) { m.receipt(failing, inputs(1)); pass(m, inputs(1), clean(0)) }, Verified, Flaky, 1, 0, 0, present},
		{"failed in place with other inputs", func(m *maker) { m.receipt(failing, inputs(2)); pass(m, inputs(1), clean(0)) }, Verified, Flaky, 1, 0, 0, present},
		{"failed in a clean checkout, and passed in place with other inputs", func(m *maker) { m.receipt(failing, inputs(1), clean(0)); pass(m, inputs(2)) }, Verified, Flaky, 1, 0, 0, present},
		{"retries allow it", func(m *maker) { m.receipt(failing); pass(m) }, Verified, Verified, 1, 0, 0, func(q *Query) { q.Retries = map[string]bool{"check_lint": true} }},
		{"a second attempt", func(m *maker) {
			m.receipt(failing)
			pass(m, func(r *receipts.Receipt) { r.Attempt = 2 })
		}, Verified, Verified, 1, 0, 0, nil},
		{"accepted", func(m *maker) { m.accept(m.receipt(failing)); pass(m) }, Verified, Verified, 0, 0, 0, nil},
		{"accepted afterwards", func(m *maker) { f := m.receipt(failing); pass(m); m.accept(f) }, Verified, Verified, 0, 0, 0, nil},
		{"accepted before it happened", func(m *maker) {
			then := newMaker(t)
			then.n = 1
			f := then.receipt(failing)
			m.accept(f)
			if m.receipt(failing) != f {
				t.Fatal("it is another receipt")
			}
			pass(m)
		}, Verified, Flaky, 1, 0, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, how := range []struct {
				ask  func(*Query)
				want Verdict
			}{{func(*Query) {}, tt.plain}, {strict, tt.strict}} {
				m := newMaker(t)
				tt.log(m)
				q := asked(how.ask)
				if tt.ask != nil {
					tt.ask(&q)
				}
				res := ask(t, m.open(Options{}), q)
				if res.Verdict != how.want {
					t.Errorf("strict %v: %s\nwant %s", q.Strict, told(res), how.want)
				}
				if res.Verdict == Verified && (res.Failures != tt.failures || res.Early != tt.ends || res.OtherInputs != tt.other) {
					t.Errorf("strict %v: %d failures, %d early ends, %d with other inputs; want %d, %d, %d", q.Strict, res.Failures, res.Early, res.OtherInputs, tt.failures, tt.ends, tt.other)
				}
			}
		})
	}
}

// TestUnfinished has runs end before they reached a gate.
func TestUnfinished(t *testing.T) {
	boss, keys := newSigner(t)
	const stopped, red = "did not reach its gate", "did not pass"
	second := func(r *receipts.Receipt) { r.Run = "r-2" }
	for _, tt := range []struct {
		name string
		log  func(m *maker)
		want string
	}{
		{"none", func(m *maker) {}, ""},
		{"stopped", func(m *maker) { m.run("r-2") }, stopped},
		{"more was planned than is listed", func(m *maker) { m.run("r-2", func(r *receipts.Run) { r.More = 1 }); m.receipt(second) }, stopped},
		{"on the same bytes, of another git tree", func(m *maker) {
			m.run("r-2", func(r *receipts.Run) { r.Tree = &receipts.Tree{Tree: treeB.Tree, Bytes: treeA.Bytes} })
		}, stopped},
		{"begun again by nobody's signature, which takes nobody's place", func(m *maker) { m.run("r-2"); m.sign = nil; m.run("r-2") }, stopped},
		{"begun by nobody's signature before it begins", func(m *maker) { m.sign = nil; m.run("r-2"); m.sign = boss; m.run("r-2") }, stopped},
		{"begun by nobody's signature", func(m *maker) { m.sign = nil; m.run("r-2") }, ""},
		{"begun by a line, which is signed", func(m *maker) {
			m.sign = nil
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.sign = boss
			m.receipt(of("vet"))
		}, stopped},
		{"begun by a line, and a gate in its name after the line, neither signed", func(m *maker) {
			m.sign = nil
			m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
			m.sign = boss
			m.receipt(of("vet"))
			m.sign = nil
			m.gate([]receipts.Hash{}, func(g *receipts.Gate) { g.Run, g.Final = "r-2", false })
		}, stopped},
		{"begun by a line, without its files", func(m *maker) {
			m.sign = nil
			m.run("r-2", func(r *receipts.Run) { r.Parent, r.Tree = "r-1/1", nil })
			m.sign = boss
			m.receipt(of("vet"))
		}, stopped},
		{"begun by a line on other files, without its own", func(m *maker) {
			m.run("r-2", func(r *receipts.Run) { r.Parent, r.Tree = "r-9/1", nil })
			m.receipt(of("vet"), func(r *receipts.Receipt) { r.Run, r.Workspace.Before = "r-9", treeB })
		}, ""},
		{"begun by nobody, without its files", func(m *maker) { m.run("r-2", func(r *receipts.Run) { r.Tree = nil }) }, ""},
		{"killed", func(m *maker) { m.run("r-2"); m.receipt(of("vet"), second, killed) }, red},
		{"reached its gate", func(m *maker) {
			m.run("r-2")
			m.gate([]receipts.Hash{m.receipt(second)}, func(g *receipts.Gate) { g.Run = "r-2" })
		}, ""},
		{"all that was planned ran", func(m *maker) { m.run("r-2"); m.receipt(second) }, ""},
		{"of a control that noticed nothing", func(m *maker) { m.run("r-2"); m.receipt(second, control("blind")) }, ""},
		{"a gate in its name that nobody signed", func(m *maker) {
			m.run("r-2")
			m.sign = nil
			m.gate([]receipts.Hash{}, func(g *receipts.Gate) { g.Run, g.Final = "r-2", false })
		}, stopped},
		{"a receipt in its name that nobody signed", func(m *maker) { m.run("r-2"); m.sign = nil; m.receipt(of("vet"), second) }, stopped},
		{"a failure in its name that nobody signed", func(m *maker) { m.run("r-2"); m.sign = nil; m.receipt(of("vet"), second, failing) }, stopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			m.sign = boss
			m.gate([]receipts.Hash{m.receipt()})
			tt.log(m)
			m.signCheckpoint(boss)
			res := ask(t, m.open(Options{Keys: keys}), asked(signed))
			if res.Verdict != Verified || tt.want == "" && len(res.Notes) > 0 || !strings.Contains(strings.Join(res.Notes, "\n"), tt.want) {
				t.Errorf("%s, notes %q; want %q", told(res), res.Notes, tt.want)
			}
		})
	}
}

// TestStoppedBefore has runs on the tree end without a gate before one passes.
func TestStoppedBefore(t *testing.T) {
	second := func(r *receipts.Receipt) { r.Run = "r-2" }
	for name, c := range map[string]struct {
		log  func(m *maker)
		want string
	}{
		"stopped":                  {func(m *maker) { m.run("r-2") }, "the earlier run r-2 of q.dlct on this tree did not reach its gate"},
		"all that was planned ran": {func(m *maker) { m.run("r-2"); m.receipt(second) }, ""},
		"failed, which is counted": {func(m *maker) { m.run("r-2"); m.receipt(second, failing) }, ""},
	} {
		m := newMaker(t)
		c.log(m)
		m.gate([]receipts.Hash{m.receipt()})
		res := ask(t, m.open(Options{}), asked())
		if got := strings.Join(res.Notes, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNoAnswer has the command end in each way that is not an answer, and pass then: the verdict says so.
func TestNoAnswer(t *testing.T) {
	failed := func(s receipts.StopReason) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) { r.Status, r.StopReason, r.ExitCode = receipts.StatusFailed, s, nil }
	}
	for name, c := range map[string]struct {
		change func(*receipts.Receipt)
		early  int
	}{
		"not found":      {failed(receipts.StopEnvMissing), 1},
		"not started":    {failed(receipts.StopStartFailed), 1},
		"not configured": {func(r *receipts.Receipt) { r.Status = receipts.NotConfigured }, 1},
		"unrecordable":   {failed(receipts.StopUnrecordable), 1},
		"timeout":        {failed(receipts.StopTimeout), 1},
		"pending":        {func(r *receipts.Receipt) { r.Status = receipts.Pending }, 1},
		"passed":         {func(*receipts.Receipt) {}, 0},
	} {
		m := newMaker(t)
		m.receipt(c.change)
		m.gate([]receipts.Hash{m.receipt()})
		if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != Verified || res.Early != c.early {
			t.Errorf("%s: %s, %d without an answer", name, told(res), res.Early)
		}
	}
}

// TestOrderOfLeaves: what is known of two passes of one command, of which the rules that are asked for know the variables of one, does not hang on
// which of them is looked at first.
func TestOrderOfLeaves(t *testing.T) {
	for _, foreign := range []int{0, 1} {
		m := newMaker(t)
		m.run("r-6", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.receipt(failing, func(r *receipts.Receipt) { r.Run, r.Binding = "r-6", "check_other" })
		var inner []receipts.Hash
		for i := range 2 {
			inner = append(inner, m.receipt(func(r *receipts.Receipt) {
				if r.Run = "r-6"; i == foreign {
					r.Matrix = receipts.Hash{9}
				}
			}))
		}
		m.gate([]receipts.Hash{m.receipt(of("all"))}, func(g *receipts.Gate) { g.Nested = inner })
		q := asked(nothing, strict)
		q.Env = map[string]string{"check_lint": "a", "check_other": "b"}
		if res := ask(t, m.open(Options{}), q); res.Verdict != Failed && res.Verdict != Flaky || !strings.Contains(told(res), "passed on this tree only after") {
			t.Errorf("the other matrix at %d: %s", foreign, told(res))
		}
	}
}

// TestOtherMatrix: what passes under the rules that are asked for takes the place of a failure under others, of the same level.
func TestOtherMatrix(t *testing.T) {
	boss, keys := newSigner(t)
	for _, c := range []struct {
		failed, passed *receipts.Signer
		want           Verdict
	}{{nil, nil, Verified}, {nil, boss, Verified}, {boss, boss, Verified}, {boss, nil, Failed}} {
		m := newMaker(t)
		m.sign = c.failed
		m.receipt(failing, func(r *receipts.Receipt) { r.Matrix = receipts.Hash{9} })
		m.sign = c.passed
		m.gate([]receipts.Hash{m.receipt()})
		m.signCheckpoint(boss)
		if res := ask(t, m.open(Options{Keys: keys}), asked()); res.Verdict != c.want {
			t.Errorf("signed: failed %t, passed %t: %s", c.failed != nil, c.passed != nil, told(res))
		}
	}
}

// TestNotUndoneBelowOthers: what failed below a line after it had passed there is not undone by a pass below a line whose binding sets other variables.
func TestNotUndoneBelowOthers(t *testing.T) {
	for env, want := range map[string]Verdict{"a": Verified, "b": Failed} {
		m := newMaker(t)
		in := func(run string) func(*receipts.Receipt) { return func(r *receipts.Receipt) { r.Run = run } }
		m.run("r-2", func(r *receipts.Run) { r.Parent = "r-1/1" })
		m.run("r-3", func(r *receipts.Run) { r.Parent = "r-1/2" })
		first := m.receipt(started, in("r-2"))
		m.receipt(started, failing, in("r-2"))
		lines := []receipts.Hash{m.receipt(of("old"))}
		second := m.receipt(started, in("r-3"))
		lines = append(lines, m.receipt(of("new"), func(r *receipts.Receipt) { r.Step = "2" }))
		m.gate(lines, func(g *receipts.Gate) { g.Nested = []receipts.Hash{first, second} })
		q := asked(nothing, func(q *Query) { q.Env = map[string]string{"check_old": "a", "check_new": env} })
		if res := ask(t, m.open(Options{}), q); res.Verdict != want {
			t.Errorf("%s: %s", env, told(res))
		}
	}
}

// TestBelowOthers: what a script failed that a line started says nothing of what it passed below another line, whose binding sets other variables; as long as
// each is known to be of such a line.
func TestBelowOthers(t *testing.T) {
	key, keys := newSigner(t)
	old, now := []string{"old"}, []string{"new"}
	for _, c := range []struct {
		failed, passed []string // the bindings of the lines around, the outermost first
		forged         string   // what a record without the key names for the line around the failure
		want           Verdict
		middle         bool // the line next to the failure has no record with the key
	}{
		{old, now, "", Verified, false},
		{now, now, "", Flaky, false},
		{nil, now, "", Verified, false}, // nothing vouches for it
		{old, []string{"same"}, "", Flaky, false},
		{append(old, "plain"), append(now, "plain"), "", Verified, false},
		{append(now, "plain"), now, "", Flaky, false},
		{now, now, "old", Flaky, false},
		{append(old, "new"), now, "", Flaky, true},
		{append(old, "alien"), now, "", Flaky, false},
	} {
		m := newMaker(t)
		around := func(name string, bindings []string) (parent string) {
			m.sign = key
			defer func() { m.sign = nil }()
			for i := range bindings {
				run := fmt.Sprintf("r-%s%d", name, i)
				m.run(run, func(r *receipts.Run) { r.Parent = parent })
				parent = run + "/1"
			}
			return parent
		}
		ended := func(name string, bindings []string) (line receipts.Hash) {
			m.sign = key
			defer func() { m.sign = nil }()
			for i, b := range slices.Backward(bindings) {
				if name == "f" && c.middle && i > 0 {
					m.sign = nil
				} else {
					m.sign = key
				}
				line = m.receipt(of(b), func(r *receipts.Receipt) {
					if r.Run = fmt.Sprintf("r-%s%d", name, i); b == "alien" {
						r.Matrix = receipts.Hash{9} // whose variables the rules do not know
					}
				})
			}
			return line
		}
		parent := around("f", c.failed)
		m.run("r-2", func(r *receipts.Run) { r.Parent = parent })
		m.receipt(started, failing)
		ended("f", c.failed)
		if c.forged != "" {
			m.receipt(of(c.forged), func(r *receipts.Receipt) { r.Run = "r-f0" })
		}
		parent = around("p", c.passed)
		m.run("r-3", func(r *receipts.Run) { r.Parent = parent })
		inner := m.receipt(started, func(r *receipts.Receipt) { r.Run = "r-3" })
		line := ended("p", c.passed)
		m.sign = key
		m.gate([]receipts.Hash{line}, func(g *receipts.Gate) { g.Run, g.Nested = "r-p0", []receipts.Hash{inner} })
		m.signCheckpoint(key)
		q := asked(nothing, strict, signed, func(q *Query) {
			q.Env = map[string]string{"check_old": "a", "check_same": "a", "check_new": "b", "check_plain": ""}
		})
		if res := ask(t, m.open(Options{Keys: keys}), q); res.Verdict != c.want {
			t.Errorf("failed below %q, passed below %q: %s", c.failed, c.passed, told(res))
		}
	}
}

// TestCommitBytes asks about a commit whose files failed under another script while git had no tree of them, and about the same files.
func TestCommitBytes(t *testing.T) {
	m := newMaker(t)
	m.receipt(of("vet"), failing, func(r *receipts.Receipt) { r.Run, r.Workspace.Before = "r-0", receipts.Tree{Bytes: treeA.Bytes} })
	m.gate([]receipts.Hash{m.receipt()})
	for _, commit := range []bool{false, true} {
		res := ask(t, m.open(Options{}), asked(nothing, func(q *Query) {
			if q.Commit = commit; commit {
				q.Tree = &receipts.Tree{Tree: treeA.Tree}
			}
		}))
		if res.Verdict != Failed {
			t.Errorf("of a commit %v: %s", commit, told(res))
		}
	}
}
