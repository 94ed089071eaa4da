package git

import (
	"os"
	"path/filepath"
	"slices"
)

// mostWorktrees bounds how many worktrees are looked at.
const mostWorktrees = 1000

// Common returns the directory of the repository that has a worktree at top, which linked worktrees share; empty where there is none.
func Common(top string) string {
	dir := filepath.Join(top, ".git")
	info, err := os.Lstat(dir)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() { // of a linked worktree, or a submodule, which shares nothing
		if dir = named(dir, "gitdir: "); dir == "" {
			return ""
		}
		if common := named(filepath.Join(dir, "commondir"), ""); common != "" {
			return common
		}
	}
	return dir
}

// Worktrees returns the other worktrees of the repository that has a worktree at top, the main one first:
// those whose folder is there. It reads the small files of git alone, and starts no git.
func Worktrees(top string) (dirs []string) {
	common := Common(top)
	if common == "" {
		return nil
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
