//go:build unix

package inputs

import (
	"errors"
	"syscall"
)

// openFlags keep a FIFO from making dialect wait for a writer.
const openFlags = syscall.O_NONBLOCK

// isNotDir reports whether err says that a part of a path is a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
