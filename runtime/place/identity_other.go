//go:build !unix

package place

import "io/fs"

// Identity is not known here.
func Identity(fs.FileInfo) (id ID, ok bool) { return ID{}, false }
