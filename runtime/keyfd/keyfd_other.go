//go:build !linux

package keyfd

import "io/fs"

// protect has nothing to offer here: another process of the same user may be able to
// read the memory of this one.
func protect() string { return "this system does not keep other processes of the user from the key" }

func linked(fs.FileInfo) bool { return true }
