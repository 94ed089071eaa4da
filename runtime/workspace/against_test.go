//go:build linux

package workspace

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
)

// TestAgainst: what a commit of the files would have otherwise than HEAD, whatever the index says of it.
func TestAgainst(t *testing.T) {
	r := newRepo(t)
	for _, name := range []string{"same", "changed", "staged", "gone", "skipped", "assumed", "mode", "d/deep"} {
		r.write(name, "a\n")
	}
	r.commit()
	r.write("changed", "b\n")
	r.write("d/deep", "b\n")
	r.write("staged", "b\n")
	r.write("added", "b\n")
	r.git("add", "staged", "added")
	r.write("untracked", "b\n")
	r.do(os.Remove(r.path("gone")))
	r.do(os.Chmod(r.path("mode"), 0o755))
	r.git("update-index", "--skip-worktree", "skipped", "same")
	r.git("update-index", "--assume-unchanged", "assumed")
	r.write("skipped", "b\n")
	r.write("assumed", "b\n")
	s := r.take(Options{})
	c, err := Resolve(context.Background(), r.dir, "HEAD", Options{})
	if err != nil {
		t.Fatal(err)
	}
	differ, marks, err := s.Against(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"added", "assumed", "changed", "d/deep", "gone", "mode", "skipped", "staged"}; !slices.Equal(differ.Paths, want) || differ.Count != len(want) {
		t.Errorf("%v, want %v", differ, want)
	}
	if want := map[string]Mark{"skipped": SkipWorktree, "assumed": AssumeUnchanged}; !maps.Equal(marks, want) {
		t.Errorf("%v, want %v", marks, want)
	}
}
