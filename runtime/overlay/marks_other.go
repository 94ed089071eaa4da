//go:build !linux

package overlay

import (
	"io/fs"
	"os"
)

// Opaque is for systems that have overlays.
func Opaque(*os.File) bool { return false }

func removed(fs.FileInfo) bool { return false }
