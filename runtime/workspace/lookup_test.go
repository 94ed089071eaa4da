package workspace

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"a", "d/b", "d-c", "gone", "target"} {
		r.write(name, name)
	}
	r.write(".gitignore", "ignored\n")
	r.do(os.Symlink("target", r.path("link")))
	r.do(os.Symlink("d", r.path("folder")))
	r.do(os.Symlink("/etc/hostname", r.path("out")))
	r.commit()
	r.write("ignored", "x")
	r.write("untracked", "untracked")
	s := r.take(Options{})
	r.do(os.Remove(r.path("gone")))
	r.write("a", "changed since")
	above := filepath.Join(t.TempDir(), "above")
	r.do(os.Symlink(r.dir, above))
	for path, want := range map[string]string{
		r.path("a"): "a", r.path("d/b"): "d/b", r.path("d-c"): "d-c", r.path("gone"): "gone", r.path("link"): "target", r.path("folder/b"): "d/b",
		r.path("untracked"): "untracked", filepath.Join(above, "d/b"): "d/b",
	} {
		if sum, holds, counts := s.Lookup(path); !holds || !counts || sum != sha256.Sum256([]byte(want)) {
			t.Errorf("%s: %x, %t, %t", path, sum, holds, counts)
		}
	}
	for path, want := range map[string]bool{
		r.path("absent"): true, r.path("absent/x"): true, r.path("a/x"): false, r.path("d"): false,
		r.path("ignored"): false, r.path(".git/HEAD"): false, r.path("out"): false, "/etc/hostname": false, filepath.Join(r.dir, "..", "x"): false,
	} {
		if _, holds, counts := s.Lookup(path); holds || counts != want {
			t.Errorf("%s: %t, %t; want counts %t", path, holds, counts, want)
		}
	}
}
