//go:build !unix

package git

import "io/fs"

// foreign cannot be told here: git itself refuses what it does not trust.
func foreign(fs.FileInfo) bool { return false }
