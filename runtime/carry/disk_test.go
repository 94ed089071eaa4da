//go:build unix

package carry_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/runtime/carry"
)

// A depot on a disk costs no process for a parcel, and what its folders lead to outside of it is not written.
func TestDisk(t *testing.T) {
	d, _, _ := depot(t, "echo one >a.txt")
	ref := carry.Ref(began, "r-1", "a-1-1")
	before := children(t)
	if err := d.Send(t.Context(), carry.Parcel{Ref: ref, Text: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Fetch(t.Context(), 10, ref); err != nil || string(got[0]) != "x" {
		t.Fatal(got, err)
	}
	if after := children(t); after != before {
		t.Error("a process was started")
	}
	out := t.TempDir()
	sh(t, d.Remote, "rm -rf refs/dialect && ln -s "+out+" refs/dialect")
	_ = d.Send(t.Context(), carry.Parcel{Ref: ref, Text: []byte("y")})
	if list, _ := os.ReadDir(out); len(list) > 0 {
		t.Error("it was written through a link")
	}
	// What is damaged, or names something else, is not taken for what was sent.
	sh(t, d.Remote, "rm refs/dialect")
	if err := d.Send(t.Context(), carry.Parcel{Ref: ref, Text: []byte("z")}); err != nil {
		t.Fatal(err)
	}
	blob := strings.TrimSpace(sh(t, d.Remote, "printf z | git hash-object --stdin"))
	sh(t, d.Remote, "o=objects/$(echo "+blob+" | cut -c1-2)/$(echo "+blob+" | cut -c3-) && rm -f $o && echo damaged >$o")
	if got, err := d.Fetch(t.Context(), 10, ref); err == nil {
		t.Errorf("%q", got)
	}
}

// children counts what the processes that this one started have cost.
func children(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}
