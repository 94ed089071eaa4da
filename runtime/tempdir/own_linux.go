package tempdir

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// own has a directory be open to its owner, never one that a link leads to which somebody puts there meanwhile. fchmodat2(2), which can say that,
// is not to be had before Linux 6.6, and is refused with other errors by filters that do not know it: a handle of the directory is.
func own(in int, name string) error {
	var dir int
	err := again(func() (err error) {
		dir, err = unix.Openat(in, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(dir), 0o700, 0)
}
