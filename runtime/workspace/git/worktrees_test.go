package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

func TestWorktrees(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `git init -q main && cd main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x &&
		git worktree add -q ../a && git worktree add -q ../b && git worktree add -q ../gone && rm -r ../gone && cd .. && git init -q other && mkdir none`)
	cmd.Dir, cmd.Env = base, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for dir, want := range map[string][]string{"main": {"a", "b"}, "a": {"main", "b"}, "b": {"main", "a"}, "other": nil, "none": nil} {
		var names []string
		for _, w := range git.Worktrees(filepath.Join(base, dir)) {
			names = append(names, filepath.Base(w))
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", dir, names, want)
		}
	}
}
