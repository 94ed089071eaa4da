//go:build unix

package keyfd

import "golang.org/x/sys/unix"

func closeOnExec(fd int) { unix.CloseOnExec(fd) }
