//go:build unix

package tempdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is removed may be deeper than a path is long, and than descriptors are to be had.
func TestRemoveDeep(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(t.TempDir(), "deep")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for i := range 1000 {
		mode := uint32(0o755)
		if i%50 == 49 {
			mode = 0 // to be opened all the same
		}
		below := -1
		err := errors.Join(unix.Mkdirat(fd, name, 0o755), unix.Mkdirat(fd, "dialect-1", 0o755))
		if err == nil {
			below, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if err == nil {
			err = unix.Fchmod(fd, mode)
		}
		if err != nil {
			t.Fatal(i, err)
		}
		unix.Close(fd)
		fd = below
	}
	unix.Close(fd)
	if err := RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// No link is followed, what is not there is removed already, and a file is removed as a directory is.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.MkdirAll(at("kept/a"), 0o755), os.WriteFile(at("file"), nil, 0o000), os.MkdirAll(at("gone/b"), 0o755),
		os.Symlink(at("kept"), at("link")), os.Symlink(at("kept"), at("gone/b/link")), os.WriteFile(at("gone/b/c"), nil, 0o644), os.Chmod(at("gone/b"), 0o500), os.Chmod(at("gone"), 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link", "gone", "none", "none/below"} {
		if err := RemoveAll(at(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(at(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(at("kept/a")); err != nil {
		t.Error(err)
	}
}

// What is in the place of a directory is not opened to its owner by a link.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("kept"), 0o755), os.Chmod(at("kept"), 0o755), os.Mkdir(at("shut"), 0), os.Symlink("kept", at("link")), os.WriteFile(at("file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := own(int(in.Fd()), "shut"); err != nil {
		t.Error(err)
	}
	_ = own(int(in.Fd()), "link")
	for name, mode := range map[string]os.FileMode{"kept": 0o755, "shut": 0o700} {
		if info, err := os.Stat(at(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestRemoveComing removes a directory into which files go on coming: it ends, and what is old never counts as coming.
func TestRemoveComing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "flood")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var flood sync.WaitGroup
	for n := range 16 {
		flood.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", n, i))); err == nil {
					f.Close()
				}
			}
		})
	}
	err := RemoveAll(dir)
	stop()
	flood.Wait()
	if err != nil && !errors.Is(err, errComing) {
		t.Error(err)
	}
	if err := RemoveAll(dir); err != nil {
		t.Errorf("once nothing comes: %v", err)
	}
	old := filepath.Join(t.TempDir(), "old")
	fd, err := os.Open(filepath.Dir(old))
	if err := errors.Join(err, os.WriteFile(old, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	for name, c := range map[string]struct {
		start time.Time
		moved int
		file  string
		want  bool
	}{
		"new files":      {time.Now().Add(-time.Minute), 0, "old", true},
		"within seconds": {time.Now(), 0, "old", false},
		"none is there":  {time.Now().Add(-time.Minute), 0, "gone", false},
		"moved up":       {time.Now().Add(-time.Minute), 1, lifted + "1", false},
	} {
		r := &remover{start: c.start, moved: c.moved}
		got := false
		for range lateRounds + 1 {
			got = r.coming(int(fd.Fd()), []string{c.file})
		}
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
