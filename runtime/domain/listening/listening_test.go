//go:build linux

package listening

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
		list, err := ofFamily(family)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(x Socket) bool { return x.At.String() == l.Addr().String() && x.UID == os.Getuid() }) {
			t.Errorf("no %s in %v", l.Addr(), list)
		}
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
