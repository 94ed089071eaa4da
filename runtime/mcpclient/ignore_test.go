//go:build unix

package mcpclient

import (
	"os/signal"
	"syscall"
)

func signalIgnore() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT) }
