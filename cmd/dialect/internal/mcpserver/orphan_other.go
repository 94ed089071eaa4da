//go:build !linux

package mcpserver

import "syscall"

func orphaned() *syscall.SysProcAttr { return nil }
