//go:build unix && !linux

package mcpclient

import "syscall"

func ownGroup(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
