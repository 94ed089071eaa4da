//go:build unix && !linux

package mcpclient

import "syscall"

func ownGroup(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitExit reports false: here nothing waits for a process without taking its status.
func waitExit(int) bool { return false }
