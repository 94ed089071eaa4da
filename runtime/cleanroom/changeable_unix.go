//go:build unix

package cleanroom

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// changeable reports whether the user, who is not root, can change what is at a path, or put something else there.
func changeable(path string) bool {
	if os.Geteuid() == 0 {
		return false
	}
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok || int(st.Uid) == os.Geteuid() || unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil {
				return true
			}
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}
