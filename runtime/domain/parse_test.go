//go:build linux

package domain

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const unixTable = `Num       RefCount Protocol Flags    Type St Inode Path
00000000a: 00000002 00000000 00010000 0001 01 1234 /tmp/tmux-1000/default
00000000b: 00000003 00000000 00000000 0001 03 1235 /run/user/1000/bus
00000000c: 00000002 00000000 00010000 0001 01 1236 /run/a folder/with  spaces
00000000d: 00000002 00000000 00010000 0001 01 1237 @abstract
00000000e: 00000002 00000000 00010000 0001 01 1238
`

func TestListeners(t *testing.T) {
	if got, want := unixListeners(unixTable), []string{"/tmp/tmux-1000/default", "/run/a folder/with  spaces"}; !reflect.DeepEqual(got, want) {
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
		list, err := listening(family)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(x tcpListener) bool { return x.at.String() == l.Addr().String() && x.uid == os.Getuid() }) {
			t.Errorf("no %s in %v", l.Addr(), list)
		}
	}
}

const mountTable = `20 1 254:0 / / rw - ext4 /dev/vda rw
21 20 254:0 /var /sysroot/ostree/var rw - ext4 /dev/vda rw
22 20 0:30 / /proc rw - proc proc rw
23 20 254:0 /var/tmp/dialect-1000/x /mnt/deeper rw - ext4 /dev/vda rw
24 20 0:31 / /var/other\040place rw - tmpfs x rw
25 20 254:0 /var/tmp /mnt/a\040space rw - ext4 /dev/vda rw
`

// A folder is found wherever its file system is mounted as well.
func TestSeenAt(t *testing.T) {
	got := seenAt(mountTable, "/var/tmp/dialect-1000")
	if want := []string{"/sysroot/ostree/var/tmp/dialect-1000", "/mnt/a space/dialect-1000"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := seenAt(mountTable, "/var/other place/x"); got != nil {
		t.Errorf("%q", got)
	}
}

// The tables are the kernel's, and the paths in them are whatever others made.
func FuzzTables(f *testing.F) {
	for _, seed := range []string{unixTable, mountTable, `\`, `1 2 3 \777 \0 /`} {
		f.Add(seed, "/var/tmp/dialect-1000")
	}
	f.Fuzz(func(t *testing.T, table, path string) {
		for _, p := range unixListeners(table) {
			if !filepath.IsAbs(p) {
				t.Errorf("%q", p)
			}
		}
		if list, _, _ := tcpListeners([]byte(table)); len(list) > len(table)/diagMessageSize {
			t.Errorf("%d listeners of %d bytes", len(list), len(table))
		}
		for _, p := range seenAt(table, path) {
			if p == path {
				t.Error("a path is no alias of itself")
			}
		}
	})
}
