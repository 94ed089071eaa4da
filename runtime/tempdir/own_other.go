//go:build unix && !linux

package tempdir

import "golang.org/x/sys/unix"

// own has a directory be open to its owner, never one that a link leads to which somebody puts there meanwhile.
func own(in int, name string) error { return unix.Fchmodat(in, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) }
