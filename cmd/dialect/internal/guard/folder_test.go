//go:build unix

package guard

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The folder of the notaries is refused where somebody else made it, or can put another in its place.
func TestFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to make directories of root")
	}
	const other = 65534
	for _, test := range []struct {
		name string
		make func(parent, path string) error
		want string // a part of the error; empty for none
	}{
		{"new", func(string, string) error { return nil }, ""},
		{"open to others before", func(_, path string) error { return os.Mkdir(path, 0o755) }, ""},
		{"a parent without the sticky bit", func(parent, _ string) error { return os.Chmod(parent, 0o777) }, "others can rename"},
		{"a parent of another user", func(parent, _ string) error { return os.Chown(parent, other, other) }, "does not belong to root"},
		{"a link", func(parent, path string) error { return os.Symlink(parent, path) }, "open "},
		{"a file", func(_, path string) error { return os.WriteFile(path, nil, 0o600) }, "open "},
		{"of another user", func(_, path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chown(path, other, other)
		}, "belongs to another user"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parent := t.TempDir()
			if err := os.Chmod(parent, 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
			if err := test.make(parent, filepath.Join(parent, "dialect-0")); err != nil {
				t.Fatal(err)
			}
			got, err := privateFolder(parent)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%q %v, want %s", got, err, test.want)
				}
				return
			}
			info, statErr := os.Lstat(got)
			if err != nil || statErr != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("%v %v %v", info, err, statErr)
			}
		})
	}
}

// A guard that was killed leaves its socket until the next one sweeps it, and does not run.
func TestStatusOfKilled(t *testing.T) {
	parent, err := os.MkdirTemp("", "g") // short: the path of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(folderPath(parent), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName)})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	var s Sessions
	if err := s.find(t.Context(), folderPath(parent)); err != nil || len(s.Sessions) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// Notaries that do not answer are waited for at once, not one after another: each holds its asker until all have been asked.
func TestStatusAtOnce(t *testing.T) {
	parent, err := os.MkdirTemp("", "g") // short: the path of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	var asked sync.WaitGroup
	all := make(chan struct{})
	for _, name := range []string{"a", "b", "c"} {
		dir := filepath.Join(folderPath(parent), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		asked.Add(1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			asked.Done()
			given := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, c)
				close(given)
			}()
			select {
			case <-all:
			case <-given:
				t.Error("one was given up before the others were asked")
			}
		}()
	}
	go func() {
		asked.Wait()
		close(all)
	}()
	var s Sessions
	if err := s.find(t.Context(), folderPath(parent)); err == nil || len(s.Sessions) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}
