//go:build !linux

package overlay

import (
	"io/fs"
	"os"
)

// OpaqueName is of systems that have overlays.
const OpaqueName = "user.overlay.opaque"

// Opaque is for those.
func Opaque(*os.File) bool { return false }

// Marks is, too.
func Marks(int) ([]string, error) { return nil, nil }

// Unmark as well.
func Unmark(int, []string) error { return nil }

func removed(fs.FileInfo) bool { return false }
