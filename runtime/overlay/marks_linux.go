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

// isMark reports whether an attribute of that name decides what a command sees, or what becomes of its own files. An overlay reads those of
// "user.overlay.": by others than [OpaqueName] a file is removed or cannot be opened, and a directory cannot be entered, or has marks of a further
// kind in it. A directory hands its list of permissions for new files on to what is made in it. The other ones of the user, and the privileges that
// a program of the user can have in a namespace, a command can look at. What is left alone a user cannot set, or some file systems give to each file.
func isMark(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
}

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
		if isMark(name) {
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

// Bare takes the marks away from a directory that was just made: it has those that the one above it hands on.
func Bare(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := Marks(int(f.Fd()))
	if err != nil {
		return err
	}
	return Unmark(int(f.Fd()), names)
}

// removed reports whether a file is the mark of one that is removed.
func removed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}
