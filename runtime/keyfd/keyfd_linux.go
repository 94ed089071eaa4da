package keyfd

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// protect makes this process unreadable for others of the same user, and says why
// that is not enough; empty if it is.
func protect() string {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "the process cannot be made undumpable: " + err.Error()
	}
	if unix.Geteuid() == 0 {
		return "commands run as root, which can read the key from memory"
	}
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return "the capabilities of the process cannot be told: " + err.Error()
	}
	const ptrace = 1 << unix.CAP_SYS_PTRACE
	if (data[0].Effective|data[0].Permitted|data[0].Inheritable)&ptrace != 0 {
		return "commands may trace any process (CAP_SYS_PTRACE)"
	}
	return ""
}

// linked reports whether a regular file has a name by which others could open it.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 0
}
