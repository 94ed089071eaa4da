//go:build unix

package runner

import "syscall"

// openFlags keep a command from making dialect wait for a FIFO, or follow a link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
