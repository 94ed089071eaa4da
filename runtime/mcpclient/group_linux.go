package mcpclient

import (
	"syscall"
	"unsafe"
)

// ownGroup gives a child a group of its own, and a signal when dialect dies. A session of its
// own would hand it to the reaper of package process.
func ownGroup(orphaned syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned}
}

// waitExit waits until the child pid has ended, and leaves its status to be waited for. It
// reports whether it could.
func waitExit(pid int) bool {
	const byPID, exited, leave = 1, 4, 0x1000000 // P_PID, WEXITED, WNOWAIT
	var info [128]byte                           // siginfo_t
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), exited|leave, 0, 0)
		if err != syscall.EINTR {
			return err == 0
		}
	}
}
