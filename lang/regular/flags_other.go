//go:build !unix

package regular

import (
	"io/fs"
	"os"
)

const (
	nonBlock = 0
	noFollow = 1 // for before alone
	openable = 0
)

// before looks at the name, where opening cannot be asked not to follow a link.
func before(name string, flags int) error {
	if flags&noFollow == 0 {
		return nil
	}
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrKind}
	}
	return err
}

// Inherit gives the new file to the permissions perm. What else the file from has that it replaces is not looked at on this system.
func Inherit(to, from *os.File, perm fs.FileMode) error { return to.Chmod(perm) }

// Owner is -1, as os.Geteuid() is: this system has no such users.
func Owner(fs.FileInfo) int { return -1 }
