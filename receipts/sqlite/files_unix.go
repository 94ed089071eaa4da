//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openRegular opens a file for reading and writing, and makes it where there is none:
// regular files only, never through a link, without waiting.
func openRegular(path string) (*os.File, error) {
	f, err := openOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (st.Nlink != 1 || int(st.Uid) != os.Geteuid()) {
			err = fmt.Errorf("%s is not this user's own", path)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openOwn opens a regular file as flag says, never through a link, without waiting. The error
// is errLink where a link stands at path.
func openOwn(path string, flag int) (*os.File, error) {
	fd, err := unix.Open(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, errLink
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// tryLock locks f against other processes, and reports whether it is ours. The lock ends
// when f is closed.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

const knowsOwners = true

// ownedBy returns the user that a file belongs to.
func ownedBy(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
