//go:build unix

package cleanroom

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestPlaceOfCheckouts: checkouts are kept in a folder that is this user's alone, that no link leads to, and that is beside the working tree.
func TestPlaceOfCheckouts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir, cache string) error
		root   string // of the working tree, below dir
		want   bool
	}{
		"beside the working tree": {nil, "p", true},
		"in the working tree":     {nil, ".", false},
		"around the working tree": {nil, "above/cache/p", false},
		"others may write it":     {func(_, cache string) error { return os.Chmod(cache, 0o777) }, "p", false},
		"of another user":         {func(_, cache string) error { return os.Chown(cache, 12345, -1) }, "p", false},
		"by a link": {func(dir, cache string) error {
			above, other := filepath.Dir(cache), filepath.Join(dir, "other")
			if err := os.Rename(above, other); err != nil {
				return err
			}
			return os.Symlink(other, above)
		}, "p", false},
	} {
		if name == "of another user" && os.Geteuid() != 0 {
			continue
		}
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		cache, root := filepath.Join(dir, "above", "cache"), filepath.Join(dir, c.root)
		for _, d := range []string{cache, root} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if c.change != nil {
			if err := c.change(dir, cache); err != nil {
				t.Fatal(err)
			}
		}
		r := &Room{o: Options{Cache: cache}, snapshot: &workspace.Snapshot{Root: root}}
		if got := r.kept(); (got == cache) != c.want || got != "" && got != cache {
			t.Errorf("%s: %q", name, got)
		}
	}
}
