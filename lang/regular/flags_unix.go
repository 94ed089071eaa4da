//go:build unix

package regular

import (
	"io/fs"
	"syscall"
)

const (
	nonBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
	openable = noFollow
)

func before(string, int) error { return nil }

// Owner returns the user that a file belongs to: os.Geteuid() for one of this process. Where the system has no such
// users it is -1, as os.Geteuid() is there.
func Owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
