//go:build linux

package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// git waits for a FIFO in the place of any file of its own. Neither a snapshot nor a question
// about a commit does, wherever the FIFO is, and the message names it.
func TestFIFOInGit(t *testing.T) {
	for _, name := range []string{
		"HEAD", "index", "config", "packed-refs", "commondir", "shallow", "refs/heads/main", "refs/heads/deep/other",
		"info/exclude", "info/grafts", "objects/info/alternates", "objects/info/commit-graph", "objects/pack/pack-1.idx",
	} {
		for _, linked := range []bool{false, true} {
			t.Run(strings.ReplaceAll(name, "/", " ")+map[bool]string{true: " of a linked worktree"}[linked], func(t *testing.T) {
				t.Parallel()
				r := newRepo(t)
				r.write("a", "a")
				r.commit()
				r.git("branch", "-f", "other")
				file, at := r.path(".git/"+name), r
				if linked {
					dir := filepath.Join(t.TempDir(), "linked")
					r.git("worktree", "add", "-q", dir, "other")
					if at = r.at(dir); name == "HEAD" || name == "index" {
						file = r.path(".git/worktrees/linked/" + name)
					} else if name == "commondir" {
						t.Skip("that is the file that leads to the others")
					}
				}
				r.do(os.RemoveAll(file))
				r.do(os.MkdirAll(filepath.Dir(file), 0o755))
				r.do(syscall.Mkfifo(file, 0o600))
				s, err := Take(context.Background(), at.dir, Options{})
				r.do(err)
				if s.Tree != "" || !strings.Contains(s.Reason, filepath.Base(name)+" is not a regular file") {
					t.Errorf("tree %q, reason %q", s.Tree, s.Reason)
				}
				if _, err := Resolve(context.Background(), at.dir, "HEAD", Options{}, "a"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
					t.Errorf("a question about a commit: %v", err)
				}
			})
		}
	}
}

// An object that is a FIFO is not looked for, since there may be many: git gets some seconds,
// and the message says that it was git.
func TestFIFOAsObject(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit()
	id := r.git("rev-parse", "HEAD")
	file := r.path(".git/objects/" + id[:2] + "/" + id[2:])
	r.do(os.Remove(file))
	r.do(syscall.Mkfifo(file, 0o600))
	if _, err := Resolve(context.Background(), r.dir, "HEAD", Options{}, "a"); err == nil || !strings.Contains(err.Error(), "git cat-file: it did not end within") {
		t.Error(err)
	}
}
