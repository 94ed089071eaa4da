//go:build unix

package mcpclient

import (
	"os"
	"syscall"
)

func signalGroup(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig) // it may be gone
}
