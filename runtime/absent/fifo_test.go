//go:build unix

package absent_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/absent"
)

// Whatever is a FIFO, the search does not wait for a writer, and no link leads it out of the working tree.
func TestOfOthers(t *testing.T) {
	dir := t.TempDir()
	root, out := filepath.Join(dir, "project"), filepath.Join(dir, "out")
	for _, name := range []string{root + "/mods/lib/python3", out + "/private", root + "/dirs"} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mods/@x", "mods/p", "pipe", "mods/lib/python3/site-packages", ".env", "mods/lib/python2"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"mods/@out": out, "mods/@up": "../..", "dirs/l": out} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	o := absent.Options{Root: root, Ignored: func(string) bool { return true }, Hidden: func(string) (string, bool) { return "", false }, Output: []byte("pipe, @out/private, private, @up/out")}
	done := make(chan []string, 1)
	go func() { done <- absent.Find(t.Context(), o) }()
	select {
	case got := <-done:
		if want := []string{"pipe, which its output names"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a writer")
	}
}
