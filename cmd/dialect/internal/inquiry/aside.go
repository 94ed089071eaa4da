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
	run := "(" + report.Command([]string{"cd", place.Short(filepath.Join(dir, from))}) + " && " + whole + ")"
	if !place.Exists(dir) { // as after a run that was stopped
		run = "git worktree add --detach " + folder + " " + name + " && " + run
	}
	return []string{
		advice("%s is tested in a folder of its own, where what git ignores has to be installed if the tests need it; remove it afterwards: git worktree remove %s", rev, folder),
		run,
	}
}

// uncommitted names some of the files of a snapshot that are not as in HEAD.
func uncommitted(s *workspace.Snapshot) string {
	if s.Untracked.Count > 0 {
		return "untracked: " + diag.Some(s.Untracked.Paths, s.Untracked.Count, 5)
	}
	return "changes of tracked files"
}

// Uncommitted reports whether what is not committed has to be before the commit that was asked about can be tested here.
func (q *Question) Uncommitted() bool { return q.uncommitted }
