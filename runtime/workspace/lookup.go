package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Lookup returns what the snapshot has of the file at an absolute path: the SHA-256 of its raw
// content, and whether there is a file. A link is followed as it is now, since the snapshot knows
// links by their own content alone. counts is false if the file is outside of the worktree, or is
// there and hidden from the snapshot: an ignored file, a cache.
func (s *Snapshot) Lookup(path string) (sum [32]byte, holds, counts bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
			real = filepath.Dir(path)
		}
		real = filepath.Join(real, filepath.Base(path))
	}
	rel, ok := within(s.Root, real)
	if !ok || s.Root == "" {
		return sum, false, false
	}
	i, ok := slices.BinarySearchFunc(s.entries, rel, func(e entry, path string) int { return strings.Compare(e.path, path) })
	if ok && s.entries[i].kind.regular() {
		return s.entries[i].sum, true, true
	}
	_, err = os.Lstat(real)
	return sum, false, ok || errors.Is(err, fs.ErrNotExist)
}
