//go:build !unix

package mcpclient

import (
	"os"
	"syscall"
)

func ownGroup(syscall.Signal) *syscall.SysProcAttr { return nil }

// signalGroup kills the process alone: there are no groups.
func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }
