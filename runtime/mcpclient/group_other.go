//go:build !unix

package mcpclient

import (
	"os"
	"syscall"
)

func ownGroup(syscall.Signal) *syscall.SysProcAttr { return nil }

// signalGroup kills the process alone: there are no groups.
func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }

// waitExit reports false: here nothing waits for a process without taking its status.
func waitExit(int) bool { return false }
