//go:build unix

package policy

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// own returns an error if another user owns, or could write, what info is about.
func own(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to the user %d: a pin counts only if you own it; remove it, or chown it", path, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write %s: a pin counts only if nobody else can change it; run `chmod go-w %s` and `dialect trust`", path, path)
	}
	return nil
}
