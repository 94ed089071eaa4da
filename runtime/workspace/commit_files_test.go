package workspace

import (
	"errors"
	"testing"
)

func TestCommitFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	files := func(rev string, names ...string) (map[string][]byte, error) {
		var paths []string
		for _, n := range names {
			paths = append(paths, r.path(n))
		}
		return CommitFiles(t.Context(), r.dir, rev, paths, Options{})
	}
	if _, err := files("HEAD", "a"); !errors.Is(err, ErrNoCommit) {
		t.Errorf("unborn: %v", err)
	}
	r.write("a", "one\n")
	r.write("d/empty", "")
	r.write("odd name ü", "x\x00y\n\n")
	r.commit()
	r.write("a", "two\n")
	r.write("new", "n")
	got, err := files("HEAD", "a", "d/empty", "odd name ü", "new", "d", "absent/x", "../outside", "new\nline")
	if err != nil || len(got) != 3 || string(got[r.path("a")]) != "one\n" || got[r.path("d/empty")] == nil || string(got[r.path("odd name ü")]) != "x\x00y\n\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, rev := range []string{"nowhere", "HEAD:a", "--all", "", "HEAD\nHEAD", "HEAD HEAD"} {
		if got, err := files(rev, "a"); !errors.Is(err, ErrNoCommit) {
			t.Errorf("%q: %q, %v", rev, got, err)
		}
	}
	if _, err := CommitFiles(t.Context(), t.TempDir(), "HEAD", nil, Options{}); !errors.Is(err, ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
}
