package mcpserver

import "syscall"

// orphaned interrupts a process when the thread that started it ends, as with this process.
func orphaned() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
