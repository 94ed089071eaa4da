//go:build !unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
)

func openRegular(path string) (*os.File, error) { return openOwn(path, os.O_RDWR|os.O_CREATE) }

// openOwn looks at the name first, where opening cannot be asked not to follow a link.
func openOwn(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, flag, 0o600)
}

// Without a lock nothing is kept: two writers would tear it.
func tryLock(*os.File) bool { return false }

const knowsOwners = false

// ownedBy returns one user for all files: which of them it is cannot be asked.
func ownedBy(fs.FileInfo) int { return os.Geteuid() }

// linked cannot be asked here.
func linked(fs.FileInfo) bool { return false }
