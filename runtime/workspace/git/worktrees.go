package git

import (
	"os"
	"path/filepath"
	"slices"
)

// mostWorktrees bounds how many worktrees are looked at.
const mostWorktrees = 1000

// Worktrees returns the other worktrees of the repository that has a worktree at top, the main one first:
// those whose folder is there. It reads the small files of git alone, and starts no git.
func Worktrees(top string) (dirs []string) {
	common := filepath.Join(top, ".git")
	if info, err := os.Lstat(common); err != nil {
		return nil
	} else if info.Mode().IsRegular() { // of a linked worktree, or a submodule, which has none
		dir := named(common, "gitdir: ")
		if common = named(filepath.Join(dir, "commondir"), ""); dir == "" || common == "" {
			return nil
		}
	}
	add := func(dotGit string) {
		dir := filepath.Dir(dotGit)
		here, err := os.Stat(top)
		if there, terr := os.Stat(dir); filepath.Base(dotGit) == ".git" && err == nil && terr == nil && !os.SameFile(here, there) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(common)
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, e := range entries[:min(len(entries), mostWorktrees)] {
		if dotGit := named(filepath.Join(common, "worktrees", e.Name(), "gitdir"), ""); dotGit != "" {
			add(filepath.Clean(dotGit))
		}
	}
	return dirs
}
