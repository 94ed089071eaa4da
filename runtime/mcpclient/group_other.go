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

// adopt reports false: here orphans become children of another process.
func adopt() bool { return false }

func killLoose(map[int]bool, bool) bool { return false }
