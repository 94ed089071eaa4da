package sqlite

import (
	"fmt"
	"os"
)

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
