//go:build unix

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenRegular opens what stands at the place of a memory: the user's own files alone.
func TestOpenRegular(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(path string) error
		ok   bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"a file", func(path string) error { return os.WriteFile(path, nil, 0o600) }, true},
		{"a symbolic link", func(path string) error {
			if err := os.WriteFile(path+"-target", nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(path+"-target", path)
		}, false},
		{"a hard link", func(path string) error {
			if err := os.WriteFile(path+"-target", nil, 0o600); err != nil {
				return err
			}
			return os.Link(path+"-target", path)
		}, false},
		{"a pipe", func(path string) error { return unix.Mkfifo(path, 0o600) }, false},
		{"a file of another user", func(path string) error {
			if os.Getuid() != 0 {
				return os.Symlink("x", path) // only root can give a file away
			}
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				return err
			}
			return os.Chown(path, 65534, -1)
		}, false},
	} {
		path := filepath.Join(t.TempDir(), "memory")
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		f, err := openRegular(path)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			f.Close()
		}
	}
}

// TestLinkedFiles: what SQLite writes beside a store, and as root gives to the store's owner, is a file of one name.
func TestLinkedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	openWith(t, path, Options{}).Close()
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		mine := filepath.Join(t.TempDir(), "mine")
		if err := errors.Join(os.WriteFile(mine, []byte("x"), 0o600), os.Link(mine, path+suffix)); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Options{})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "a hard link: replace it with a copy") {
			t.Errorf("%s: %v", suffix, err)
		}
		if b, err := os.ReadFile(mine); string(b) != "x" {
			t.Errorf("%s: %q, %v", suffix, b, err)
		}
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWritableAgain holds that a store which could not be written for a while, and was read, takes records as soon as it can. For root
// it always did.
func TestWritableAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	fill(t, s, "r-1", 1)
	s.Close()
	for _, suffix := range []string{"-wal", "-shm"} { // as a reader leaves them
		if err := os.WriteFile(path+suffix, nil, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path+suffix, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	s = openAt(t, path)
	defer s.Close()
	fill(t, s, "r-2", 1)
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Lstat(path + suffix); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
	}
}
