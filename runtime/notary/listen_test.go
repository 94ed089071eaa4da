//go:build unix

package notary

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListenBusy keeps the socket of a notary whose queue of connections is full: it is busy, and not gone.
func TestListenBusy(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		c, err := net.DialTimeout("unix", socket, dialTime)
		if err != nil {
			break
		}
		defer c.Close()
		if n > 100 {
			t.Skip("the queue of a socket is never full here")
		}
	}
	if l, err := Listen(socket); err == nil || !strings.Contains(err.Error(), "another notary listens") {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := os.Lstat(socket); err != nil {
		t.Error(err)
	}
	unix.Close(fd)
	l, err := Listen(socket)
	if err != nil {
		t.Fatalf("what a killed notary left behind: %v", err)
	}
	l.Close()
}
