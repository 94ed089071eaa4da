package keyfd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
)

// The values of PR_GET_DUMPABLE and the number of an ioctl, from linux/sched/coredump.h and
// linux/nsfs.h.
const (
	dumpable      = 1      // SUID_DUMP_USER: processes of the same user may attach
	nsGetOwnerUID = 0xb704 // NS_GET_OWNER_UID
	capSysPtrace  = 1 << unix.CAP_SYS_PTRACE
)

// exposed reports whether processes of the same user could attach to this one at its first
// call, which [protect] makes before it changes that. The kernel decides at the exec: a
// binary that the user cannot read starts undumpable.
var exposed = sync.OnceValues(func() (bool, error) {
	v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return v == dumpable, err
})

// protect makes this process unreadable for others of the same user, and says why that is
// not enough; empty if it is.
func protect() string {
	why := Weakness()
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "the process cannot be made undumpable: " + err.Error()
	}
	return why
}

// starter says that the process that started this one is of the same user and can be read: it had the key before. A shell that has become this
// process by exec is seen no more.
func starter() string {
	pid := os.Getppid()
	// An orphan has the session of who started it, and a parent with another one, or where all is one session (a container) process 1.
	if own, err := unix.Getsid(0); err == nil && pid != 0 && own != os.Getpid() {
		if theirs, err := unix.Getsid(pid); pid == 1 && theirs == own {
			return "process 1, the parent of dialect, may have adopted it from a process of this user that is gone: if it started dialect itself, have that lead a session of its own: setsid -w runuser -u USER -- dialect"
		} else if err != nil || theirs != own {
			return "the process that started dialect is gone, and it may have been one of this user: start dialect as another user, which stays: runuser -u USER -- dialect"
		}
	}
	folder := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(folder + "/status") // of root where that process cannot be read; where others are hidden (hidepid), there is none
	if err != nil || regular.Owner(info) != unix.Geteuid() {
		return ""
	}
	name, _ := os.ReadFile(folder + "/comm")
	return fmt.Sprintf("the process that started dialect (%s, %d) is of the same user, and any other of that user could have taken the key from it: start dialect as another user, with no shell of this one between: runuser -u USER -- dialect", strings.TrimSpace(string(name)), pid)
}

// Seal keeps other processes of the user from reading this process from now on, and from what a crash would leave. It fails where one
// may read it already. A process calls it before it has a key.
func Seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return os.NewSyscallError("setrlimit", err)
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if pid, ok := strings.CutPrefix(line, "TracerPid:"); ok {
			if pid = strings.TrimSpace(pid); pid != "0" {
				return errors.New("process " + pid + " traces this one, and could read a key")
			}
			return nil
		}
	}
	return errors.New("cannot read whether another process traces this one")
}

// Weakness says why a key that was handed to this process would give level 0, and what to do
// about it; empty if it would give level 1.
func Weakness() string {
	open, err := exposed()
	if err != nil {
		return "cannot read whether this process is dumpable: " + err.Error()
	}
	if unix.Geteuid() == 0 || unix.Getuid() == 0 {
		return "commands run as root, which can read the key from memory: start dialect as an ordinary user"
	}
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return "cannot read the capabilities of this process: " + err.Error()
	}
	if (data[0].Effective|data[0].Permitted|data[0].Inheritable)&capSysPtrace != 0 {
		return "commands may trace any process: start dialect without CAP_SYS_PTRACE"
	}
	if open && unix.Access("/proc/self/exe", unix.R_OK) != nil {
		return "dialect was started with a capability to read any file, so that the kernel took its binary for a readable one (setpriv --reuid does that): start it by runuser -u USER -- dialect, or by chroot --userspec=UID:GID --groups= --skip-chdir / dialect"
	}
	if open {
		return "another process of this user could take the key before dialect protected itself: install a dialect that this user cannot read (`sudo make install`: owner root, mode 0711)"
	}
	exe, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "cannot read who owns the binary: " + regular.Reason(err).Error()
	}
	if uid := regular.Owner(exe); uid < 0 || uid == unix.Geteuid() || uid == unix.Getuid() {
		return "this user owns the binary, and can replace it or make it readable: install it with another owner (`sudo make install`)"
	}
	return namespaceWeakness()
}

// namespaceWeakness reports a user namespace that belongs to this user: its processes outside
// of the namespace have all capabilities inside (user_namespaces(7)), CAP_SYS_PTRACE included.
func namespaceWeakness() string {
	ns, err := os.Open("/proc/self/ns/user")
	if err != nil {
		return "cannot read whom the user namespace belongs to: " + regular.Reason(err).Error()
	}
	defer ns.Close()
	owner, err := unix.IoctlGetUint32(int(ns.Fd()), nsGetOwnerUID)
	if err != nil {
		return "cannot read whom the user namespace belongs to: " + err.Error()
	}
	if int(owner) == unix.Getuid() || int(owner) == unix.Geteuid() {
		return "this user owns the user namespace, and can trace any process in it from outside: start dialect outside of it"
	}
	return ""
}

// pipefs is PIPEFS_MAGIC of linux/magic.h: the file system of pipes that have no name.
const pipefs = 0x50495045

// named reports whether a pipe has a name in a file system.
func named(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) != nil || int64(st.Type) != pipefs
}

// linked reports whether a regular file has a name by which others could open it.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 0
}
