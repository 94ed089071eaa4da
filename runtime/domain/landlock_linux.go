//go:build linux && !portable

package domain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
)

const (
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	dirRights = unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	allRights = fileRights | dirRights
)

// restrict puts the calling thread, and what it starts, into a Landlock domain. With a folder everything but that is granted; without one
// no file access is touched, and mounts stay possible.
func restrict(folder string) error {
	if folder == "" {
		return namespace.Restrict(0, nil)
	}
	return namespace.Restrict(allRights, func(ruleset int) error { return grantAllBut(ruleset, folder) })
}

// grantAllBut grants all rights to everything but folder, a path without links. Landlock has no rule that takes away, so the entries of each
// directory on the way to the folder are granted, apart from the one that leads on. Links are left out: a rule follows
// them, and one could lead into the folder.
func grantAllBut(ruleset int, folder string) error {
	var hidden unix.Stat_t
	if err := unix.Lstat(folder, &hidden); err != nil {
		return &os.PathError{Op: "lstat", Path: folder, Err: err}
	}
	if err := grant(ruleset, "/", unix.LANDLOCK_ACCESS_FS_READ_DIR, nil); err != nil {
		return err
	}
	dir := "/"
	for word := range strings.SplitSeq(strings.Trim(filepath.Clean(folder), "/"), "/") {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Name() == word || e.Type() == os.ModeSymlink {
				continue
			}
			err := grant(ruleset, filepath.Join(dir, e.Name()), allRights, &hidden)
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
				return err
			}
		}
		dir = filepath.Join(dir, word)
	}
	return nil
}

// grant adds a rule for the file or directory at path, unless it is a link, or the hidden one under another name.
func grant(ruleset int, path string, rights uint64, hidden *unix.Stat_t) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK, hidden != nil && st.Dev == hidden.Dev && st.Ino == hidden.Ino:
		return nil
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule: %s: %w", path, errno)
	}
	return nil
}
