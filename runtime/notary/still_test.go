package notary

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestStill: a snapshot counts only if it is of the directory that the notary began with.
func TestStill(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, other := filepath.Join(dir, "tree"), filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.Mkdir(other, 0o755)); err != nil {
		t.Fatal(err)
	}
	is, err := os.Lstat(tree)
	if err != nil {
		t.Fatal(err)
	}
	n := &Notary{tree: tree, is: is}
	for _, root := range []string{tree, filepath.Join(tree, "sub"), dir} {
		if err := n.still(root); err != nil {
			t.Errorf("%s: %v", root, err)
		}
	}
	if n.still(other) == nil {
		t.Error("a snapshot of another tree counts")
	}
	away := func() error { return os.Rename(tree, filepath.Join(dir, "away")) }
	for name, change := range map[string]func() error{
		"a link":            func() error { return os.Symlink(other, tree) },
		"another directory": func() error { return os.Mkdir(tree, 0o755) },
		"nothing":           func() error { return nil },
	} {
		if err := errors.Join(away(), change()); err != nil {
			t.Fatal(err)
		}
		if n.still(tree) == nil {
			t.Errorf("%s in its place: its snapshot counts", name)
		}
		_ = os.Remove(tree)
		if err := os.Rename(filepath.Join(dir, "away"), tree); err != nil {
			t.Fatal(err)
		}
	}
}
