//go:build unix

package cleanroom

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// changeable reports whether the user, who is not root, can change what is at a path, or put something else there.
func changeable(path string) bool {
	if os.Geteuid() == 0 {
		return false
	}
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 && changeableBy(os.Geteuid(), path) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// changeableBy reports whether a user, who is not root, can change the file or directory at a path, whatever holds it. The groups of
// another user than this one are not known: one may be that of the file, and where an access list names users the bits of the group are what it
// grants at most.
func changeableBy(uid int, path string) bool {
	if uid == 0 {
		return false
	}
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err != nil || int(st.Uid) == uid:
		return true
	case uid == os.Geteuid():
		return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
	}
	return st.Mode&0o022 != 0
}
