//go:build unix

package trial

import (
	"io/fs"
	"syscall"
)

func owner(info fs.FileInfo) ids {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return ids{int(st.Uid), int(st.Gid)}
	}
	return ids{-1, -1}
}
