package workspace

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// The place of a project is that below the worktree which its snapshot is of, however
// somebody makes a folder on the way look like a worktree.
func TestPlace(t *testing.T) {
	r := newRepo(t)
	for _, dir := range []string{"a/b", "fake/.git", "broken"} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.write("a/b/f", "1")
	r.write("fake/f", "1")
	r.write("broken/.git", "gitdir: /nonexistent\n")
	r.write("broken/f", "1")
	r.at(r.path("a")).write("inner/f", "1")
	r.at(r.path("a/inner")).git("init", "-q")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.path("a/b"), link); err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	for dir, want := range map[string]string{
		r.dir: "", r.path("a"): "a", r.path("a/b"): "a/b", link: "a/b",
		r.path("fake"): "fake", r.path("broken"): "", r.path("a/inner"): "", plain: "",
	} {
		s, err := Take(context.Background(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		of, err := Place(context.Background(), dir, Options{})
		if s.Place != want || of != want || err != nil {
			t.Errorf("%s: the snapshot's place is %q and of a commit %q (%v), want %q", dir, s.Place, of, err, want)
		}
	}
}

// TestPlaceInCommit: of a commit the place is that of the folder by its name, through the links of the commit alone.
func TestPlaceInCommit(t *testing.T) {
	r := newRepo(t)
	r.write("a/b/f", "1")
	r.write("c/b/f", "1")
	for name, target := range map[string]string{"l": "a", "m": "l/b", "c/up": "../a"} {
		r.do(os.Symlink(target, r.path(name)))
	}
	r.git("add", ".")
	r.commit()
	c, err := Resolve(t.Context(), r.dir, "HEAD", Options{})
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	link := filepath.Join(outside, "link")
	r.do(os.Symlink(r.path("a"), link))
	r.do(os.Rename(r.path("c"), r.path("other")))
	r.do(os.Symlink("a", r.path("c")))
	for dir, want := range map[string]string{
		r.dir: "", r.path("a/b"): "a/b", r.path("l"): "a", r.path("m"): "a/b", r.path("c/b"): "c/b", r.path("c/up/b"): "a/b", r.path("gone/x"): "gone/x", link: "a",
	} {
		if got, ok := c.Place(t.Context(), dir); got != want || !ok {
			t.Errorf("%s: %q, %v, want %q", dir, got, ok, want)
		}
	}
	if got, ok := c.Place(t.Context(), outside); ok {
		t.Errorf("outside: %q", got)
	}
}
