package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process does to itself what this package does, so that each test has a child, which is this program again: it says what
// it found as JSON.
const asChild = "DIALECT_NAMESPACE_TEST"

type found struct {
	Fault           string
	UID, GID        int
	Effective       uint64 // capabilities
	Bounded         uint64
	Descriptors     []string // that a program finds which the child becomes
	Read, Signalled string   // errors; empty for none
}

func TestMain(m *testing.M) {
	what, file := os.Getenv(asChild), os.Getenv(asChild+"_FILE")
	if what == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	f := found{}
	if err := child(what, file, &f); err != nil {
		f.Fault = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(f)
	os.Exit(0)
}

func child(what, file string, f *found) error {
	ids := strings.Split(file, ":")
	switch what {
	case "map", "drop":
		uid, _ := strconv.Atoi(ids[0])
		gid, _ := strconv.Atoi(ids[1])
		if err := MapSelf(uid, gid); err != nil {
			return err
		}
		f.UID, f.GID = os.Getuid(), os.Getgid()
		if what == "drop" {
			if err := DropCapabilities(); err != nil {
				return err
			}
		}
		text, err := os.ReadFile("/proc/thread-self/status")
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			n, _ := strconv.ParseUint(value, 16, 64)
			switch name {
			case "CapEff":
				f.Effective = n
			case "CapBnd":
				f.Bounded = n
			}
		}
		return err
	case "close", "keep":
		if what == "close" {
			if err := CloseInherited(); err != nil {
				return err
			}
		}
		return syscall.Exec("/proc/self/exe", []string{"list"}, []string{asChild + "=list"})
	case "list":
		names, err := filepath.Glob("/proc/self/fd/*")
		for _, name := range names {
			if to, err := os.Readlink(name); err == nil && strings.HasSuffix(to, "/inherited") {
				f.Descriptors = append(f.Descriptors, to)
			}
		}
		return err
	case "restrict", "restrict files":
		handled := uint64(0)
		if what == "restrict files" {
			handled = unix.LANDLOCK_ACCESS_FS_READ_FILE
		}
		if err := Restrict(handled, nil); err != nil {
			return err
		}
		if _, err := os.ReadFile(file); err != nil {
			f.Read = errors.Unwrap(err).Error()
		}
		if err := unix.Kill(os.Getppid(), 0); err != nil {
			f.Signalled = err.Error()
		}
		return nil
	case "hide":
		for _, name := range []string{"directory", "file", "removed directory", "removed file"} {
			path := filepath.Join(file, name)
			fd, err := unix.Open(path, unix.O_PATH, 0)
			if err == nil && strings.HasPrefix(name, "removed") {
				err = os.Remove(path)
			}
			if err != nil {
				return err
			}
			gone, err := Hide(fd, strings.HasSuffix(name, "directory"))
			if err != nil || gone != strings.HasPrefix(name, "removed") {
				return fmt.Errorf("%s: gone %t: %v", name, gone, err)
			}
		}
		inside, err := os.ReadDir(filepath.Join(file, "directory"))
		text, ferr := os.ReadFile(filepath.Join(file, "file"))
		if len(inside)+len(text) > 0 {
			return fmt.Errorf("not hidden: %q %q", inside, text)
		}
		return errors.Join(err, ferr)
	case "grant":
		if err := Restrict(unix.LANDLOCK_ACCESS_FS_READ_FILE, func(int) error { return errors.New("no grant") }); err == nil || err.Error() != "no grant" {
			return fmt.Errorf("the error of a grant is lost: %v", err)
		}
		_, err := os.ReadFile(file) // nothing was restricted
		return err
	}
	return errors.New(what)
}

func run(t *testing.T, what, file string, attr *syscall.SysProcAttr, extra ...*os.File) (f found) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{asChild + "=" + what, asChild + "_FILE=" + file}
	cmd.SysProcAttr, cmd.ExtraFiles, cmd.Stderr = attr, extra, os.Stderr
	out, err := cmd.Output()
	if attr != nil && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC)) {
		t.Skipf("this machine gives no user namespaces: %v", err)
	}
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if attr != nil && os.Getuid() == 0 && strings.HasSuffix(f.Fault, "uid_map: "+syscall.EPERM.Error()) {
		t.Skip("root without CAP_SETFCAP cannot map itself (Linux 5.12)")
	}
	if err != nil || f.Fault != "" {
		t.Fatalf("%v: %s", err, out)
	}
	return f
}

// TestHide hides a directory and a file, and what was removed after it had been opened.
func TestHide(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"directory", "removed directory"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"directory/secret", "file", "removed file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "hide", dir, &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
}

// TestMapSelf has a process in a new user namespace be the user there that it is outside, and then give up what it could mount with.
func TestMapSelf(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	ids := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	before := run(t, "map", ids, attr)
	if before.UID != os.Getuid() || before.GID != os.Getgid() {
		t.Errorf("it is user %d of group %d, and outside %s", before.UID, before.GID, ids)
	}
	const admin = 1 << unix.CAP_SYS_ADMIN
	if before.Effective&admin == 0 || before.Bounded&admin == 0 {
		t.Errorf("a new user namespace gives no capabilities, so that nothing can be seen to be given up: %x, %x", before.Effective, before.Bounded)
	}
	if after := run(t, "drop", ids, attr); after.Effective != 0 || after.Bounded&admin != 0 {
		t.Errorf("left are the capabilities %x, and it could have %x", after.Effective, after.Bounded)
	}
}

// TestCloseInherited has a program not find the descriptors that the process inherited which became it.
func TestCloseInherited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inherited")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if f := run(t, "keep", "", nil, d, d); len(f.Descriptors) != 2 {
		t.Fatalf("nothing is inherited that could be closed: %q", f.Descriptors)
	}
	if f := run(t, "close", "", nil, d, d); len(f.Descriptors) != 0 {
		t.Errorf("%q", f.Descriptors)
	}
}

// TestRestrict keeps signals in, and takes away the rights to files that are named, and no others.
func TestRestrict(t *testing.T) {
	if abi := ABI(); abi < ScopesABI {
		t.Skipf("Landlock ABI %d of this kernel does not keep signals in", abi)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := run(t, "restrict", file, nil); f.Read != "" || f.Signalled != unix.EPERM.Error() {
		t.Errorf("%+v", f)
	}
	if f := run(t, "restrict files", file, nil); f.Read != unix.EACCES.Error() || f.Signalled != unix.EPERM.Error() {
		t.Errorf("%+v", f)
	}
	run(t, "grant", file, nil)
}
