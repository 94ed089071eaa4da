//go:build linux

package cleanroom

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/overlay"
)

// Attributes by which an overlay hides what is there, or a new file gets its mode, belong to no file: a checkout has none.
func TestMarks(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "dir/sub/empty", "")
	put(t, root, "dir/sub/full", "text")
	put(t, root, "dir/other/file", "text")
	r := confined(t, root)
	const acl = "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\x01\x00\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x04\x00\xff\xff\xff\xff"
	const other = "\x02\x00\x00\x00" + acl
	const look = "test -e dir/sub/empty && test -e dir/sub/full && test -e dir/other/file && umask 022 && echo there >dir/sub/new && stat -c %a dir/sub/new"
	out, _ := sh(t, r, look)
	want(t, "before", out, "644")
	for _, c := range []struct{ at, with []string }{
		{[]string{"dir/sub", "dir/sub/empty"}, []string{overlay.OpaqueName + "=x", "user.overlay.whiteout=y"}},
		{[]string{"dir/sub/full"}, []string{"user.overlay.metacopy="}}, // a copy of its attributes alone: it cannot be looked at
		{[]string{"dir/other"}, []string{"user.overlay.redirect=/dir/sub"}},
		{[]string{"dir/sub"}, []string{"system.posix_acl_default=" + closed}},
		{[]string{"dir/sub/full"}, []string{"user.off=1"}}, // a command could look at it
		{[]string{"dir/sub"}, []string{"user.off=1"}},
		{[]string{"dir/sub/full"}, []string{"system.posix_acl_access=" + other}}, // the mode stays
	} {
		for i, at := range c.at {
			name, value, _ := strings.Cut(c.with[i], "=")
			if err := unix.Setxattr(filepath.Join(r.tree.dir, at), name, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
				t.Skip("no such attributes here")
			} else if err != nil {
				t.Fatal(err)
			}
		}
		r.Forget()
		if _, err := r.Take(t.Context()); err == nil || !strings.Contains(err.Error(), c.at[len(c.at)-1]) {
			t.Errorf("%s at the gate: %v", c.with, err)
		}
		r.Close()
		r = confined(t, root)
		out, _ = sh(t, r, look)
		want(t, c.with[0]+", repaired", out, "644")
	}
}

// Nor does anybody choose when a file or directory was last read.
func TestAccessTime(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "dir/file", "text")
	if err := os.Symlink("file", filepath.Join(root, "dir/link")); err != nil {
		t.Fatal(err)
	}
	chosen := unix.Timespec{Sec: time.Now().Unix() + 3600} // no look changes a time after that of the last change
	for range 3 {
		r := confined(t, root)
		out, _ := sh(t, r, fmt.Sprintf("stat -c %%X dir dir/file dir/link | grep -c %d", chosen.Sec))
		want(t, "of a time that was chosen", out, "0")
		for _, name := range []string{"dir", "dir/file", "dir/link"} {
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(r.tree.dir, name), []unix.Timespec{chosen, {Nsec: unix.UTIME_OMIT}}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
}

// A time that somebody chose is a change, too.
func TestTouchedMeanwhile(t *testing.T) {
	root := project(t, home(t))
	for _, name := range []string{"a.txt", "dir"} {
		r := confined(t, root)
		if err := os.Chtimes(filepath.Join(r.tree.dir, name), time.Time{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		same := confined(t, root)
		if out, _ := sh(t, same, "stat -c %y dir/sub "+name+" | sort -u | wc -l"); same.tree.dir != r.tree.dir || out != "1\n" {
			t.Errorf("%s: of a run beside it: %s", name, out)
		}
		if err := os.Chtimes(filepath.Join(r.tree.dir, name), time.Time{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		r.Forget()
		if _, err := r.Take(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": "+name) {
			t.Errorf("%s: %v", name, err)
		}
		same.Close()
		r.Close()
	}
}
