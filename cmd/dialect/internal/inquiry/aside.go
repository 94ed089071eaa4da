package inquiry

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// committed is the command that commits what was added. Without a message git would open an editor.
func committed(message string) string { return `git commit --message="` + message + `"` }

// environments returns those folders of untracked paths whose names are usual for what tools are installed in.
func environments(paths []string) (folders []string) {
	for _, path := range paths {
		at := ""
		for name := range strings.SplitSeq(path, "/") {
			at = filepath.ToSlash(filepath.Join(at, name))
			if at == path {
				break
			}
			if slices.Contains([]string{".venv", "venv", ".env", "env", ".tox", ".nox", "node_modules", "vendor"}, name) {
				if !slices.Contains(folders, at) {
					folders = append(folders, at)
				}
				break
			}
		}
	}
	return folders[:min(len(folders), 3)]
}

// inWorktree is how to test another commit than HEAD: in a worktree beside this one, with receipts in the store that is asked. whole runs script.
func (q *Question) inWorktree(ctx context.Context, s *workspace.Snapshot, rev, script, whole string) []string {
	wd, err := os.Getwd()
	has := func(path string) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(wd, path)
		}
		found, err := q.commit.Lookup(ctx, path)
		return err == nil && found.File
	}
	name := q.commit.ID[:min(len(q.commit.ID), 12)]
	from, errFrom := filepath.Rel(s.Root, wd)
	switch {
	case q.matrix.Path == "" || !has(q.matrix.Path):
		return []string{advice("%s has no %s for this folder: ask about a commit that has it", rev, routing.FileName)}
	case (len(q.lines) == 0 || whole == q.run(script)) && !has(script):
		return []string{advice("%s has no script that could be run: ask about a commit that has one", rev)}
	case err != nil || errFrom != nil || !filepath.IsLocal(from), filepath.IsAbs(script), q.o.Store == attempt.NoStore, q.o.Routing != "", q.Level > receipts.LevelHash:
		// whole would mean other files there.
		return []string{advice("test %s in a folder of its own, which git worktree add --detach makes, and name the store of this one there with --store", name)}
	}
	dir := s.Root + "-" + name
	folder := report.Command([]string{place.Short(dir)})
	words := func(list ...string) string { return report.Command(list) }
	steps := []string{words("cd", place.Short(filepath.Join(dir, from)))}
	if has(filepath.Join(s.Root, ".gitmodules")) {
		steps = append(steps, "git submodule update --init --recursive")
	}
	if at, err := filepath.Rel(wd, q.root); err == nil && !q.Clean && q.rules != nil && len(q.rules.Clean.Setup) > 0 {
		for _, c := range q.rules.Clean.Setup {
			steps = append(steps, words(c.Argv...))
		}
		if at != "." { // it installs in the folder of the matrix
			steps = append(slices.Insert(steps, len(steps)-len(q.rules.Clean.Setup), words("cd", at)), words("cd", q.From))
		}
	}
	run := "(" + strings.Join(append(steps, whole), " && ") + ")"
	if !place.Exists(dir) { // as after a run that was stopped
		run = "git worktree add --detach " + folder + " " + name + " && " + run
	}
	return []string{
		advice("%s is tested in a folder of its own, where what git ignores has to be installed if the tests need it; remove it afterwards: git worktree remove %s", rev, folder),
		run,
	}
}

// compareFailed finds out how to have the files of rev, whose lines failed, tested again, if it is neither HEAD nor what is here: a run here
// would be of other files.
func (q *Question) compareFailed(ctx context.Context, rev string) {
	head, err := workspace.Resolve(ctx, q.root, "HEAD", workspace.Options{})
	if err != nil || head.Tree == q.Tree.Tree {
		return
	}
	s, err := q.take(ctx)
	if err != nil || s.Tree == q.Tree.Tree {
		return
	}
	q.apart = true
	q.ofCommit = func(script, whole string) []string {
		return append([]string{advice("a fix is a new commit, which can be asked about; if it failed for want of what was not installed, test %s again:", rev)}, q.inWorktree(ctx, s, rev, script, whole)...)
	}
}

// alone is, as advice, how to test the commit at HEAD by itself, without what is not committed; empty where nobody can say that in a line.
func (q *Question) alone(ctx context.Context, s *workspace.Snapshot, rev, script, whole string) string {
	other := *q
	other.apart = true // the worktree has no store of its own
	run := other.run(script)
	if whole != q.run(script) {
		run = other.runRequired(script)
	}
	list := other.inWorktree(ctx, s, rev, script, run)
	if len(list) < 2 {
		return ""
	}
	return advice("or leave out what is not committed, and test %s by itself, in a folder of its own: %s", rev, list[1])
}

// uncommitted names some of the files of a snapshot that are not as in HEAD; differ are those of them that are tracked.
func uncommitted(s *workspace.Snapshot, differ workspace.List) string {
	var list []string
	if differ.Count > 0 {
		list = append(list, "changed: "+diag.Some(differ.Paths, differ.Count, 5))
	}
	if s.Untracked.Count > 0 {
		list = append(list, "untracked: "+diag.Some(s.Untracked.Paths, s.Untracked.Count, 5))
	}
	return strings.Join(list, "; ")
}

// mostNamed is how many files a command of git names at most, to commit them.
const mostNamed = 10

// commitAs is the command that commits the files of a snapshot as they were tested: by their names, where they are few, so that one sees what
// goes in. all says that git add passes over some, which it would refuse by name.
func (q *Question) commitAs(s *workspace.Snapshot, differ workspace.List, all bool) string {
	paths := slices.Concat(differ.Paths, s.Untracked.Paths)
	if n := differ.Count + s.Untracked.Count; all || n == 0 || n > mostNamed || n > len(paths) || merging(s.Root) {
		return "git add --all && " + committed("The files as tested")
	}
	names := func(paths []string) string {
		list := make([]string, len(paths))
		for i, path := range paths {
			list[i] = q.here(path)
		}
		return report.Command(list)
	}
	command := committed("The files as tested") + " -- " + names(paths)
	if s.Untracked.Count > 0 {
		command = "git add -- " + names(s.Untracked.Paths) + " && " + command
	}
	return command
}

// merging reports whether a merge or a cherry-pick goes on, of which git commits no part.
func merging(root string) bool {
	dir := filepath.Join(root, ".git")
	if i, err := os.Stat(dir); err != nil || !i.IsDir() {
		return true // of another worktree: its folder is elsewhere
	}
	return place.Exists(filepath.Join(dir, "MERGE_HEAD")) || place.Exists(filepath.Join(dir, "CHERRY_PICK_HEAD"))
}

// unmark is what to do about files that git passes over because of a mark: neither git status names them, nor does git add take them.
func (q *Question) unmark(rev string, marks map[string]workspace.Mark) (list []string) {
	for _, mark := range []workspace.Mark{workspace.SkipWorktree, workspace.AssumeUnchanged} {
		var paths []string
		for path, m := range marks {
			if m == mark {
				paths = append(paths, q.here(path))
			}
		}
		if paths == nil {
			continue
		}
		slices.Sort(paths)
		list = append(list, advice("git passes over %s, marked %s, which is not as in %s; for git to commit it:", diag.Some(paths, len(paths), 5), mark, rev),
			report.Command(append([]string{"git", "update-index", "--no-" + string(mark), "--"}, paths...)))
	}
	return list
}

// Uncommitted reports whether what is not committed has to be before the commit that was asked about can be tested here.
func (q *Question) Uncommitted() bool { return q.uncommitted }
