package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A gate counts the files that came while commands ran which may have seen them: without these nobody knows whether they pass.
func TestCame(t *testing.T) {
	for name, tt := range map[string]struct {
		steps func(b *builder) []*plan.Step
		want  int
	}{
		"while it reads": {func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "echo x >new.txt")} }, 1},
		"and goes again": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "echo x >new.txt"), b.sh("write", "rm new.txt")}
		}, 1},
		"before a gate in the middle": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "echo x >new.txt"), gate(), b.sh("b", "true"), gate()}
		}, 1},
		"by a writer beside one that reads": {func(b *builder) []*plan.Step {
			return []*plan.Step{group(true, b.sh("write", "echo x >new.txt"), b.sh("a", "true"))}
		}, 1},
		"by a writer beside one that reads, after a line": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("b", "true"), group(true, b.sh("write", "echo x >new.txt"), b.sh("a", "true"))}
		}, 1},
		"by a writer alone": {func(b *builder) []*plan.Step { return []*plan.Step{b.sh("write", "echo x >new.txt")} }, 1},
		"by a writer alone, before one that removes it": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("write", "echo x >new.txt"), b.sh("write", "rm new.txt"), b.sh("a", "true")}
		}, 0},
		"while it reads, seen by a look, and goes again": {func(b *builder) []*plan.Step {
			a := b.sh("a", "echo x >new.txt")
			a.Reuse = true
			gone := b.sh("b", "rm new.txt") // which only reads, as far as its binding says
			return []*plan.Step{a, gone}
		}, 1},
		"by a writer that is tried again": {func(b *builder) []*plan.Step {
			s := b.sh("write", "test -e new.txt || { echo x >new.txt; exit 1; }")
			s.Budget.Retries = 1
			return []*plan.Step{s}
		}, 0},
		"by a writer before it": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("write", "echo x >new.txt"), b.sh("a", "true")}
		}, 0},
		"and is changed by a writer": {func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "echo x >new.txt"), b.sh("write", "echo y >a.txt"), b.sh("b", "true")}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			o := r.run(t, engine.Options{}, tt.steps(r.builder)...)
			e, err := r.store.Get(context.Background(), o.Gate.SHA.String())
			if err != nil {
				t.Fatalf("%s: %v", o.Gate.Verdict, err)
			}
			v, err := e.Parse()
			g, ok := v.(*receipts.Gate)
			if err != nil || !ok || g.Came != tt.want {
				t.Errorf("%+v, %v; want %d", v, err, tt.want)
			}
			if name == "by a writer that is tried again" && !g.Tree.SameFiles(r.receipt(t, o.Results[0]).Workspace.Before) {
				t.Error("the gate is not about the files that it passed on")
			}
		})
	}
}

// What came before a gate in the middle, or before a line that may write and writes nothing, is not in the tree of the lines after it: their passes
// are not repeated once it is gone.
func TestCameBefore(t *testing.T) {
	for _, middle := range []string{"gate", "write"} {
		for _, deferred := range []bool{false, true} {
			r := newRepo(t)
			steps := func() []*plan.Step {
				m := gate()
				if middle == "write" {
					m = r.sh("write", "true")
				}
				a := r.sh("a", "test -e new.txt")
				a.Reuse = true
				return []*plan.Step{r.sh("one", "test -e gone || echo x >new.txt"), m, a}
			}
			o := r.run(t, engine.Options{Options: attempt.Options{DeferGate: deferred}}, steps()...)
			if o.Results[2].Verdict != schedule.Passed {
				t.Fatalf("%s: %s", middle, o.Results[2].Verdict)
			}
			if w := r.receipt(t, o.Results[2]).Workspace; w.Looked() || w.Before.Exact {
				t.Errorf("%s, deferred %t: %+v", middle, deferred, w)
			}
			if err := os.Rename(filepath.Join(r.dir, "new.txt"), filepath.Join(r.dir, "gone")); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(r.dir, "gone")); err != nil {
				t.Fatal(err)
			}
			again := steps()
			again[0] = r.sh("one", "true")
			if next := r.run(t, engine.Options{Options: attempt.Options{Reuse: true}}, again...); next.Results[2].Verdict == schedule.Passed {
				t.Errorf("%s, deferred %t: it passes without the file", middle, deferred)
			}
		}
	}
}

// A line that may write vouches for its inputs as they were afterwards.
func TestInputsOfAWriter(t *testing.T) {
	r := newRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, "in.log"), []byte("bad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.sh("write", "echo good >in.log")
	s.Inputs = []string{"in.log"}
	same := r.sh("write2", "true")
	same.Inputs = []string{"in.log"}
	o := r.run(t, engine.Options{}, s, same)
	first, second := r.receipt(t, o.Results[0]), r.receipt(t, o.Results[1])
	if o.Gate.Verdict != attempt.GatePassed || first.InputsAfter.IsZero() || first.HeldInputs() != second.Inputs || !second.InputsAfter.IsZero() {
		t.Errorf("%s: %s, then %s; %s, then %s", o.Gate.Verdict, first.Inputs, first.InputsAfter, second.Inputs, second.InputsAfter)
	}
}

// A forgetful is a workspace that counts looks which know files by their times.
type forgetful struct {
	attempt.Workspace
	forgot bool
	quick  int
}

func (f *forgetful) Forget() {
	f.forgot = true
	f.Workspace.Forget()
}

func (f *forgetful) Take(ctx context.Context) (*workspace.Snapshot, error) {
	if !f.forgot {
		f.quick++
	}
	f.forgot = false
	return f.Workspace.Take(ctx)
}

// No gate of the run reads every file again where the gate is elsewhere: the look that a receipt is about does, whatever the line may do.
func TestLookIsWhole(t *testing.T) {
	for _, name := range []string{"a", "write"} {
		r := newRepo(t)
		w := &forgetful{Workspace: r.tracker()}
		o := run(t, r.plan(r.sh(name, "true")), engine.Options{Options: attempt.Options{DeferGate: true, Store: r.store, Workspace: w}})
		if !r.receipt(t, o.Results[0]).Workspace.Looked() {
			t.Errorf("%s: it was not looked at", name)
		}
		if w.quick > 1 { // before it ran
			t.Errorf("%s: %d quick looks", name, w.quick)
		}
	}
}

// TestChangedWithoutStore has files, or inputs, change under a line that only reads. The run knows that without its store: who takes the
// store away makes no pass of it.
func TestChangedWithoutStore(t *testing.T) {
	for name, script := range map[string]string{
		"a file":    "echo two >a.txt",
		"its input": "echo two >in.log", // which git ignores
	} {
		for _, deferred := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deferred %v", name, deferred), func(t *testing.T) {
				r := newRepo(t)
				s := r.sh("a", script)
				s.Inputs = []string{"in.log"}
				p := r.plan(s, r.sh("b", "true"))
				for _, s := range p.Steps {
					s.ReceiptRequired = false // else it refuses in any case
				}
				o := run(t, p, engine.Options{Options: attempt.Options{Degraded: "there is none", Workspace: r.tracker(), DeferGate: deferred}})
				if o.Gate.Verdict != attempt.GateRefusal || len(o.Gate.Refusals) == 0 || o.Gate.Refusals[0].Reason != receipts.TreeChanged || o.ExitStatus() != 3 {
					t.Errorf("gate %s, %v, exit status %d", o.Gate.Verdict, o.Gate.Refusals, o.ExitStatus())
				}
			})
		}
	}
}
