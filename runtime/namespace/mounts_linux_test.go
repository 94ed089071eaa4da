package namespace

import (
	"slices"
	"testing"
)

func TestMounts(t *testing.T) {
	const table = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 /a /sys/fs/cgroup/cpu rw,relatime shared:4 - cgroup cgroup rw,cpu
33 31 0:30 /a\040#\134 /mnt/a\040b rw - cgroup2 cgroup2 rw
broken
`
	want := []Mount{
		{"0:28", "/", "/sys/fs/cgroup", "tmpfs"}, {"0:29", "/a", "/sys/fs/cgroup/cpu", "cgroup"}, {"0:30", `/a #\`, "/mnt/a b", "cgroup2"},
	}
	if got := parseMounts(table); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, err := Mounts(); err != nil || !slices.ContainsFunc(got, func(m Mount) bool { return m.At == "/proc" && m.Kind == "proc" }) {
		t.Errorf("%q, %v", got, err)
	}
}

// The table is the kernel's, and the paths in it are whatever others made.
func FuzzMounts(f *testing.F) {
	for _, seed := range []string{`1 2 3 \777 \0 /`, "1 2 3 / / - ext4", `\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, table string) {
		for _, m := range parseMounts(table) {
			if m.Device == "" || m.Root == "" || m.At == "" {
				t.Errorf("%q", m)
			}
		}
	})
}
