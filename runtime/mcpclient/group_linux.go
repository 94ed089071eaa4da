package mcpclient

import "syscall"

// ownGroup gives a server a group of its own, and lets the kernel kill it with dialect. A
// session of its own would hand it to the reaper of package process.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
