package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The calls of the system that SQLite makes by a path, as it calls them. They return -1 with an error.
type (
	opener  = func(tls *libc.TLS, path uintptr, flags, mode int32) int32 // a descriptor
	remover = func(tls *libc.TLS, path uintptr) int32
	chowner = func(tls *libc.TLS, fd int32, uid, gid uint32) int32
	chmoder = func(tls *libc.TLS, fd int32, mode uint32) int32
)

// What SQLite brings.
var (
	plainOpen   opener
	plainRemove remover
)

// keepBeside has SQLite make, open and remove the files beside a database without following a link anywhere in the path. It has resolved the links of a
// database's path before; who can exchange a folder for a link since then, while it waits for a lock, would else have it do that where the link leads, and
// root give away what it makes (https://www.sqlite.org/c3ref/vfs.html, xSetSystemCall).
var keepBeside = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	at := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if at == 0 {
		return errors.New("SQLite has no file system")
	}
	vfs := *(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&at))
	get := *(*func(*libc.TLS, uintptr, uintptr) uintptr)(unsafe.Pointer(&struct{ uintptr }{vfs.FxGetSystemCall}))
	set := *(*func(*libc.TLS, uintptr, uintptr, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{vfs.FxSetSystemCall}))
	replace := func(call string, ours any) (old uintptr, err error) {
		name, err := libc.CString(call)
		if err != nil {
			return 0, err
		}
		defer libc.Xfree(tls, name)
		if old = get(tls, at, name); old == 0 || set(tls, at, name, (*[2]uintptr)(unsafe.Pointer(&ours))[1]) != sqlite3.SQLITE_OK {
			return 0, errors.New("SQLite takes no other way to " + call + " files")
		}
		return old, nil
	}
	old, err := replace("open", openBeside)
	if err != nil {
		return err
	}
	plainOpen = *(*opener)(unsafe.Pointer(&struct{ uintptr }{old}))
	if old, err = replace("unlink", removeBeside); err != nil {
		return err
	}
	plainRemove = *(*remover)(unsafe.Pointer(&struct{ uintptr }{old}))
	// SQLite gives what is beside a database the owner and the mode of what stands at the database's path then. openBeside knows whose the database is.
	if _, err = replace("fchown", chowner(func(*libc.TLS, int32, uint32, uint32) int32 { return 0 })); err == nil {
		_, err = replace("fchmod", chmoder(func(*libc.TLS, int32, uint32) int32 { return 0 }))
	}
	return err
})

// isBeside reports whether path is that of a file which SQLite keeps beside a database.
func isBeside(path string) bool {
	return filepath.IsAbs(path) && slices.ContainsFunc(besides, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// isSuper reports whether path is that of a journal of several databases, which a journal of one can name, anywhere. No transaction here is of several, so
// somebody else wrote that (https://www.sqlite.org/fileformat.html#the_rollback_journal).
func isSuper(path string) bool {
	i := len(path) - len("-mj012345678")
	return i >= 0 && path[i:i+3] == "-mj" && strings.Trim(path[i+3:], "0123456789abcdefABCDEF") == ""
}

// failed tells SQLite of an error.
func failed(tls *libc.TLS, err error) int32 {
	errno := unix.EIO
	errors.As(err, &errno)
	libc.AtomicStorePInt32(libc.X__errno_location(tls), int32(errno))
	return -1
}

// openBeside is an [opener].
func openBeside(tls *libc.TLS, name uintptr, flags, mode int32) int32 {
	path := libc.GoString(name)
	if isSuper(path) {
		return failed(tls, unix.EACCES)
	}
	if !isBeside(path) {
		return plainOpen(tls, name, flags|unix.O_NONBLOCK, mode) // for a FIFO in the place of a database
	}
	dir, err := openFolder(path)
	if err != nil {
		return failed(tls, err)
	}
	defer unix.Close(dir)
	base, flag := filepath.Base(path), int(flags)|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK
	for tries := 0; ; tries++ {
		fd, err := unix.Openat(dir, base, flag&^unix.O_CREAT, uint32(mode))
		made := err == unix.ENOENT && flag&unix.O_CREAT != 0
		if made {
			if fd, err = unix.Openat(dir, base, flag|unix.O_EXCL, 0o600); err == nil {
				if err = giveAway(path, fd); err != nil {
					_ = unix.Unlinkat(dir, base, 0)
					unix.Close(fd)
				}
			}
		}
		if err == nil && !made && os.Geteuid() == 0 {
			if err = ofDatabase(path, fd); err != nil {
				unix.Close(fd)
			}
		}
		switch {
		case err == nil:
			return int32(fd)
		case tries < 100 && (made && err == unix.EEXIST || err == unix.EACCES && os.Geteuid() == 0):
			time.Sleep(time.Millisecond) // another process is just making it, and, as root, has not given it away yet
		default:
			return failed(tls, err)
		}
	}
}

// giveAway gives a file that was just made, at a path beside a database, the owner and the mode of the database, where that is known.
func giveAway(path string, fd int) error {
	base, ok := baseOf(path)
	if !ok {
		return nil
	}
	if os.Geteuid() == 0 {
		if err := unix.Fchown(fd, int(base.Uid), int(base.Gid)); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, base.Mode&0o777)
}

// owners are what is known of the databases that SQLite has opened, by their paths, as they were held: what stands at a path later may be another file.
var owners sync.Map // of unix.Stat_t

// baseOf returns what is known of the database of a file beside it.
func baseOf(path string) (base unix.Stat_t, ok bool) {
	v, ok := owners.Load(path[:strings.LastIndexByte(path, '-')])
	if ok {
		base = v.(unix.Stat_t)
	}
	return base, ok
}

// own notes whose the database is that is held as f, and that SQLite opens at path, whose links it resolves.
func own(path string, f *os.File) error {
	var base unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &base)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		owners.Store(path, base)
	}
	return err
}

// ofDatabase returns an error unless the file that is open as fd, at a path beside a database, is a regular one of the owner of that database, and has no other
// name: SQLite writes into it. The owner of the folder can move any file of root there that lies in another of its folders.
func ofDatabase(path string, fd int) error {
	var file unix.Stat_t
	if err := unix.Fstat(fd, &file); err != nil {
		return err
	}
	base, known := baseOf(path)
	if file.Mode&unix.S_IFMT != unix.S_IFREG || file.Nlink != 1 || !known || file.Uid != base.Uid {
		return unix.EACCES
	}
	return nil
}

// removeBeside is a [remover].
func removeBeside(tls *libc.TLS, name uintptr) int32 {
	path := libc.GoString(name)
	if isSuper(path) {
		return failed(tls, unix.EACCES)
	}
	if !isBeside(path) {
		return plainRemove(tls, name)
	}
	dir, err := openFolder(path)
	if err == nil {
		defer unix.Close(dir)
		err = unix.Unlinkat(dir, filepath.Base(path), 0)
	}
	if err != nil {
		return failed(tls, err)
	}
	return 0
}

// openFolder opens the folder of an absolute path, of which no part is a link.
func openFolder(path string) (int, error) {
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for name := range strings.SplitSeq(filepath.Dir(path), "/") {
		if err != nil {
			return -1, err
		}
		if name == "" {
			continue
		}
		var next int
		next, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		dir = next
	}
	return dir, err
}
