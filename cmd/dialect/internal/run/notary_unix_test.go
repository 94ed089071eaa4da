//go:build unix

package run

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/process"
)

// A notary that greets, and has other runs to do first, is not waited for after Ctrl-C.
func TestNotaryBusy(t *testing.T) {
	inProject(t, files{"s.dlct": "Write one to mark\n"})
	folder, err := os.MkdirTemp("", "n") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan error, 1)
	go func() { asked <- busy(l) }()
	done := make(chan error, 1)
	go func() {
		o := options()
		o.Notary = socket
		done <- o.Run(new(said).voice(t), []string{"s.dlct"})
	}()
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if status(err) != process.SignalStatus("SIGINT") {
			t.Errorf("status %d: %v", status(err), err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits for the notary")
	}
}

// busy greets each client, until a run is asked for, which it leaves without an answer.
func busy(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if err := skip(c); err != nil {
			return err
		}
		hello := `{"hello":{"version":1,"key":"k"}}`
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(hello))), hello...)); err != nil {
			return err
		}
		if skip(c) == nil {
			return nil // the connection stays open
		}
		c.Close()
	}
}

// skip reads one frame.
func skip(c net.Conn) error {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:])))
	return err
}
