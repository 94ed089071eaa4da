package attempt_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// executor returns the executor of a plan of shell commands, one a line, and its store.
func executor(t *testing.T, commands ...string) (*attempt.Executor, *sqlite.Store, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "receipts.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	p := &plan.Plan{Script: plan.Script{Name: "a.dlct"}, Matrix: plan.Matrix{Root: dir}}
	for i, command := range commands {
		p.Steps = append(p.Steps, &plan.Step{
			ID: string(rune('1' + i)), Line: plan.Line{Number: i + 1, File: "a.dlct", Text: "Test with " + command},
			Binding: "test", Kind: plan.Process, Effect: plan.Read, ReceiptRequired: true,
			Argv: []string{"/bin/sh", "-c", command}, Dir: dir,
		})
	}
	x := attempt.New(context.Background(), context.Background(), p, attempt.Options{Run: "r-1", Store: store, Environ: os.Environ()}, nil)
	t.Cleanup(x.Close)
	return x, store, dir
}

func count(t *testing.T, store *sqlite.Store, kind string) (n int) {
	t.Helper()
	list, err := store.List(context.Background(), sqlite.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if string(e.Kind) == kind {
			n++
		}
	}
	return n
}

// An action that comes again, as it does from a state that was loaded, runs nothing again.
func TestRepeatedAction(t *testing.T) {
	x, store, dir := executor(t, "echo >>count; exit 3")
	a := schedule.Action{Seq: 1, Op: schedule.Start, ID: "1", Attempt: 1, Alone: true}
	first := x.Attempt(t.Context(), a)
	b := a
	b.Seq, b.Attempt = 2, 2
	second := x.Attempt(t.Context(), b)
	if first.Verdict != schedule.Failed || second == first || second.Attempts != 2 || second.Receipt == first.Receipt {
		t.Fatalf("%+v, then %+v", first, second)
	}
	if x.Attempt(t.Context(), a) != first || x.Attempt(t.Context(), b) != second {
		t.Error("a repeated action has another report")
	}
	if err := x.Sync(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, store, string(receipts.KindReceipt)); n != 2 {
		t.Errorf("%d receipts", n)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "count")); len(text) != 2 {
		t.Errorf("it ran %d times", len(text))
	}
}

// A gate is decided from reports, not from what its action says of them, and once.
func TestGateBelievesReports(t *testing.T) {
	for _, c := range []struct {
		command string
		run     bool
		want    attempt.GateVerdict
	}{
		{"true", true, attempt.GatePassed},
		{"exit 3", true, attempt.GateNotRun},
		{"true", false, attempt.GateNotRun},
	} {
		x, store, _ := executor(t, c.command)
		if c.run {
			x.Attempt(t.Context(), schedule.Action{Seq: 1, Op: schedule.Start, ID: "1", Attempt: 1, Alone: true})
		}
		a := schedule.Action{Seq: 2, Op: schedule.Gate, Final: true, Ended: []schedule.Ended{{ID: "1", Verdict: schedule.Passed}}}
		g := x.Gate(t.Context(), a)
		if g.Verdict != c.want {
			t.Errorf("%q, run %v: the gate %s, %s", c.command, c.run, g.Verdict, g.Detail)
		}
		if again := x.Gate(t.Context(), a); again != g {
			t.Errorf("%q: decided twice", c.command)
		}
		if n, want := count(t, store, string(receipts.KindGate)), map[bool]int{true: 1}[c.want == attempt.GatePassed]; n != want {
			t.Errorf("%q: %d gates in the store", c.command, n)
		}
	}
}

// What cannot be started is recorded, and runs nothing.
func TestDenied(t *testing.T) {
	x, store, dir := executor(t, "touch ran")
	r := x.Attempt(t.Context(), schedule.Action{Seq: 1, Op: schedule.Start, ID: "1", Attempt: 1, Alone: true, Why: "no lock"})
	if r.Verdict != schedule.Fault || r.Reason != receipts.StopLocked || r.Detail != "no lock" || r.Attempts != 0 || x.Lost(r) {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil || count(t, store, string(receipts.KindReceipt)) != 1 {
		t.Error("it ran, or left no receipt")
	}
}

// What an action leaves out, invents, or calls skipped, a gate does not believe.
func TestGateAsksThePlan(t *testing.T) {
	for name, ended := range map[string][]schedule.Ended{
		"left out": {{ID: "1", Verdict: schedule.Passed}},
		"skipped":  {{ID: "1", Verdict: schedule.Passed}, {ID: "2", Verdict: schedule.Skipped, Reason: schedule.NoFailure}},
		"unknown":  {{ID: "1", Verdict: schedule.Passed}, {ID: "9", Verdict: schedule.Passed}},
	} {
		x, store, _ := executor(t, "true", "exit 3")
		for _, id := range []string{"1", "2"} {
			x.Attempt(t.Context(), schedule.Action{Op: schedule.Start, ID: id, Attempt: 1, Alone: true})
		}
		g := x.Gate(t.Context(), schedule.Action{Op: schedule.Gate, Final: true, Ended: ended})
		if g.Verdict != attempt.GateNotRun || count(t, store, string(receipts.KindGate)) != 0 {
			t.Errorf("%s: the gate %s", name, g.Verdict)
		}
	}
	x, _, _ := executor(t, "test -e there || { touch there; exit 1; }")
	for n := range 2 {
		x.Attempt(t.Context(), schedule.Action{Op: schedule.Start, ID: "1", Attempt: n + 1, Alone: true})
	}
	if g := x.Gate(t.Context(), schedule.Action{Op: schedule.Gate, Final: true, Ended: []schedule.Ended{{ID: "1", Verdict: schedule.Flaky}}}); g.Verdict != attempt.GateNotRun {
		t.Errorf("a pass beyond the retries of the plan: the gate %s", g.Verdict)
	}
}
