//go:build linux

package domain

import (
	"reflect"
	"testing"
)

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

// The table is the kernel's, and the paths in it are whatever others made.
func FuzzSeenAt(f *testing.F) {
	for _, seed := range []string{mountTable, `\`, `1 2 3 \777 \0 /`} {
		f.Add(seed, "/var/tmp/dialect-1000")
	}
	f.Fuzz(func(t *testing.T, table, path string) {
		for _, p := range seenAt(table, path) {
			if p == path {
				t.Error("a path is no alias of itself")
			}
		}
	})
}
