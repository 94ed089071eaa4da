package namespace

import (
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseInherited has the descriptors that nobody here opened closed by the execve: one of a directory would lead out of the
// room.
func CloseInherited() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	list, readErr := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if readErr != nil {
		return os.NewSyscallError("close_range", err)
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// MapSelf makes the user known in the new user namespace, under the same id. This process does it
// itself: one that maps another may have to read what an undumpable process hides. A program that its user cannot read starts
// undumpable, and could not open its own files of /proc, so that this makes it dumpable.
func MapSelf(uid, gid int) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	for _, f := range []struct{ name, text string }{
		{"uid_map", fmt.Sprintf("%d %d 1", uid, uid)}, {"setgroups", "deny"}, {"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("the user namespace: %w", err)
		}
	}
	return nil
}

// DropCapabilities makes sure that the command can undo no mount. Root of the user namespace gets its
// capabilities back by the execve, within what is bounded here.
func DropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil && err != unix.EPERM { // who may not cannot have it back either
		return os.NewSyscallError("prctl", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&header, &none[0]))
}
