package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/command-dialect/dialect/receipts/verify"
)

// StateFile returns the path of the file in the folder of a verifier where it keeps how far
// it has audited a store. There is one, whatever the store is called: else a store under
// another name would be one that nobody knows.
func StateFile(dir string) string { return filepath.Join(dir, "store.audit") }

// StateProtects reports whether a folder of a verifier belongs to another user than the
// store: in one of the same user the writers of the store write too.
func StateProtects(dir, store string) (bool, error) {
	d, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	s, err := os.Lstat(store)
	for at := filepath.Dir(store); errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); at = filepath.Dir(at) {
		s, err = os.Stat(at) // the folder that it would be in
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
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	kept, err := openOwn(StateFile(dir), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer kept.Close()
	if !tryLock(kept) { // another process may be at it, and who waits for that looks again
		return nil
	}
	if m, err := verify.Recollect(kept, ""); err != nil {
		return err
	} else if m.Unread() {
		return unread(StateFile(dir))
	}
	return nil
}
