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
	"github.com/command-dialect/dialect/runtime/inputs"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

func inputsDigest(t *testing.T, dir string, patterns ...string) receipts.Hash {
	t.Helper()
	h, err := inputs.Digest(context.Background(), dir, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The receipt of each attempt has the digest of the inputs as they were when it began.
func TestInputs(t *testing.T) {
	r := newRepo(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	with := func(s *plan.Step) *plan.Step {
		s.Inputs = []string{"*.log"} // which the repository ignores
		return s
	}
	write("deps.log", "1")
	one := inputsDigest(t, r.dir, "*.log")
	o := r.run(t, engine.Options{}, with(r.sh("a", "true")), r.sh("b", "true"))
	if got := r.receipt(t, o.Results[0]).Inputs; got != one {
		t.Errorf("the receipt has %s, and the files %s", got, one)
	}
	if got := r.receipt(t, o.Results[1]).Inputs; !got.IsZero() {
		t.Errorf("the receipt of a binding without inputs has %s", got)
	}
	if notes := o.Results[0].Process.Notes; len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}

	// A command that changes state may change its inputs, and that is noted.
	install := with(r.sh("a", "echo 2 >deps.log"))
	install.Effect = plan.Write
	o = r.run(t, engine.Options{}, install)
	if got := r.receipt(t, o.Results[0]).Inputs; got != one || o.Verdict() != "passed" {
		t.Errorf("%s, and the receipt has %s, want %s", o.Verdict(), got, one)
	}
	if notes := strings.Join(o.Results[0].Process.Notes, "\n"); !strings.Contains(notes, "its inputs changed while it ran") {
		t.Errorf("notes: %q", notes)
	}
	two := inputsDigest(t, r.dir, "*.log")

	// Each attempt has its own.
	retried := with(r.sh("a", "grep -q 3 deps.log || { echo 3 >deps.log; exit 1; }"))
	retried.Budget.Retries = 1
	o = r.run(t, engine.Options{}, retried)
	res := o.Results[0]
	if res.Verdict != schedule.Flaky || len(res.Earlier) != 1 {
		t.Fatalf("%s (%s), %d earlier receipts", res.Verdict, res.Detail, len(res.Earlier))
	}
	three := inputsDigest(t, r.dir, "*.log")
	first := r.receipt(t, &engine.Result{Report: attempt.Report{Receipt: res.Earlier[0]}})
	if last := r.receipt(t, res); first.Inputs != two || last.Inputs != three || two == three {
		t.Errorf("the attempts have %s and %s, want %s and %s", first.Inputs, last.Inputs, two, three)
	}
}

// A tool of a server that only reads is about no inputs either, where they changed while it ran.
func TestInputsOfATool(t *testing.T) {
	r := newRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, "in.log"), []byte("bad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.sh("a", "")
	s.Inputs = []string{"in.log"}
	o := r.runMCP(t, engine.Options{}, mcpServer(`
		echo good >in.log
		r='{"content":[{"type":"text","text":"done"}]}'`), s)
	if o.Results[0].Verdict != schedule.Passed || o.Gate.Verdict != attempt.GateRefusal || !strings.Contains(o.Gate.Detail, "in.log") {
		t.Errorf("%s, gate %s: %s", o.Results[0].Verdict, o.Gate.Verdict, o.Gate.Detail)
	}
}

// Where the inputs cannot be digested nothing runs, and the receipt says so.
func TestInputsTooLarge(t *testing.T) {
	r := newRepo(t)
	big, err := os.Create(filepath.Join(r.dir, "deps.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if err := big.Truncate(inputs.MaxBytes + 1); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []plan.Kind{plan.Process, plan.MCP} {
		s := r.sh("a", "touch ran")
		s.Kind, s.Inputs = kind, []string{"deps.log"}
		o := r.run(t, engine.Options{}, s)
		res := o.Results[0]
		if res.Verdict != schedule.Fault || !strings.Contains(res.Detail, "inputs are too large") || !strings.Contains(res.Detail, "name a lock file") {
			t.Errorf("%s: %s: %s", kind, res.Verdict, res.Detail)
		}
		if _, err := os.Lstat(filepath.Join(r.dir, "ran")); err == nil {
			t.Errorf("%s: it ran", kind)
		}
		if rec := r.receipt(t, res); rec.Status != receipts.StatusFailed || rec.StopReason != receipts.StopStartFailed || !rec.Inputs.IsZero() {
			t.Errorf("%s: receipt: %s, %s, inputs %s", kind, rec.Status, rec.StopReason, rec.Inputs)
		}
	}
}

// A pass is not reused once the inputs are others, nor by another project of the worktree.
func TestReuseInputsAndPlace(t *testing.T) {
	r := newRepo(t)
	step := func(dir string) *plan.Step {
		s := r.sh("a", "true")
		s.Inputs, s.Reuse, s.Dir = []string{"deps.log"}, true, dir
		return s
	}
	steps := func(dir string) *engine.Result {
		t.Helper()
		p := r.plan(step(dir))
		p.Matrix.Root = dir
		o := run(t, p, engine.Options{Options: attempt.Options{Store: r.store, Reuse: true, Workspace: workspace.NewTracker(dir, workspace.Options{})}})
		return o.Results[0]
	}
	a, b := filepath.Join(r.dir, "a"), filepath.Join(r.dir, "b")
	for _, dir := range []string{a, b} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tracked"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if res := steps(a); res.Verdict != schedule.Passed || !res.Reused.IsZero() {
		t.Fatalf("the first: %s (%s)", res.Verdict, res.Detail)
	}
	if res := steps(a); res.Reused.IsZero() {
		t.Errorf("the second ran again: %s", res.Detail)
	}
	if res := steps(b); !res.Reused.IsZero() {
		t.Error("the pass of a was reused for b")
	}
	steps(a) // the last receipt of the command is that of a again
	if err := os.WriteFile(filepath.Join(a, "deps.log"), []byte("2"), 0o666); err != nil {
		t.Fatal(err)
	}
	if res := steps(a); !res.Reused.IsZero() {
		t.Error("the pass was reused with other inputs")
	}
}

// Receipts and gates say where in the worktree their project lies.
func TestPlace(t *testing.T) {
	r := newRepo(t)
	sub := filepath.Join(r.dir, "sub", "project")
	if err := os.MkdirAll(sub, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]receipts.Datum{r.dir: {}, sub: receipts.Text("sub/project")} {
		if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		s := r.sh("a", "true")
		s.Dir = dir
		p := r.plan(s)
		p.Matrix.Root = dir
		o := run(t, p, engine.Options{Options: attempt.Options{Store: r.store, Workspace: workspace.NewTracker(dir, workspace.Options{})}})
		if o.Gate.Verdict != attempt.GatePassed {
			t.Fatal(o.Gate.Detail)
		}
		rec := r.receipt(t, o.Results[0])
		e, err := r.store.Get(context.Background(), o.Gate.SHA.String())
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Parse()
		if err != nil {
			t.Fatal(err)
		}
		if g := v.(*receipts.Gate); rec.Place != want || g.Place != want || rec.Dir != (receipts.Datum{}) {
			t.Errorf("%s: the receipt says %q (dir %q), the gate %q, want %q", dir, rec.Place.Text, rec.Dir.Text, g.Place.Text, want.Text)
		}
	}
}

// A built-in is asked once, whatever its retries; its receipt has its inputs and how long it took.
func TestBuiltinInputs(t *testing.T) {
	r := newRepo(t)
	if err := os.WriteFile(filepath.Join(r.dir, "deps.log"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &plan.Step{
		Binding: "validate_receipt", Verb: "validate", Noun: "receipt", Kind: plan.Builtin, Target: plan.ValidateReceipt, Effect: plan.Read,
		Values: []plan.Value{{Name: "object", Text: "r-123456789abc"}}, Inputs: []string{"*.log"}, Budget: plan.Budget{Retries: 2},
	}
	o := r.run(t, engine.Options{}, s)
	res := o.Results[0]
	if res.Verdict != schedule.Failed || res.Attempts != 1 || len(res.Earlier) != 0 {
		t.Fatalf("%+v", res.Report)
	}
	if rec := r.receipt(t, res); rec.Inputs != inputsDigest(t, r.dir, "*.log") || rec.DurationNS <= 0 {
		t.Errorf("inputs %s, %d ns", rec.Inputs, rec.DurationNS)
	}
}
