package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// StateFile returns the path of the file in the folder of a verifier where it keeps how far
// it has audited the store at a path, which need not be there any more.
func StateFile(dir, store string) (string, error) {
	name, err := filepath.EvalSymlinks(store)
	if errors.Is(err, fs.ErrNotExist) {
		if name, err = filepath.EvalSymlinks(filepath.Dir(store)); err == nil {
			name = filepath.Join(name, filepath.Base(store))
		}
	}
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".audit"), nil
}

// StateProtects reports whether a folder of a verifier belongs to another user than the
// store: one of the same user is no better than a file beside the store.
func StateProtects(dir, store string) (bool, error) {
	d, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	s, err := os.Lstat(store)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = os.Stat(filepath.Dir(store))
	}
	return err == nil && ownedBy(d) != ownedBy(s), err
}

// CheckState reports why a folder cannot be that of a verifier; see [Options].State. It
// makes the folder if it is missing.
func CheckState(dir string) error {
	if err := privateDir(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".dialect-state-")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", dir, err)
	}
	f.Close()
	return os.Remove(f.Name())
}
