//go:build unix

package place

import (
	"io/fs"
	"syscall"
)

// Identity returns what tells a file from all others while it is there.
func Identity(info fs.FileInfo) (id ID, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Ino == 0 {
		return ID{}, false
	}
	return ID{uint64(st.Dev), uint64(st.Ino)}, true
}
