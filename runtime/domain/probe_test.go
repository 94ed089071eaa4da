//go:build linux

package domain

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
)

// A probe that gets no descriptors closes none that it was not given.
func TestProbeWithoutDescriptors(t *testing.T) {
	if namespace.ABI() < namespace.ScopesABI {
		t.Skip(tooOld(namespace.ABI()))
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 64
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var held []int
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	unix.Close(held[0])                // for /dev/null, but not for a pair of sockets
	_, _ = Probe([]string{helperName}) // Landlock takes none
	_, gone := unix.FcntlInt(0, unix.F_GETFD, 0)
	for _, fd := range held[1:] {
		unix.Close(fd)
	}
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); e != nil {
		t.Fatal(e)
	}
	if gone != nil {
		t.Errorf("standard input: %v", gone)
	}
}
