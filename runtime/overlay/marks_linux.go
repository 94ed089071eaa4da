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

// removed reports whether a file is the mark of one that is removed.
func removed(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}
