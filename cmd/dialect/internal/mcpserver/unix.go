//go:build unix

package mcpserver

import (
	"os"
	"syscall"
)

// interrupt ends a run as whoever supervises it would: it kills its tools, and reports.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
