package regular_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/command-dialect/dialect/lang/regular"
)

// The name of a folder stands for itself: nothing of a sibling is found.
func TestIn(t *testing.T) {
	parent := t.TempDir()
	for _, dir := range []string{"pro?", "proj", "a[b]", "ab", "*"} {
		if err := os.MkdirAll(filepath.Join(parent, dir, "sub"), 0o700); err != nil {
			t.Skip(err) // a system that has no such names
		}
		for _, name := range []string{"r-" + dir, "x", "sub/r-1"} {
			if err := os.WriteFile(filepath.Join(parent, dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{"pro?", "a[b]", "*"} {
		dir := filepath.Join(parent, dir)
		if got, want := regular.In(dir, "r-*"), []string{filepath.Join(dir, "r-"+filepath.Base(dir))}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := regular.In(dir, "*/r-*"), []string{filepath.Join(dir, "sub", "r-1")}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := regular.In(filepath.Join(parent, "none"), "*"); got != nil {
		t.Errorf("%q", got)
	}
}
