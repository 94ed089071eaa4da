package namespace

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ABI returns the Landlock ABI of the kernel; 0 where there is none, or it is forbidden.
func ABI() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Restrict puts the calling thread, and what it starts, into a Landlock domain that keeps signals and abstract sockets in. handled
// are the rights to files that it takes away, but for what grant gives back; with none no file access is touched, and mounts
// stay possible.
func Restrict(handled uint64, grant func(ruleset int) error) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled, Scoped: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Offsetof(attr.Quiet_access_fs), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	if grant != nil {
		if err := grant(ruleset); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}
