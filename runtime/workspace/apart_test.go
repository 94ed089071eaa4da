//go:build linux

package workspace

import (
	"context"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Where git is run apart, who writes the files can exchange a directory while it reads, and back: a file in it keeps its status. The blob
// that counts is of what was hashed all the same.
func TestConvertedApart(t *testing.T) {
	r := newRepo(t)
	r.write(".gitattributes", "d/data text eol=crlf\n")
	r.write("d/data", "good\r\n")
	r.write("away/.gitattributes", "data -text\n")
	r.write("away/data", "bad\r\n")
	honest, err := Take(t.Context(), r.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	exchange := func() {
		if err := unix.Renameat2(unix.AT_FDCWD, r.path("d"), unix.AT_FDCWD, r.path("away"), unix.RENAME_EXCHANGE); err != nil {
			t.Error(err)
		}
	}
	asked := 0
	apart := func(ctx context.Context, c git.Call) (int, error) {
		if slices.Contains(c.Argv, "update-index") || slices.Contains(c.Argv, "check-attr") {
			asked++
			exchange()
			defer exchange()
		}
		return runHere(ctx, c)
	}
	s, err := Take(t.Context(), r.dir, Options{Git: apart})
	if err != nil {
		t.Fatal(err)
	}
	if asked == 0 {
		t.Fatal("git was not asked")
	}
	if s.Bytes != honest.Bytes || s.Tree != honest.Tree || !s.Exact {
		t.Errorf("tree %s of bytes %x, exact %v; want %s of %x", s.Tree, s.Bytes, s.Exact, honest.Tree, honest.Bytes)
	}
}
