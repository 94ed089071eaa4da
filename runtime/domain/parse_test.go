//go:build linux

package domain

import (
	"reflect"
	"testing"

	"github.com/command-dialect/dialect/runtime/namespace"
)

// A folder is found wherever its file system is mounted as well.
func TestSeenAt(t *testing.T) {
	mounts := []namespace.Mount{
		{Device: "254:0", Root: "/", At: "/"},
		{Device: "254:0", Root: "/var", At: "/sysroot/ostree/var"},
		{Device: "0:30", Root: "/", At: "/proc"},
		{Device: "254:0", Root: "/var/tmp/dialect-1000/x", At: "/mnt/deeper"},
		{Device: "0:31", Root: "/", At: "/var/other place"},
		{Device: "254:0", Root: "/var/tmp", At: "/mnt/a space"},
	}
	got := seenAt(mounts, "/var/tmp/dialect-1000")
	if want := []string{"/sysroot/ostree/var/tmp/dialect-1000", "/mnt/a space/dialect-1000"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := seenAt(mounts, "/var/other place/x"); got != nil {
		t.Errorf("%q", got)
	}
}
