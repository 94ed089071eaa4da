package namespace

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// HoldControlGroups makes the control groups read-only in this mount namespace, whose mounts no other one sees any more. A
// desktop gives the groups of a session to its user: a process that writes there can freeze or end every process of a group,
// whatever domain that one is in, and join another group.
func HoldControlGroups() error {
	all, err := Mounts()
	if err != nil {
		return err
	}
	for _, m := range all {
		if !strings.HasPrefix(m.Kind, "cgroup") {
			continue
		}
		err := unix.MountSetattr(unix.AT_FDCWD, m.At, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err != nil && err != unix.ENOENT && err != unix.EINVAL { // another mount hides it
			return &os.PathError{Op: "make read-only", Path: m.At, Err: err}
		}
	}
	return nil
}
