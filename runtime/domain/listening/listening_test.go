//go:build linux

package listening

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const unixTable = `Num       RefCount Protocol Flags    Type St Inode Path
00000000a: 00000002 00000000 00010000 0001 01 1234 /tmp/tmux-1000/default
00000000b: 00000003 00000000 00000000 0001 03 1235 /run/user/1000/bus
00000000c: 00000002 00000000 00010000 0001 01 1236 /run/a folder/with  spaces
00000000d: 00000002 00000000 00010000 0001 01 1237 @abstract
00000000f: 00000002 00000000 00000000 0002 01 1239 /run/datagrams
00000000e: 00000002 00000000 00010000 0001 01 1238
`

func TestListeners(t *testing.T) {
	if got, want := unixListeners(unixTable), []string{"/tmp/tmux-1000/default", "/run/a folder/with  spaces", "/run/datagrams"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

// What this process listens on is found by its address and user.
func TestListening(t *testing.T) {
	for family, address := range map[byte]string{unix.AF_INET: "127.0.0.1:0", unix.AF_INET6: "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // a machine without this family
			continue
		}
		defer l.Close()
		list, err := ofFamily(family)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(x Socket) bool { return x.At.String() == l.Addr().String() && x.UID == os.Getuid() }) {
			t.Errorf("no %s in %v", l.Addr(), list)
		}
	}
}

// TestMain is also a process that listens at the path of its argument.
func TestMain(m *testing.M) {
	if path := os.Getenv("LISTENING_TEST"); path != "" {
		if _, err := net.Listen("unix", path); err != nil {
			panic(err)
		}
		fmt.Println("up")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What listens in another network namespace is found by its path.
func TestOtherNamespaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "LISTENING_TEST="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no network namespace can be made here: %v", err)
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	list, err := Unix()
	if err != nil || !slices.Contains(list, path) {
		t.Errorf("%v %q", err, list)
	}
}

// The tables are the kernel's, and the paths in them are whatever others made.
func FuzzTables(f *testing.F) {
	f.Add([]byte(unixTable))
	f.Add([]byte("\x14\x00\x00\x00\x03\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, table []byte) {
		for _, p := range unixListeners(string(table)) {
			if !filepath.IsAbs(p) {
				t.Errorf("%q", p)
			}
		}
		if list, _, _ := tcpListeners(table); len(list) > len(table)/diagMessageSize {
			t.Errorf("%d listeners of %d bytes", len(list), len(table))
		}
	})
}
