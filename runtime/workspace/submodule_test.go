package workspace

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// A file of a submodule is that of the commit that the outer one names for it, whatever is checked out, and not known where the
// submodule has no such commit here.
func TestSubmoduleFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sub := withSubmodule(r)
	sub.write("d/x", "old")
	sub.do(os.Symlink("d", sub.path("folder")))
	sub.do(os.Symlink("../a", sub.path("up")))
	sub.commit()
	r.commit()
	first := r.git("rev-parse", "HEAD")
	sub.write("d/x", "new")
	sub.write("d/y", "new")
	sub.commit()
	read := func(rev, name string) string {
		t.Helper()
		c, err := Resolve(t.Context(), r.dir, rev, Options{})
		r.do(err)
		text, err := c.ReadFile(t.Context(), r.path(name))
		f, lerr := c.Lookup(t.Context(), r.path(name))
		if f.File != (err == nil) || (lerr == nil) != (err == nil || errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("%s of %s: %+v, %v, and ReadFile says %v", name, rev, f, lerr, err)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "none"
		case err != nil:
			return "unknown"
		}
		return string(text)
	}
	for name, want := range map[string]string{
		"sub/in-sub": "s", "sub/d/x": "old", "sub/folder/x": "old", "sub/d/y": "none", "sub/up": "none", "sub/d/../../a": "a", "sub/none/x": "none", "sub/in-sub/x": "none", "a": "a",
	} {
		if got := read("HEAD", name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	c, err := Resolve(t.Context(), r.dir, "HEAD", Options{})
	r.do(err)
	if f, err := c.Lookup(t.Context(), r.path("sub/folder/x")); err != nil || len(f.Links) != 1 || f.Links[0] != "sub/folder -> d" {
		t.Errorf("links: %+v, %v", f, err)
	}
	r.commit()
	if got := read("HEAD", "sub/d/x") + " " + read(first, "sub/d/x"); got != "new old" {
		t.Errorf("after the submodule moved on: %s", got)
	}
	// What stands in its place is not asked: who takes the repository away makes nothing absent.
	inPlace := func(what string) {
		t.Helper()
		if got := read("HEAD", "sub/d/x"); got != "unknown" {
			t.Errorf("%s: %s", what, got)
		}
	}
	r.do(os.Rename(r.path("sub"), r.path("moved")))
	r.do(os.Symlink("moved", r.path("sub")))
	inPlace("through a link")
	r.do(os.Remove(r.path("sub")))
	inPlace("gone")
	r.do(os.Mkdir(r.path("sub"), 0o755))
	inPlace("not checked out")
	nested(r, "sub").commit()
	inPlace("another repository")
}
