//go:build !unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
)

func openRegular(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// Without a lock nothing is kept: two writers would tear it.
func tryLock(*os.File) bool { return false }

func ownedBy(fs.FileInfo) int { return os.Geteuid() }
