//go:build linux

package overlay

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
)

// The marks of the kernel hide what is below them.
func TestMarks(t *testing.T) {
	dir := t.TempDir()
	up, mid, low := filepath.Join(dir, "up"), filepath.Join(dir, "mid"), filepath.Join(dir, "low")
	put(t, up, "opaque/new", "merged/")
	put(t, mid, "opaque/mid", "merged/mid")
	put(t, low, "opaque/low", "gone/x", "file", "merged/low", "merged/file")
	for _, name := range []string{filepath.Join(up, "gone"), filepath.Join(mid, "file"), filepath.Join(mid, "merged/file"), filepath.Join(mid, "opaque/new")} {
		if err := unix.Mknod(name, unix.S_IFCHR, 0); errors.Is(err, unix.EPERM) {
			t.Skip("no such marks can be made here")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(filepath.Join(up, "opaque"), OpaqueName, []byte("y"), 0); err != nil {
		t.Skip("no attributes of the user here: ", err)
	}
	want := []string{"merged/", "merged/low low:merged/low", "merged/mid mid:merged/mid", "opaque/", "opaque/new up:opaque/new"}
	files := tree(t, []string{up, mid, low})
	if got := all(t, files); !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
	for _, name := range []string{"gone/x", "gone", "file", "merged/file", "opaque/low"} {
		if _, err := files.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No look at a FIFO waits for a writer.
func TestFIFO(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "d/")
	if err := unix.Mkfifo(filepath.Join(dir, "d/p"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range []Files{tree(t, []string{dir}), rootOf(t, dir)} {
		done := make(chan error, 2)
		go func() {
			_, err := files.Open("d/p")
			done <- err
			done <- files.ReadDir("d/p", func([]fs.DirEntry) error { return nil })
		}()
		for _, want := range []error{regular.ErrKind, unix.ENOTDIR} {
			select {
			case err := <-done:
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits for a writer")
			}
		}
	}
}
