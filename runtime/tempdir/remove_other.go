//go:build !unix

package tempdir

import "os"

// RemoveAll removes path with all that is in it.
func RemoveAll(path string) error { return os.RemoveAll(path) }
