//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openRegular opens a file for reading and writing, and makes it where there is none:
// regular files only, never through a link, without waiting.
func openRegular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	} else if st, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && (st.Nlink != 1 || int(st.Uid) != os.Geteuid()) {
		err = fmt.Errorf("%s is not this user's own", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// tryLock locks f against other processes, and reports whether it is ours. The lock ends
// when f is closed.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// ownedBy returns the user that a file belongs to.
func ownedBy(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
