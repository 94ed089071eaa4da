//go:build unix

package regular

import (
	"io/fs"
	"os"
	"syscall"
)

// Inherit gives the new file to, which takes the place of the file from, the owner, the group and the ACL of that, and the permissions
// perm. Where this process may not give it the group, nobody may do with it what the group could not, and the group that it has may do nothing;
// where it may not give it the ACL, or the group of a file with one, only its owner may do anything. It gives it no other attributes.
func Inherit(to, from *os.File, perm fs.FileMode) error {
	was, err := from.Stat()
	if err != nil {
		return err
	}
	is, err := to.Stat()
	if err != nil {
		return err
	}
	old, ok := was.Sys().(*syscall.Stat_t)
	now, same := is.Sys().(*syscall.Stat_t)
	if !ok || !same {
		return to.Chmod(perm & 0o700)
	}
	group := true
	if (old.Uid != now.Uid || old.Gid != now.Gid) && to.Chown(int(old.Uid), int(old.Gid)) != nil && old.Gid != now.Gid && to.Chown(-1, int(old.Gid)) != nil {
		group = false
	}
	switch has, ok := inheritACL(to, from); {
	case !ok, has && !group: // of an ACL the bits of the group are the mask, which says nothing of the group itself
		perm &= 0o700
	case !group:
		perm &= 0o700 | perm>>3&0o7 // who was in the group is one of the others now
	}
	return to.Chmod(perm) // last: of an ACL these are the entries of the owner and the others, and the mask
}
