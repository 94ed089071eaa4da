//go:build !unix

package git

import "io/fs"

// foreign is not known here: git itself refuses what it does not trust.
func foreign(fs.FileInfo) bool { return false }
