package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// An opener is open(2), as SQLite calls it: a path, flags and a mode. It returns a descriptor, or -1.
type opener = func(tls *libc.TLS, path uintptr, flags, mode int32) int32

var plainOpen opener // the one that SQLite brings

// keepBeside has SQLite make and open the files beside a database without following a link anywhere in the path. It has resolved the links of a database's path
// before; who can exchange a folder for a link since then, while it waits for a lock, would else have it make files where that leads, and root give them away
// (https://www.sqlite.org/c3ref/vfs.html, xSetSystemCall).
var keepBeside = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString("open")
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, name)
	at := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if at == 0 {
		return errors.New("SQLite has no file system")
	}
	vfs := *(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&at))
	get := vfs.FxGetSystemCall
	old := (*(*func(*libc.TLS, uintptr, uintptr) uintptr)(unsafe.Pointer(&struct{ uintptr }{get})))(tls, at, name)
	plainOpen = *(*opener)(unsafe.Pointer(&struct{ uintptr }{old}))
	var ours any = openBeside
	set := vfs.FxSetSystemCall
	if rc := (*(*func(*libc.TLS, uintptr, uintptr, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{set})))(tls, at, name, (*[2]uintptr)(unsafe.Pointer(&ours))[1]); rc != sqlite3.SQLITE_OK {
		return errors.New("SQLite takes no other way to open files")
	}
	return nil
})

// openBeside is an [opener].
func openBeside(tls *libc.TLS, name uintptr, flags, mode int32) int32 {
	path := libc.GoString(name)
	if !filepath.IsAbs(path) || !strings.HasSuffix(path, "-wal") && !strings.HasSuffix(path, "-shm") && !strings.HasSuffix(path, "-journal") {
		return plainOpen(tls, name, flags, mode)
	}
	fd, err := openUnlinked(path, int(flags), uint32(mode))
	var errno unix.Errno
	if errors.As(err, &errno) {
		libc.AtomicStorePInt32(libc.X__errno_location(tls), int32(errno))
		return -1
	}
	return int32(fd)
}

// openUnlinked opens the file at an absolute path, of which no part is a link.
func openUnlinked(path string, flags int, mode uint32) (int, error) {
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	names := strings.Split(strings.Trim(path, "/"), "/")
	for _, name := range names[:len(names)-1] {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		dir = next
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return unix.Openat(dir, names[len(names)-1], flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
}
