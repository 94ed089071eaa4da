//go:build unix

package inputs

import (
	"errors"
	"syscall"
)

// isNotDir reports whether err says that a part of a path is a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
