package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error of a path that SQLite does not open names its length, and not a broken store.
func TestLongPath(t *testing.T) {
	for n, long := range map[int]bool{longPath - 20: false, 700: true} {
		dir := t.TempDir()
		for len(dir)+len("/s.db") < n {
			dir = filepath.Join(dir, strings.Repeat("d", min(200, max(n-len(dir)-len("//s.db"), 1))))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Skip(err)
		}
		s, err := Open(t.Context(), filepath.Join(dir, "s.db"), Options{})
		if errors.Is(err, ErrLongPath) != long || !long && err != nil {
			t.Errorf("%d bytes: %v", len(dir)+len("/s.db"), err)
		}
		if err == nil {
			s.Close()
		}
	}
}
