package overlay

import (
	"io/fs"
	"os"
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

// removedName is the attribute by which an empty file is the mark of one that is removed.
const removedName = "user.overlay.whiteout"

// Removed reports whether a file has that: where it is empty a mount does not show it.
func Removed(name string) bool {
	_, err := unix.Lgetxattr(name, removedName, nil)
	return err == nil
}

// Marked reports whether a directory has [OpaqueName] with any value: there are others, by which files in it are such marks.
func Marked(dir *os.File) bool {
	_, err := unix.Fgetxattr(int(dir.Fd()), OpaqueName, nil)
	return err == nil
}

// Unmark takes that away.
func Unmark(dir *os.File) error {
	if err := unix.Fremovexattr(int(dir.Fd()), OpaqueName); err != nil {
		return &fs.PathError{Op: "remove an attribute", Path: dir.Name(), Err: err}
	}
	return nil
}

// removed reports whether a file is the mark of one that is removed.
func removed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}
