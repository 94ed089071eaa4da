//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// statTrusted says that a status has a change time that its owner cannot set, so
// that an unchanged status means unchanged content.
const statTrusted = true

// A folder is an open directory. Whatever is below it is reached by descriptor
// and one name at a time, never by path, and links are never followed: a directory
// that is swapped for a link while we read leads nowhere.
type folder struct {
	fd   int
	refs atomic.Int32
}

func newFolder(fd int) *folder {
	d := &folder{fd: fd}
	d.refs.Store(1)
	return d
}

// openRoot opens the directory at path; links in path are followed.
func openRoot(path string) (*folder, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return newFolder(fd), nil
}

// openat opens for reading. O_NONBLOCK: a FIFO that took the place of a file
// since it was looked at must not hold us.
func openat(at int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY|flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// info says what d is.
func (d *folder) info() (fs.FileInfo, error) {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "a directory")
	defer f.Close()
	return f.Stat()
}

// sub opens a directory inside d.
func (d *folder) sub(name string) (*folder, error) {
	fd, err := openat(d.fd, name, unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return newFolder(fd), nil
}

// retain adds a holder; the last release closes the directory.
func (d *folder) retain() { d.refs.Add(1) }

func (d *folder) release() {
	if d.refs.Add(-1) == 0 {
		_ = unix.Close(d.fd)
	}
}

// names lists d, in no order. buf is working memory.
func (d *folder) names(buf []byte) ([]string, error) {
	var names []string
	for {
		n, err := unix.ReadDirent(d.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// lstat says what name is, without following it.
func (d *folder) lstat(name string) (status, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return status{}, err
		}
		return makeStatus(&st), nil
	}
}

func makeStatus(st *unix.Stat_t) status {
	s := status{
		dev: uint64(st.Dev), ino: uint64(st.Ino), size: st.Size, mode: uint32(st.Mode),
		mtime: unix.TimespecToNsec(st.Mtim), ctime: unix.TimespecToNsec(st.Ctim),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.kind = kindFile
		if st.Mode&0o100 != 0 {
			s.kind = kindExec
		}
	case unix.S_IFLNK:
		s.kind = kindLink
	case unix.S_IFDIR:
		s.kind = kindFolder
	case unix.S_IFIFO:
		s.kind = kindFIFO
	case unix.S_IFSOCK:
		s.kind = kindSocket
	default:
		s.kind = kindDevice
	}
	return s
}

// readlink returns the target of a link.
func (d *folder) readlink(name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(d.fd, name, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// A handle is an open file.
type handle int

// open opens a file inside d for reading.
func (d *folder) open(name string) (handle, error) {
	fd, err := openat(d.fd, name, unix.O_NOFOLLOW)
	return handle(fd), err
}

// read returns 0 at the end of the file.
func (h handle) read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(int(h), buf)
		if err == unix.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

func (h handle) stat() (status, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return status{}, err
	}
	return makeStatus(&st), nil
}

func (h handle) close() { _ = unix.Close(int(h)) }

// swapped reports whether err says that the thing is of another kind than it was
// when it was looked at. EAGAIN comes from a FIFO, ENXIO from a socket or device.
func swapped(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EMLINK) ||
		errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ESTALE)
}
