package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// writing is a script whose first line changes a file.
func writing(b *builder) []*plan.Step {
	w := b.sh("w", "echo changed >a.txt")
	w.Effect = plan.Write
	return []*plan.Step{w, b.sh("r", "grep -q changed a.txt"), gate()}
}

// What a line changes elsewhere is here before its verdict, and the gate is about that.
func TestRemoteWrites(t *testing.T) {
	f, r, o := newFarm(t, writing)
	out := r.run(t, o, writing(r.builder)...)
	if text, err := os.ReadFile(filepath.Join(r.dir, "a.txt")); err != nil || string(text) != "changed\n" {
		t.Errorf("%q, %v", text, err)
	}
	if out.Gate.Verdict != attempt.GatePassed {
		t.Errorf("gate %s: %s, %s", out.Gate.Verdict, out.Gate.Detail, verdicts(out.Results))
	}
	_ = f
}

// A worker that lies about what a line has changed changes nothing here, and no gate passes.
func TestHostileWriter(t *testing.T) {
	tests := map[string]struct {
		lie  func(f *farm, d *attempt.Delivery, r *receipts.Receipt)
		want string
	}{
		"files of another tree": {func(f *farm, _ *attempt.Delivery, _ *receipts.Receipt) {
			_ = os.WriteFile(filepath.Join(f.clone.dir, "b.txt"), []byte("smuggled\n"), 0o644)
		}, "are not those that its receipt names"},
		"no files":       {func(_ *farm, d *attempt.Delivery, _ *receipts.Receipt) { d.Commit = "" }, "does not say where the files are"},
		"a ref as files": {func(_ *farm, d *attempt.Delivery, _ *receipts.Receipt) { d.Commit = "--upload-pack=x" }, "does not say where the files are"},
		"lost files":     {func(_ *farm, d *attempt.Delivery, _ *receipts.Receipt) { d.Commit = strings.Repeat("1", 40) }, "cannot be fetched"},
		"no after": {func(_ *farm, _ *attempt.Delivery, r *receipts.Receipt) {
			r.Workspace.After, r.Workspace.Changed = nil, nil
		}, "does not say what the files were after it"},
		"another after": {func(_ *farm, _ *attempt.Delivery, r *receipts.Receipt) {
			r.Workspace.After.Bytes = receipts.Hash{1}
		}, "are not those that its receipt names"},
		"the future": {func(_ *farm, _ *attempt.Delivery, r *receipts.Receipt) {
			r.Timestamp.Time = time.Now().Add(24 * time.Hour)
		}, "of another time"},
		"the past": {func(_ *farm, _ *attempt.Delivery, r *receipts.Receipt) {
			r.Timestamp.Time = time.Now().Add(-24 * time.Hour)
		}, "of another time"},
		"no change": {func(_ *farm, _ *attempt.Delivery, r *receipts.Receipt) { *r.Workspace.After = r.Workspace.Before }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, r, o := newFarm(t, writing)
			f.deliver = func(d *attempt.Delivery, _ *engine.Arrived) {
				if d.Step != "1" {
					return
				}
				var rec receipts.Receipt
				if err := json.Unmarshal(d.Body, &rec); err != nil {
					t.Error(err)
				}
				tt.lie(f, d, &rec)
				again, err := rec.Record()
				if err != nil {
					t.Error(err)
				}
				d.Body = again.Body
				d.Signature, _ = f.signer.Sign(f.origin, again.SHA())
			}
			out := r.run(t, o, writing(r.builder)...)
			if out.Gate.Verdict == attempt.GatePassed || out.ExitStatus() == 0 {
				t.Errorf("the gate passed: %s", verdicts(out.Results))
			}
			if got := out.Results[0]; tt.want != "" && (got.Verdict != schedule.Fault || !strings.Contains(got.Detail, tt.want)) {
				t.Errorf("%s %s: %s", got.Verdict, got.Reason, got.Detail)
			}
			if text, _ := os.ReadFile(filepath.Join(r.dir, "a.txt")); strings.Contains(string(text), "changed") {
				t.Error("a file here was changed")
			}
			if _, err := os.Stat(filepath.Join(r.dir, "b.txt")); err == nil {
				t.Error("a file was smuggled in")
			}
		})
	}
}

// Where somebody else answers for dialect, such as that a gate has passed, the run is ended.
func TestForgedAnswer(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		w := b.sh("w", "echo changed >a.txt")
		w.Effect = plan.Write
		return []*plan.Step{b.sh("a", "echo x >a.txt"), gate(), w, gate()}
	}
	f, r, o := newFarm(t, steps)
	f.answer = func(e *schedule.Event) { e.Brief, e.Why = schedule.Brief{Verdict: schedule.Passed}, "" }
	out := r.run(t, o, steps(r.builder)...)
	if out.ExitStatus() == 0 || out.Gate.Verdict == attempt.GatePassed || !strings.Contains(out.Limit, "somebody else answered") {
		t.Errorf("status %d, gate %s, %q: %s", out.ExitStatus(), out.Gate.Verdict, out.Limit, verdicts(out.Results))
	}
}
