//go:build unix && !linux

package mcpclient

import "syscall"

func ownGroup(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitExit reports false: here nothing waits for a process without taking its status.
func waitExit(int) bool { return false }

// adopt reports false: here orphans become children of another process.
func adopt() bool { return false }

func killLoose(map[int]bool, bool) bool { return false }
