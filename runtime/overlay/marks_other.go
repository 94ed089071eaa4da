//go:build !linux

package overlay

import (
	"io/fs"
	"os"
)

// Opaque is for systems that have overlays.
func Opaque(*os.File) bool { return false }

// Removed is for such systems, too.
func Removed(string) bool { return false }

// Marked as well.
func Marked(*os.File) bool { return false }

// Unmark, too.
func Unmark(*os.File) error { return nil }

func removed(fs.FileInfo) bool { return false }
