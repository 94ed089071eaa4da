//go:build unix

package mcpserver

import (
	"fmt"
	"os"
	"syscall"
)

// interrupt ends a run as its supervisor would: it kills its tools, and reports.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// channel returns the two ends of a stream to a process: ours and that of the process. They are
// sockets, since a tool of the same user can open a pipe, and so write to it, by the name that /proc
// has for it.
func channel() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("a pair of sockets: %w", err)
	}
	_ = syscall.SetNonblock(fds[0], true) // reading then has deadlines
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs"), nil
}

// input is channel for what we write.
func input() (ours, theirs *os.File, err error) { return channel() }
