package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// project is a matrix with a pinned file; git says whether it is committed.
func project(t *testing.T, git bool) (string, plan.Matrix) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	t.Setenv("HOME", t.TempDir())
	write(t, filepath.Join(dir, "routing.toml"), "# one\n")
	write(t, filepath.Join(dir, "Makefile"), "test:\n")
	if git {
		sh(t, dir, "git init -q . && git add . && git commit -qm x && git tag base")
	}
	return dir, plan.Matrix{
		Root: dir, SHA256: strings.Repeat("a", 64), Files: []string{filepath.Join(dir, "routing.toml")},
		Pins: []string{filepath.Join(dir, "Makefile"), filepath.Join(dir, "absent")},
	}
}

func check(t *testing.T, m plan.Matrix, base, want, complaint string) {
	t.Helper()
	s, err := Check(t.Context(), m, base)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Name(); got != want || !strings.Contains(s.Complaint(), complaint) || complaint == "" && s.Complaint() != "" {
		t.Errorf("%s: %q; want %s: %q", got, s.Complaint(), want, complaint)
	}
}

func TestCheck(t *testing.T) {
	dir, m := project(t, true)
	check(t, m, "", "unpinned", "")
	check(t, m, "base", "pinned", "")
	write(t, filepath.Join(dir, "Makefile"), "test: ;\n")
	check(t, m, "", "changed", "not that of HEAD: Makefile differs")
	sh(t, dir, "git commit -qam y")
	check(t, m, "", "unpinned", "")
	check(t, m, "base", "changed", "not that of base: Makefile differs")

	pin, err := New(m, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file, err := pin.Save()
	if err != nil {
		t.Fatal(err)
	}
	check(t, m, "", "pinned", "")
	write(t, filepath.Join(dir, "routing.toml"), "# two\n")
	write(t, filepath.Join(dir, "absent"), "here now\n")
	check(t, m, "", "changed", "absent is not in it, routing.toml differs")
	os.Remove(filepath.Join(dir, "Makefile"))
	check(t, m, "", "changed", "Makefile is gone")

	write(t, file, "damaged")
	if _, err := Check(t.Context(), m, ""); err == nil {
		t.Error("a damaged pin is no error")
	}
	if was, err := Remove(dir); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := Remove(dir); was || err != nil {
		t.Error(was, err)
	}
	if _, err := Check(t.Context(), m, "nowhere"); err == nil {
		t.Error("a base that is not there is no error")
	}
}

// Without a repository, or a commit, there is no yardstick; a git that is broken is
// no way around it.
func TestNoYardstick(t *testing.T) {
	dir, m := project(t, false)
	check(t, m, "", "unpinned", "")
	sh(t, dir, "git init -q .")
	check(t, m, "", "unpinned", "")
	sh(t, dir, "git add . && git commit -qm x")
	check(t, m, "", "unpinned", "")
	write(t, filepath.Join(dir, ".git", "config"), "[core\n")
	check(t, m, "", "changed", "cannot be held against HEAD")
}

// A file outside of the repository is in no commit.
func TestOutside(t *testing.T) {
	_, m := project(t, true)
	other := filepath.Join(t.TempDir(), "shared.toml")
	write(t, other, "# shared\n")
	m.Files = append(m.Files, other)
	check(t, m, "", "changed", "shared.toml is not in it")
}
