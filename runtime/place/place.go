// Package place names places of the file system in messages, compares them, and says what is there.
package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// Short is path relative to the working directory where that is shorter. No command takes it for a flag.
func Short(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || len(rel) >= len(path) {
		return path
	}
	if strings.HasPrefix(rel, "-") {
		return "." + string(filepath.Separator) + rel
	}
	return rel
}

// From names path from the folder root, with slashes, so that a record says the same wherever its writer stood; path
// itself where that cannot be.
func From(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) { // one of them may be named through a link
		a, errA := Real(root)
		b, errB := Real(path)
		if errA == nil && errB == nil {
			rel, err = filepath.Rel(a, b)
		}
	}
	if err != nil {
		rel = path
	}
	return filepath.ToSlash(rel)
}

// Exists reports whether path leads to something: a link that leads nowhere does not.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TryWrite makes a file in a folder, and removes it: no right and no mount option says whether that works.
func TryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".dialect-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// Repository is the top of the worktree that dir is in; dir itself if it is in none.
func Repository(dir string) string {
	for at := range regular.Above(dir) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
	}
	return dir
}

// Real is path, of which the end may be missing, absolute and without links.
func Real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return real, err
	}
	real, err = Real(filepath.Dir(path))
	return filepath.Join(real, filepath.Base(path)), err
}

// Same reports whether two paths are of the same file.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// An ID tells a file from all others while it is there.
type ID struct{ Dev, Ino uint64 }
