//go:build linux

package cleanroom

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/command-dialect/dialect/runtime/process"
)

// One command sees the edits, with the mode that the file had, and the next one does not; the checkout stays what it was.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name   string
		helper []string
	}{{"confined", []string{helperName}}, {"unconfined", nil}} {
		t.Run(c.name, func(t *testing.T) {
			root := project(t, home(t))
			r := enter(t, root, Options{Helper: c.helper, Cache: Cache()})
			if why := r.Unconfined(); why != "" && c.helper != nil {
				t.Skip(why)
			}
			if list := r.Files(); !slices.Equal(list, []string{".gitignore", "a.txt", "dir/sub/b.txt", "dir/untracked.txt", "run.sh"}) {
				t.Errorf("files: %q", list)
			}
			if text, err := r.ReadFile("dir/sub/b.txt"); err != nil || string(text) != "b\n" {
				t.Errorf("%q, %v", text, err)
			}
			if _, err := r.ReadFile("ignored.txt"); err == nil {
				t.Error("a file that is not of the snapshot is read")
			}
			l, err := process.New(process.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			s, err := r.Enter()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Edit([]Edit{{Path: "run.sh", Content: []byte("#!/bin/sh\necho broken\n")}, {Path: "new/c.txt", Content: []byte("c\n")}}); err != nil {
				t.Fatal(err)
			}
			if s.Edit([]Edit{{Path: "../out.txt"}}) == nil {
				t.Error("an edit leads out of the tree")
			}
			cmd := &process.Command{Argv: []string{"sh", "-c", "./run.sh; cat new/c.txt dir/sub/b.txt; git status --porcelain; git diff HEAD --exit-code; git diff --exit-code && git show HEAD:run.sh && git ls-files new"}, Dir: root, Env: os.Environ()}
			if err := s.Prepare(cmd); err != nil {
				t.Fatal(err)
			}
			res := l.Run(context.WithoutCancel(t.Context()), cmd)
			want(t, "with the edits", string(res.Stdout.Head)+string(res.Stderr.Head), "broken", "c", "b", "#!/bin/sh", "echo broken", "new/c.txt")
			if changed, err := s.End(t.Context()); err != nil || len(changed) > 0 {
				t.Errorf("%q, %v", changed, err)
			}
			out, _ := sh(t, r, "./run.sh >/dev/null && echo ran; test -e new/c.txt || echo gone; git status --porcelain; git log -1 --format=%s; git ls-files new")
			want(t, "the next command", out, "ran", "gone", "M  a.txt", "A  dir/untracked.txt", "first")
			r.Forget()
			if _, err := r.Take(t.Context()); err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(filepath.Join(root, "run.sh")); string(text) == "#!/bin/sh\necho broken\n" {
				t.Error("the working tree has the edit")
			}
		})
	}
}
