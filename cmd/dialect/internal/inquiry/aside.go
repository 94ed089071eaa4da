package inquiry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// committed is the command that commits what was added. Without a message git would open an editor.
func committed(message string) string { return `git commit --message="` + message + `"` }

// stashed is the command that tests a commit while what is not committed is set aside, and puts it back whatever the test says. Where nothing could be
// set aside, nothing is put back: it would be an older stash.
func stashed(rev string, isHead bool, whole string) string {
	if isHead {
		return "git stash --include-untracked && { " + whole + "; git stash pop; }"
	}
	return "git stash --include-untracked && { " + report.Command([]string{"git", "checkout", rev}) + " && { " + whole + "; git checkout -; }; git stash pop; }"
}

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

// worktree is the command that tests a commit in a new worktree beside this one, and asks there; empty where the paths of whole would mean others there.
func (q *Question) worktree(s *workspace.Snapshot, rev, whole string) string {
	wd, err := os.Getwd()
	if err != nil || q.o.Store != "" || q.o.Routing != "" || q.Level > receipts.LevelHash {
		return ""
	}
	from, err := filepath.Rel(s.Root, wd)
	if err != nil || !filepath.IsLocal(from) {
		return ""
	}
	name := q.Tree.Tree
	if q.commit != nil {
		name = q.commit.ID
	}
	dir := s.Root + "-" + name[:min(len(name), 12)]
	return report.Command([]string{"git", "worktree", "add", "--detach", place.Short(dir), rev}) + " && " +
		report.Command([]string{"cd", place.Short(filepath.Join(dir, from))}) + " && " + whole + " && dialect verify --tree HEAD"
}

// uncommitted names some of the files of a snapshot that are not as in HEAD.
func uncommitted(s *workspace.Snapshot) string {
	if s.Untracked.Count > 0 {
		return "untracked: " + diag.Some(s.Untracked.Paths, s.Untracked.Count, 5)
	}
	return "changes of tracked files"
}

// SetAside is the command that tests the commit that was asked about once the files here are its; empty where what is here need not be set aside
// for it, or other steps come first. An agent that sets files aside may put away what others are at work on.
func (q *Question) SetAside() string { return q.unstashed }
