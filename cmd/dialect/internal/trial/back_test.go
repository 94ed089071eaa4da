//go:build unix

package trial

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestEditedSince has somebody save a file after the line that changed it had ended: that stays, and the others are put back.
func TestEditedSince(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, text string) {
		t.Helper()
		if is, err := os.ReadFile(name); err != nil || string(is) != text {
			t.Errorf("%s: %q, %v; want %q", name, is, err, text)
		}
	}
	write("a", "before\n")
	write("b", "before\n")
	k := newKeeper(t.Context(), dir, workspace.Options{}, nil)
	defer k.close()
	if err := k.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write("a", "line\n")
	write("b", "line\n")
	after, err := k.tracker.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write("a", "edited\n")
	was := k.files(k.base)
	k.bring(t.Context(), was, after, k.names(k.base, after, was), "1")
	want(filepath.Join(dir, "a"), "edited\n")
	want(filepath.Join(dir, "b"), "before\n")
	want(filepath.Join(k.dir, "kept", "1", "a"), "before\n")
	want(filepath.Join(k.dir, "after-1", "b"), "line\n")
}
