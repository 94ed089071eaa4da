//go:build unix

package git

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether a file belongs to another user than this process runs as.
func foreign(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) != os.Geteuid()
}
