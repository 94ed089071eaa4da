package namespace

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Hide mounts over what fd has open: an empty directory over a directory, the null device over all else. gone reports that it was removed
// since it was opened, as a server removes its socket when it ends; by now something else may have its name.
func Hide(fd int, dir bool) (gone bool, err error) {
	at := "/proc/self/fd/" + strconv.Itoa(fd)
	if dir {
		err = unix.Mount("dialect", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700")
	} else {
		if err := unix.Access(os.DevNull, unix.F_OK); err != nil { // without it, mount fails with ENOENT, too
			return false, &os.PathError{Op: "mask", Path: os.DevNull, Err: err}
		}
		err = unix.Mount(os.DevNull, at, "", unix.MS_BIND, "")
	}
	if err == unix.ENOENT {
		return true, nil
	}
	return false, err
}
