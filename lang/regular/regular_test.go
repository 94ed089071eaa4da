//go:build unix

package regular

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOwner(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := Owner(info); got != os.Geteuid() {
		t.Errorf("a file of this user, %d, belongs to %d", os.Geteuid(), got)
	}
	if os.Geteuid() == 0 {
		path := filepath.Join(t.TempDir(), "x")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 1234, -1)); err != nil {
			t.Fatal(err)
		}
		if info, err = os.Stat(path); err != nil || Owner(info) != 1234 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

func TestKinds(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(path("file"), []byte("12345678"), 0o600))
	must(os.Symlink("file", path("link")))
	must(os.Symlink("/dev/zero", path("zero")))
	must(os.Mkdir(path("dir"), 0o700))
	must(syscall.Mkfifo(path("fifo"), 0o600))
	l, err := net.Listen("unix", path("sock"))
	must(err)
	defer l.Close()
	for _, c := range []struct {
		name      string
		read, own bool
	}{
		{"file", true, true}, {"link", true, false}, {"zero", false, false}, {"dir", false, false},
		{"fifo", false, false}, {"sock", false, false}, {"absent", false, false},
	} {
		began := time.Now()
		text, err := Read(path(c.name), 8)
		if (err == nil) != c.read || c.read && string(text) != "12345678" {
			t.Errorf("Read %s: %q, %v", c.name, text, err)
		}
		if _, err := ReadOwn(path(c.name), 8); (err == nil) != c.own {
			t.Errorf("ReadOwn %s: %v", c.name, err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s took %v", c.name, d)
		}
	}
	for name, good := range map[string]bool{"file": true, "new": true, "link": false, "zero": false, "dir": false, "fifo": false, "sock": false} {
		if err := Append(path(name), []byte("9")); (err == nil) != good {
			t.Errorf("Append %s: %v", name, err)
		}
	}
	if text, err := Read(path("file"), 9); err != nil || string(text) != "123456789" {
		t.Errorf("appended: %q, %v", text, err)
	}
	if _, err := Read(path("file"), 7); err == nil {
		t.Error("a file that is too large is read")
	}
	if _, err := Read(path("fifo"), 7); !errors.Is(err, ErrKind) {
		t.Errorf("a FIFO: %v", err)
	}
	for name, good := range map[string]bool{"dir": true, "absent": true, "file": false, "fifo": false, "link": false, "zero": false} {
		if err := Folder(path(name)); (err == nil) != good {
			t.Errorf("Folder %s: %v", name, err)
		}
	}
}
