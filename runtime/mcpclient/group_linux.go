package mcpclient

import "syscall"

// ownGroup gives a child a group of its own, and a signal when dialect dies. A session of its
// own would hand it to the reaper of package process.
func ownGroup(orphaned syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned}
}
