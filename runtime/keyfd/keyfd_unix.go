//go:build unix

package keyfd

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExec marks a descriptor, and all others of the same pipe or file: bash's 3< <(cat key) leaves one more, by another number.
func closeOnExec(fd int) {
	unix.CloseOnExec(fd)
	var key, other unix.Stat_t
	open, err := os.ReadDir("/dev/fd")
	if err != nil || unix.Fstat(fd, &key) != nil {
		return
	}
	for _, d := range open {
		n, err := strconv.Atoi(d.Name())
		if err == nil && n > 2 && unix.Fstat(n, &other) == nil && other.Dev == key.Dev && other.Ino == key.Ino {
			unix.CloseOnExec(n)
		}
	}
}
