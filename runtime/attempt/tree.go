package attempt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"syscall"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/scope"
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
	files   func() *scope.Files
}

// trees follows the files of a run through its epochs. But for [trees.still], it is used between
// steps alone, never while the members of a group run.
//
// A file that is new, and that git does not track, is of the tree of an epoch only if
// it was there when a step of the epoch began after one that may write. What turns up
// while steps only read, or after the last step, was tested by nobody: base stays the
// snapshot without it, and unseen lists it.
type trees struct {
	source Workspace
	apart  bool                // commands run on a copy: what comes here they do not see
	ctx    context.Context     // ends with the run, but not by --fail-fast
	now    *workspace.Snapshot // the last one; nil if there is none
	base   *workspace.Snapshot // what epoch.tree is of: now, but for files that are new since
	tested *workspace.Snapshot // before a last writer that has left nothing but new files; nil otherwise
	epoch  *epoch
	read   bool            // a reading step ran in the epoch
	shared bool            // a group began whose members may read beside one that writes
	came   map[string]bool // new files that came in an epoch in which a step read, or in such a group, or that a last writer left
	err    error           // why there is no snapshot
	rules  []plan.File     // what the matrix was loaded from
	looks  sync.Mutex      // held while a snapshot is taken: members of a group may ask for one at the same time
	far    *receipts.Tree  // what the commands run on, where that is not here; nil where it is
	other  string          // the first complaint of [policy.Agree] about them; empty if none
}

// begin takes the first snapshot.
func (t *trees) begin() {
	if t.source != nil {
		t.take(false)
	}
}

// take takes a snapshot and begins an epoch; wrote says that a step that may write ran
// in the one that ends. It returns what changed since the last snapshot.
func (t *trees) take(wrote bool) []workspace.Change {
	t.looks.Lock()
	s, err := t.source.Take(t.ctx)
	t.looks.Unlock()
	if err != nil {
		t.err, t.now, t.base, t.tested, t.epoch = err, nil, nil, nil, nil
		return nil
	}
	if t.other == "" {
		t.other = policy.Agree(t.rules, s, "it changed during the run; run it again")
	}
	var changes []workspace.Change
	base, tested := s, (*workspace.Snapshot)(nil)
	if t.now != nil {
		changes = workspace.Diff(t.now, s)
		for _, c := range changes {
			if !isReal(c) && (t.read || t.shared) {
				t.comes(c.Path)
			}
		}
		since := changes
		if t.base != t.now {
			since = workspace.Diff(t.base, s)
		}
		switch {
		case slices.ContainsFunc(since, isReal):
		case len(since) == 0:
			tested = t.tested
		case wrote && len(changes) > 0:
			tested = t.base
		default:
			base, tested = t.base, t.tested
		}
	}
	t.now, t.base, t.tested, t.read, t.shared = s, base, tested, false, false
	t.epoch = &epoch{tree: treeOf(base), place: receipts.Text(base.Place), files: sync.OnceValue(func() *scope.Files { return scope.Of(base) })}
	if t.far != nil {
		t.epoch.tree = *t.far
	}
	return changes
}

// comes notes that a new file came which a step may have read, also once it is gone.
func (t *trees) comes(path string) {
	if !t.sees() {
		return
	}
	if t.came == nil {
		t.came = make(map[string]bool)
	}
	t.came[path] = true
}

func treeOf(s *workspace.Snapshot) receipts.Tree {
	return receipts.Tree{Tree: s.Tree, Bytes: s.Bytes, Exact: s.Exact}
}

// isReal tells a change of what was there from a file that a tool left behind.
func isReal(c workspace.Change) bool { return c.Kind != workspace.Added || !c.Untracked }

// endReads ends an epoch in which steps only read: what changed in it all the same
// counts against them.
func (t *trees) endReads() {
	if t.source != nil {
		t.end(false)
	}
}

// end takes the snapshot that ends an epoch, and notes in it what changed.
func (t *trees) end(wrote bool) []workspace.Change {
	e := t.epoch
	changes := t.take(wrote)
	for _, c := range changes {
		if e != nil && isReal(c) {
			e.changed = append(e.changed, c.Path)
		}
	}
	return changes
}

// sees reports whether commands run on the files here, and not on a copy: what comes meanwhile may have a part in their passes.
func (t *trees) sees() bool { return !t.apart && t.far == nil }

// unheld is how many of the files that came are not of the snapshot that a gate is about; one more where the place of a report, which no snapshot
// has, was written to.
func (t *trees) unheld(tested *workspace.Snapshot) (n int) {
	for path := range t.came {
		if !tested.Has(path) {
			n++
		}
	}
	if tested.Written && t.sees() {
		n++
	}
	return n
}

// still looks whether the files are those of the tree of the epoch, and returns those that are not; fresh says that new ones are there,
// which git does not track. Members of a group may ask while others run.
func (t *trees) still() (changed []string, fresh bool, err error) {
	t.looks.Lock()
	defer t.looks.Unlock()
	t.source.Forget() // as a gate does, whose look this stands for
	s, err := t.source.Take(t.ctx)
	if err != nil {
		return nil, false, err
	}
	for _, c := range workspace.Diff(t.base, s) {
		if isReal(c) {
			changed = append(changed, c.Path)
		} else {
			fresh = true
			t.comes(c.Path)
		}
	}
	return changed, t.sees() && (fresh || s.Written), nil
}

// before is called before a step or a group; writes says that it may write.
func (t *trees) before(writes, group bool) {
	t.tested = nil
	if t.source == nil || t.epoch == nil {
		return
	}
	if !writes {
		t.read = true
		return
	}
	if t.read {
		t.endReads()
	}
	t.shared = group
}

// after is called when a step or a group that may write has ended, and returns what it
// changed. That counts against the members of the group that only read: nobody knows
// whether they saw the files before or after.
func (t *trees) after() []workspace.Change {
	if t.source == nil || t.epoch == nil {
		return nil
	}
	return t.end(true)
}

// continueWith has this epoch and those after it be of a tree that other machines have: whether the files here are that tree
// the gate asks [trees.elsewhere].
func (t *trees) continueWith(tree receipts.Tree) {
	if t.far = &tree; t.epoch != nil {
		own := *t.epoch
		own.tree = tree
		t.epoch = &own
	}
}

// elsewhere returns why the files here, of the last snapshot, are not those that other machines had; empty if they are, or if
// none had any. A file that is new, and that git does not track, may have come after the last line.
func (t *trees) elsewhere() string {
	if t.far == nil || t.base != nil && treeOf(t.base).SameFiles(*t.far) {
		return ""
	}
	return "the files here are not those that the lines ran on elsewhere: they were edited since the run began, or while a line was writing; run it again"
}

// gate ends the epoch for a gate: every file is read again. It returns the snapshot of
// what was tested, nil if there is none, and the paths that are, or were, there beyond it.
func (t *trees) gate() (tested *workspace.Snapshot, unseen []string) {
	if t.source == nil {
		return nil, nil
	}
	t.source.Forget()
	t.endReads()
	if tested = t.base; t.tested != nil {
		tested = t.tested
	}
	if tested == nil {
		return nil, nil
	}
	there := make(map[string]bool)
	if tested != t.now {
		for _, c := range workspace.Diff(tested, t.now) {
			unseen, there[c.Path] = append(unseen, c.Path), true
			if t.tested != nil {
				t.comes(c.Path) // its pass is about the files that it left, and the gate is not
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t.came)) { // also what is gone
		if !there[path] && !tested.Has(path) {
			unseen = append(unseen, path)
		}
	}
	return tested, unseen
}

// writes reports whether s or a member of it may change files.
func writes(s *plan.Step) bool {
	found := false
	plan.Walk([]*plan.Step{s}, func(s *plan.Step) {
		found = found || s.Kind != plan.Composite && s.Effect == plan.Write && !IsGate(s)
	})
	return found
}

// look takes a snapshot when a step that only reads has passed, where its receipt may be used without the gate of this run, which would
// look: by a later run that reuses it, or by a gate elsewhere.
func (x *Executor) look(res *Report) {
	s := res.Step
	if !x.opt.DeferGate && !s.Reuse || len(x.opt.Controls) > 0 || res.Verdict != schedule.Passed || writes(s) || res.epoch == nil {
		return
	}
	changed, fresh, err := x.trees.still()
	if res.fresh = fresh; err != nil {
		res.changed = append(res.changed, ".") // nobody knows
		return
	}
	for _, path := range changed {
		if !slices.Contains(res.changed, path) {
			res.changed = append(res.changed, path)
		}
	}
	res.still = len(res.changed) == 0 && !fresh && res.moved == ""
}

// workspaceOf is the workspace of a receipt for a step that has ended. A step that
// writes, alone, is followed by a snapshot.
func (x *Executor) workspaceOf(res *Report) *receipts.Workspace {
	if res.epoch == nil {
		return nil
	}
	w := &receipts.Workspace{Before: res.epoch.tree, Still: res.still}
	w.Before.Exact = w.Before.Exact && !res.fresh // what came may have had a part in it, and no clone has it
	if !res.action.Alone || !writes(res.Step) {
		return w
	}
	if x.opt.DeferGate {
		x.trees.source.Forget() // no gate of this run will read every file
	}
	changes := x.trees.after()
	if x.trees.epoch == nil {
		return w
	}
	after := x.trees.epoch.tree
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
	case t.ctx.Err() != nil && t.err != nil:
		return "the run was ended while its files were read"
	case errors.As(t.err, new(*cleanroom.ChangedError)):
		return t.err.Error()
	case t.err != nil:
		var file *workspace.Error
		remedy := "run with --no-tree, which proves less"
		switch {
		case errors.Is(t.err, syscall.EMFILE), errors.Is(t.err, syscall.ENFILE):
			remedy = "raise `ulimit -n`, or " + remedy
		case errors.As(t.err, &file) && path.Base(file.Path) != ".gitignore":
			remedy = "ignore it in a tracked .gitignore, or " + remedy
		}
		return fmt.Sprintf("cannot take a snapshot of the working tree: %v; %s", t.err, remedy)
	case t.now != nil && t.now.Unmerged:
		return t.now.Reason
	}
	return ""
}
