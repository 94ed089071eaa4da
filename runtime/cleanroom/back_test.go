//go:build linux

package cleanroom

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// What a line that writes changed comes back to the working tree, file by file, and the next command sees it, with what it
// wrote of files that do not count.
func TestKeep(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	keep := func(text string) (err error) {
		t.Helper()
		s, res, err := in(t, r, []string{"sh", "-c", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%v %+v", err, res)
		}
		return s.Keep(t.Context())
	}
	before, _ := r.Take(t.Context())
	if err := os.Chmod(filepath.Join(root, "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for name, want := range map[string]os.FileMode{"a.txt": 0o600, "key": 0o600} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
			}
		}
	}()
	if err := keep(`umask 077; echo k > key; umask 022; echo new > a.txt; rm -r dir/sub; mkdir -p made/deep; echo x > made/deep/x; chmod +x dir/untracked.txt; rm link; ln -s a.txt link; echo mine > ignored.txt; echo out > ignored-out; rm run.sh; mkdir run.sh; echo in > run.sh/in`); err != nil {
		t.Fatal(err)
	}
	after, err := r.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live, err := workspace.Take(t.Context(), root, workspace.Options{})
	if err != nil || !live.Same(after) || after.Same(before) {
		t.Errorf("the snapshot after the line is not that of the working tree: %v", err)
	}
	files := `find . -path ./.git -prune -o -printf '%P %y %l\n' | sort | grep -v ignored; cat a.txt made/deep/x run.sh/in; test -x dir/untracked.txt && echo x`
	cmd := exec.Command("sh", "-c", files)
	cmd.Dir = root
	text, _ := cmd.Output()
	if out, _ := sh(t, r, files); out != string(text) || !strings.Contains(out, "made/deep/x f") || strings.Contains(out, "dir/sub") {
		t.Errorf("the next command sees\n%s\nand the working tree is\n%s", out, text)
	}
	if out, _ := sh(t, r, "cat ignored.txt ignored-out"); out != "mine\nout\n" {
		t.Errorf("what does not count: %s", out)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "ignored.txt")); string(text) != "live\n" {
		t.Errorf("an ignored file was written over: %s", text)
	}
	// Over somebody's edit nothing is brought back, not even the other files.
	put(t, root, "a.txt", "edited meanwhile\n")
	if err := keep("echo third > a.txt; echo third > third.txt"); err == nil || !strings.Contains(err.Error(), "edited meanwhile: a.txt") {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(text) != "edited meanwhile\n" {
		t.Errorf("an edit was written over: %s", text)
	}
	if _, err := os.Lstat(filepath.Join(root, "third.txt")); err == nil {
		t.Error("a part was brought back")
	}
	if out, _ := sh(t, r, "cat a.txt; ls third.txt 2>/dev/null"); out != "new\n" {
		t.Errorf("what was not kept is seen: %s", out)
	}
	// An edit of another file leaves later lines without a name for what they run on.
	put(t, root, "a.txt", "new\n")
	put(t, root, "other.txt", "edited elsewhere\n")
	if err := keep("echo fourth > fourth.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Enter(); err == nil || !strings.Contains(err.Error(), "other.txt") {
		t.Errorf("%v", err)
	}
	if _, err := r.Take(t.Context()); err == nil {
		t.Error("there is a snapshot of what has no name")
	}
}

// A commit in the room would be lost without a word: it is refused.
func TestKeepCommit(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	for _, text := range []string{"git -c user.name=t -c user.email=t commit -qm x", "git tag x", "git config a.b c", "git checkout -qb new"} {
		s, res, err := in(t, r, []string{"sh", "-c", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %v %+v", text, err, res)
		}
		if err := s.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), "it changed .git/") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
