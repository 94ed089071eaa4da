//go:build !linux

package overlay

import (
	"io/fs"
	"os"
)

// Only Linux has overlays: elsewhere no directory has a mark of one.

const OpaqueName = "user.overlay.opaque"

func Opaque(*os.File) bool { return false }

func Marks(int) ([]string, error) { return nil, nil }

func Unmark(int, []string) error { return nil }

// Bare likewise.
func Bare(string) error { return nil }

func removed(fs.FileInfo) bool { return false }
