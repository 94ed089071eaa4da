package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A Workspace takes snapshots of the files that a run is about;
// *workspace.Tracker is one.
type Workspace interface {
	Take(ctx context.Context) (*workspace.Snapshot, error)
	// Forget makes the next Take read every file.
	Forget()
}

// An epoch is a part of a run in which nothing is meant to change the files: it
// ends where a step that writes begins, where that step has ended, and at a gate.
type epoch struct {
	tree    receipts.Tree
	place   receipts.Datum // of the project in the worktree of tree
	changed []string       // paths that were there and changed in it all the same
}

// trees follows the files of a run through its epochs. It is used between steps
// alone, never while the members of a group run.
type trees struct {
	source Workspace
	now    *workspace.Snapshot // at the begin of epoch; nil if there is none
	epoch  *epoch
	read   bool            // a reading step ran in the epoch
	also   []receipts.Hash // earlier snapshots that differ from now in nothing but new files
	noted  []string        // those new files
	err    error           // why there is no snapshot
	rules  []plan.File     // what the matrix was loaded from
	other  string          // the first of rules that a snapshot had with other content; empty if none
}

// begin takes the first snapshot.
func (t *trees) begin() {
	if t.source != nil {
		t.take()
	}
}

// take takes a snapshot and begins an epoch; it returns what changed in the one
// that ends, and the snapshot.
func (t *trees) take() []workspace.Change {
	// The end of a run is worth a snapshot too: what is known is recorded.
	s, err := t.source.Take(context.Background())
	if err != nil {
		t.err, t.now, t.epoch = err, nil, nil
		return nil
	}
	if t.other == "" {
		t.other = policy.Agree(t.rules, s)
	}
	var changes []workspace.Change
	if t.now != nil {
		changes = workspace.Diff(t.now, s)
		real := slices.ContainsFunc(changes, isReal)
		for _, c := range changes {
			if !isReal(c) {
				t.noted = append(t.noted, c.Path)
			}
		}
		switch {
		case real:
			t.also = nil
		case t.now.Bytes != s.Bytes && len(t.also) < receipts.MaxMembers/4:
			t.also = append(t.also, t.now.Bytes)
		}
	}
	t.now, t.read = s, false
	t.epoch = &epoch{tree: receipts.Tree{Tree: s.Tree, Bytes: s.Bytes}, place: receipts.Text(s.Place)}
	return changes
}

// isReal tells a change of what was there from a file that a tool left behind.
func isReal(c workspace.Change) bool { return c.Kind != workspace.Added || !c.Untracked }

// settle ends an epoch in which steps only read: what changed in it all the same
// is held against them.
func (t *trees) settle() {
	if t.source != nil {
		t.end()
	}
}

// end takes the snapshot that ends an epoch, and notes in it what changed.
func (t *trees) end() []workspace.Change {
	e := t.epoch
	changes := t.take()
	for _, c := range changes {
		if e != nil && isReal(c) {
			e.changed = append(e.changed, c.Path)
		}
	}
	return changes
}

// before is called before a step or a group; writes says that it may write.
func (t *trees) before(writes bool) {
	switch {
	case t.source == nil || t.epoch == nil:
	case writes && t.read:
		t.settle()
	case !writes:
		t.read = true
	}
}

// after is called when a step or a group that may write has ended, and returns what it
// changed. That is held against the members of the group that only read: nobody knows
// whether they saw the files before or after.
func (t *trees) after() []workspace.Change {
	if t.source == nil || t.epoch == nil {
		return nil
	}
	return t.end()
}

// gate ends the epoch for a gate: every file is read again.
func (t *trees) gate() {
	if t.source == nil {
		return
	}
	t.source.Forget()
	t.settle()
}

// writes reports whether s or a member of it may change files.
func writes(s *plan.Step) bool {
	found := false
	plan.Walk([]*plan.Step{s}, func(s *plan.Step) {
		found = found || s.Kind != plan.Composite && s.Effect == plan.Write && !isGate(s)
	})
	return found
}

// workspaceOf is the workspace of a receipt for a step that has ended. A step that
// writes, alone, is followed by a snapshot.
func (r *run) workspaceOf(res *Result) *receipts.Workspace {
	if res.epoch == nil {
		return nil
	}
	w := &receipts.Workspace{Before: res.epoch.tree}
	if res.grouped || !writes(res.Step) {
		return w
	}
	changes := r.trees.after()
	if r.trees.epoch == nil {
		return w
	}
	after := r.trees.epoch.tree
	w.After = &after
	for _, c := range changes {
		if len(w.Changed) == receipts.MaxChanged {
			w.More = len(changes) - receipts.MaxChanged
			break
		}
		w.Changed = append(w.Changed, receipts.Text(c.Path))
	}
	return w
}

// noTree returns why the gate can say nothing about the files; empty if it can, or
// if nobody asked.
func (t *trees) noTree() string {
	switch {
	case t.source == nil:
		return ""
	case t.err != nil:
		return fmt.Sprintf("the files cannot be told: %v; ignore it in a tracked .gitignore, or run with --no-tree, which proves less", t.err)
	case t.now != nil && t.now.Unmerged:
		return "the files have no tree: " + t.now.Reason
	}
	return ""
}

// otherRules says which file of the rules a snapshot of the run had with other content than the
// one that was loaded; empty if none.
func (t *trees) otherRules() string {
	if t.other == "" {
		return ""
	}
	return fmt.Sprintf("%s is not what the matrix was loaded from: it changed during the run; run it again", t.other)
}
