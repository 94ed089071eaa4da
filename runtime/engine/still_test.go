package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A pass on files that changed while it ran, and were put back afterwards, serves no other gate than that of its run, which refuses it:
// no later run reuses it, and no gate over receipts takes it.
func TestChangedUnderIt(t *testing.T) {
	for _, tt := range []struct {
		name     string
		script   string // what changes the files while the step runs stands in it
		inputs   []string
		deferred bool
	}{
		{"a file", "echo good >a.txt", nil, false},
		{"a file, with a gate elsewhere", "echo good >a.txt", nil, true},
		{"an input", "echo good >in.log", []string{"in.log"}, false},
		{"an input, with a gate elsewhere", "echo good >in.log", []string{"in.log"}, true},
		{"nothing", "true", []string{"in.log"}, false},
		{"nothing, with a gate elsewhere", "true", []string{"in.log"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("in.log", "bad\n")
			step := func() *plan.Step {
				s := r.sh("a", tt.script)
				s.Reuse, s.Inputs = true, tt.inputs
				return s
			}
			good := tt.script == "true"
			o := r.run(t, engine.Options{Options: attempt.Options{DeferGate: tt.deferred}}, step())
			want := attempt.GateRefusal
			switch {
			case good && tt.deferred:
				want = attempt.GateDeferred
			case good:
				want = attempt.GatePassed
			}
			if o.Results[0].Verdict != schedule.Passed || o.Gate.Verdict != want || !good && o.Gate.Refusals[0].Reason != receipts.TreeChanged {
				t.Fatalf("%s, %s: %v", o.Results[0].Verdict, o.Gate.Verdict, o.Gate.Refusals)
			}
			rec := r.receipt(t, o.Results[0])
			if rec.Status != receipts.Succeeded || rec.Workspace.Looked() != good {
				t.Errorf("the receipt says %s, %+v", rec.Status, rec.Workspace)
			}
			write("a.txt", "one\n")
			write("in.log", "bad\n")

			next := r.run(t, engine.Options{Options: attempt.Options{Reuse: true}}, step())
			if reused := !next.Results[0].Reused.IsZero(); reused != good {
				t.Errorf("reused: %v", reused)
			}
			write("a.txt", "one\n")
			write("in.log", "bad\n")
			snapshot, err := r.tracker().Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			req := receipts.GateRequest{
				Run: "r-other", Session: rec.Session, At: rec.Timestamp, AnyRun: true, AnySession: true, Matrix: rec.Matrix, Place: rec.Place,
				Expect: []receipts.Expectation{{SHA: o.Results[0].Receipt, Step: "1", Binding: rec.Binding}},
			}
			attempt.Beyond(&req, snapshot, nil)
			d, err := r.store.Gate(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if took := d.Passed(); took != (good && tt.deferred) {
				t.Errorf("the gate over it passed: %v, %v", took, d.Refusals)
			}
		})
	}
}

// A command of a group is looked at on its own, while the others run.
func TestStillInGroup(t *testing.T) {
	r := newRepo(t)
	a, b := r.sh("a", "true"), r.sh("b", "sleep 0.2; echo x >>a.txt")
	a.Reuse, b.Reuse = true, true
	g := group(true, a, b)
	o := r.run(t, engine.Options{}, g)
	if o.Gate.Verdict != attempt.GateRefusal || !strings.Contains(o.Gate.Detail, "a.txt") {
		t.Errorf("%s: %s", o.Gate.Verdict, o.Gate.Detail)
	}
	if w := r.receipt(t, o.Results[0].Members[1]).Workspace; w.Looked() {
		t.Errorf("%+v", w)
	}
}

// A file that came while a command ran may have had a part in its pass: the receipt is about no clone, and is not reused.
func TestCameUnderIt(t *testing.T) {
	for _, script := range []string{"echo x >new.txt", "true"} {
		r := newRepo(t)
		step := func() *plan.Step {
			s := r.sh("a", script)
			s.Reuse = true
			return s
		}
		o := r.run(t, engine.Options{}, step())
		came := script != "true"
		if w := r.receipt(t, o.Results[0]).Workspace; w.Still == came || w.Before.Exact == came {
			t.Errorf("%s: %+v", script, w)
		}
		os.Remove(filepath.Join(r.dir, "new.txt"))
		if next := r.run(t, engine.Options{Options: attempt.Options{Reuse: true}}, step()); next.Results[0].Reused.IsZero() != came {
			t.Errorf("%s: reused %v", script, !next.Results[0].Reused.IsZero())
		}
	}
}
