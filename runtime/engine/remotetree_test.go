package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A gate here is about the files here: where they are others than those that the workers had, it refuses, whenever they were
// edited, and whether a line that writes left them alone or wrote nothing at all.
func TestRemoteEditedHere(t *testing.T) {
	edit := func(t *testing.T, r *repo, name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("edited here\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	silent := func(b *builder) []*plan.Step {
		w := b.sh("w", "true")
		w.Effect = plan.Write
		return []*plan.Step{w, b.sh("r", "true"), gate()}
	}
	reads := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("r", "true"), gate()} }
	tests := map[string]struct {
		steps func(*builder) []*plan.Step
		edit  string
		at    string // the step that has been carried out when the file is edited; empty for before a run that is taken up
	}{
		"a new file while a line writes": {writing, "c.txt", "1"},
		"a file, beside what is written": {writing, ".gitignore", "1"},
		"while a line writes nothing":    {silent, "a.txt", "1"},
		"while a line reads":             {writing, ".gitignore", "2"},
		"before it is taken up":          {reads, "a.txt", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, r, o := newFarm(t, tt.steps)
			if tt.at == "" {
				s, err := workspace.Take(t.Context(), r.dir, workspace.Options{})
				if err != nil {
					t.Fatal(err)
				}
				o.Worker.Tree, o.Resumed = &receipts.Tree{Tree: s.Tree, Bytes: s.Bytes, Exact: s.Exact}, true
				edit(t, r, tt.edit)
			}
			f.deliver = func(d *attempt.Delivery, _ *engine.Arrived) {
				if d.Step == tt.at {
					edit(t, r, tt.edit)
				}
			}
			out := r.run(t, o, tt.steps(r.builder)...)
			if out.Gate.Verdict != attempt.GateRefusal || len(out.Gate.Refusals) == 0 || out.Gate.Refusals[0].Reason != receipts.TreeChanged {
				t.Errorf("gate %s: %s %+v; %s", out.Gate.Verdict, out.Gate.Detail, out.Gate.Refusals, verdicts(out.Results))
			}
		})
	}
}
