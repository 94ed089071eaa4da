package overlay

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpaqueName is the attribute by which a directory of a layer hides what the layers below have in its place.
const OpaqueName = "user.overlay.opaque"

// Opaque reports whether a directory has it.
func Opaque(dir *os.File) bool {
	value := make([]byte, 8)
	n, err := unix.Fgetxattr(int(dir.Fd()), OpaqueName, value)
	return err == nil && string(value[:n]) == "y"
}

// markPrefix begins the names of all attributes that an overlay reads. By others than [OpaqueName] a file is removed or cannot be opened, and a
// directory cannot be entered, or has marks of a further kind in it.
const markPrefix = "user.overlay."

// Marks returns the names of those that an open file or directory has.
func Marks(fd int) (names []string, err error) {
	n, err := unix.Flistxattr(fd, nil)
	if n == 0 && err == nil || err == unix.ENOTSUP {
		return nil, nil
	}
	list := make([]byte, max(n, 0))
	if err == nil {
		n, err = unix.Flistxattr(fd, list)
	}
	if err != nil {
		return nil, os.NewSyscallError("flistxattr", err)
	}
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if strings.HasPrefix(name, markPrefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Unmark takes marks away.
func Unmark(fd int, names []string) error {
	for _, name := range names {
		if err := unix.Fremovexattr(fd, name); err != nil {
			return os.NewSyscallError("fremovexattr", err)
		}
	}
	return nil
}

// removed reports whether a file is the mark of one that is removed.
func removed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}
