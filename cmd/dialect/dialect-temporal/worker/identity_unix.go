//go:build unix

package worker

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity is what a command cannot put back that has changed a file. A pack is the same file in all checkouts of a commit, and each
// link to it changes its time.
func identity(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	if st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		return fmt.Sprint(st.Ino), nil
	}
	return fmt.Sprint(st.Ino, " ", st.Ctim.Nano()), nil
}
