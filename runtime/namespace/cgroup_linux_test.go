package namespace

import (
	"slices"
	"testing"
)

func TestControlGroups(t *testing.T) {
	const table = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:4 - cgroup cgroup rw,cpu
33 31 0:30 / /mnt/a\040b rw - cgroup2 cgroup2 rw
34 31 0:31 / /cgroup rw - ext4 /dev/sda rw
broken
`
	if got := controlGroups(table); !slices.Equal(got, []string{"/sys/fs/cgroup/cpu", "/mnt/a b"}) {
		t.Errorf("%q", got)
	}
}
