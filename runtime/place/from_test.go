package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/place"
)

// TestFrom: a record names a file from the root, also where one of the two is named through a link.
func TestFrom(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "p")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("p", link); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct{ root, path, want string }{
		{root, filepath.Join(root, "q.dlct"), "q.dlct"},
		{root, filepath.Join(root, "sub", "q.dlct"), "sub/q.dlct"},
		{root, root, "."},
		{root, filepath.Join(link, "sub", "q.dlct"), "sub/q.dlct"},
		{link, filepath.Join(root, "q.dlct"), "q.dlct"},
		{root, filepath.Join(dir, "q.dlct"), "../q.dlct"},
	} {
		if got := place.From(tt.root, tt.path); got != tt.want {
			t.Errorf("From %s, %s: %s, want %s", tt.root, tt.path, got, tt.want)
		}
	}
}
