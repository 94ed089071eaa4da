//go:build unix

package tempdir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// deepest is how many directories, one in the other, are open at once.
const deepest = 32

// patience is how long what is removed may go on getting new files, and lateRounds for how many reads of a directory after that.
const (
	patience   = 2 * time.Second
	lateRounds = 8
)

// errComing says that somebody makes new files where others are removed.
var errComing = errors.New("files come while it is removed: what makes them has to end first")

// RemoveAll removes path with all that is in it, directories that their owner may not write included. What is in it may be hostile: directories
// deeper in each other than deepest are moved up first, so that depth costs neither descriptors nor more than one move each. It gives up where
// files go on coming.
func RemoveAll(path string) error {
	parent, err := os.Open(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	r := &remover{top: -1, start: time.Now()}
	if err := r.remove(int(parent.Fd()), filepath.Base(path), 0); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// A remover empties one directory.
type remover struct {
	top   int // that directory; -1 before it is open
	moved int // what was moved up into it

	start time.Time
	late  int // reads of directories, in succession, after patience, that began with what is newer than start
}

// coming reports whether files go on coming into a directory in which names were read.
func (r *remover) coming(dir int, names []string) bool {
	if r.late > lateRounds || time.Since(r.start) < patience {
		return r.late > lateRounds
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, names[0], &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err != nil || r.moved > 0 && strings.HasPrefix(names[0], lifted): // renamed here
	case time.Unix(st.Ctim.Unix()).After(r.start):
		r.late++
	default:
		r.late = 0
	}
	return r.late > lateRounds
}

// lifted begins the names of what is moved up.
const lifted = "dialect-"

// remove removes what a directory has under a name, depth levels below the first.
func (r *remover) remove(in int, name string, depth int) error {
	err := again(func() error { return unix.Unlinkat(in, name, 0) })
	if err == nil || err == unix.ENOENT {
		return nil
	}
	switch e := again(func() error { return unix.Unlinkat(in, name, unix.AT_REMOVEDIR) }); {
	case e == nil || e == unix.ENOENT:
		return nil
	case e == unix.ENOTDIR:
		return err
	case e != unix.ENOTEMPTY && e != unix.EEXIST && e != unix.EACCES && e != unix.EPERM:
		return e
	}
	dir, err := opened(in, name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if depth == deepest {
		return r.lift(in, name)
	}
	if r.top < 0 {
		r.top = dir
	}
	if err := r.empty(dir, depth); err != nil {
		return err
	}
	return again(func() error { return unix.Unlinkat(in, name, unix.AT_REMOVEDIR) })
}

// opened opens a directory so that what is in it can be read and removed.
func opened(in int, name string) (dir int, err error) {
	open := func() error {
		dir, err = unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	}
	if err = again(open); err == unix.EACCES {
		if err = own(in, name); err == nil {
			err = again(open)
		}
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if unix.Fstat(dir, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(dir, 0o700) // else what is in it stays, and the error says so
	}
	return dir, nil
}

// lift moves a directory into the first one.
func (r *remover) lift(in int, name string) error {
	for {
		r.moved++
		err := again(func() error { return unix.Renameat(in, name, r.top, lifted+strconv.Itoa(r.moved)) })
		if err != unix.ENOTEMPTY && err != unix.EEXIST && err != unix.ENOTDIR { // else it has something of that name
			return err
		}
	}
}

// empty removes what is in a directory.
func (r *remover) empty(dir, depth int) error {
	const chunk = 1024
	for {
		// From its begin, as what was removed may hide others from a reader.
		fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "")
		names, err := f.Readdirnames(chunk)
		f.Close()
		if len(names) == 0 {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if r.coming(dir, names) {
			return errComing
		}
		var first error
		done := 0
		for _, name := range names {
			if err := r.remove(dir, name, depth+1); err == nil {
				done++
			} else if first == nil {
				first = err
			}
		}
		if first != nil && done == 0 {
			return first
		}
	}
}

// again calls do until no signal interrupts it.
func again(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}
