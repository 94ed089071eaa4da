package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/place"
)

func TestPlaces(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	for _, dir := range []string{"repository/.git", "repository/a/b", "worktree/a", "none/a"} {
		if err := os.MkdirAll(path(dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	// The .git of a further worktree is a file.
	if err := os.WriteFile(path("worktree/.git"), []byte("gitdir: x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", path("dangling")); err != nil {
		t.Skip(err)
	}
	for dir, want := range map[string]string{"repository/a/b": "repository", "repository": "repository", "worktree/a": "worktree", "none/a": "none/a"} {
		if got := place.Repository(path(dir)); got != path(want) {
			t.Errorf("Repository of %s: %s, want %s", dir, got, path(want))
		}
	}
	for name, want := range map[string]bool{"worktree/.git": true, "none": true, "missing": false, "dangling": false} {
		if got := place.Exists(path(name)); got != want {
			t.Errorf("Exists %s: %v", name, got)
		}
	}
}

// TestShort: what is named from here is never longer, and never a flag.
func TestShort(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "a", "b"):     filepath.Join("a", "b"),
		filepath.Join(dir, "-e.dlct"):    "." + string(filepath.Separator) + "-e.dlct",
		string(filepath.Separator) + "a": string(filepath.Separator) + "a",
	} {
		if got := place.Short(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
