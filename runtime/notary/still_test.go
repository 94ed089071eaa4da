package notary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
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
	above, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(tree, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	n := &Notary{tree: tree, is: is, above: map[string]fs.FileInfo{tree: is, dir: above}}
	// of is a snapshot of what is at root, taken while it led to at.
	of := func(root, at string) *workspace.Snapshot {
		t.Helper()
		info, err := os.Lstat(at)
		if err != nil {
			t.Fatal(err)
		}
		return &workspace.Snapshot{Root: root, At: info}
	}
	for _, root := range []string{tree, sub, dir} {
		if err := n.still(of(root, root)); err != nil {
			t.Errorf("%s: %v", root, err)
		}
		if n.still(of(root, other)) == nil {
			t.Errorf("%s: a snapshot counts that was taken while another directory was there", root)
		}
	}
	if n.still(of(other, other)) == nil {
		t.Error("a snapshot of another tree counts")
	}
	if err := errors.Join(os.Remove(sub), os.Symlink(other, sub)); err != nil {
		t.Fatal(err)
	}
	if n.still(of(sub, other)) == nil {
		t.Error("a snapshot counts of a directory that a link leads to out of the tree")
	}
	whole := of(tree, tree)
	away := func() error { return os.Rename(tree, filepath.Join(dir, "away")) }
	for name, change := range map[string]func() error{
		"a link":            func() error { return os.Symlink(other, tree) },
		"another directory": func() error { return os.Mkdir(tree, 0o755) },
		"nothing":           func() error { return nil },
	} {
		if err := errors.Join(away(), change()); err != nil {
			t.Fatal(err)
		}
		if n.still(whole) == nil {
			t.Errorf("%s in its place: its snapshot counts", name)
		}
		_ = os.Remove(tree)
		if err := os.Rename(filepath.Join(dir, "away"), tree); err != nil {
			t.Fatal(err)
		}
	}
}
