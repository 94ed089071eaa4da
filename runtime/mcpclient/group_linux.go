package mcpclient

import (
	"bytes"
	"os"
	"strconv"
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

// adopt has orphans among the descendants of this process become its children, and reports whether they do.
func adopt() bool {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	_, _, err := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	return err == 0
}

// killLoose kills the children of this process that are not among own, and waits for those that have ended; unless all is set, only those in its session.
// It reports whether it found one. Only this process waits for them, so that no pid is another's.
func killLoose(own map[int]bool, all bool) (found bool) {
	sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	self, session := strconv.Itoa(os.Getpid()), strconv.Itoa(int(sid))
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || own[pid] {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		// "pid (comm) state ppid pgrp session ...", where comm may have any letter
		if f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(f) > 3 && string(f[1]) == self && (all || string(f[3]) == session) {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
	return found
}
