package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// TestMain gives git a home of its own, so that no configuration of the machine's
// user has a say.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "workspace-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name := range map[string]bool{"GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_INDEX_FILE": true, "XDG_CONFIG_HOME": true} {
		_ = os.Unsetenv(name)
	}
	_ = os.Setenv("HOME", home)
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// A repo is a worktree that a test works in, with the git that a user has.
type repo struct {
	testing.TB
	dir string
}

func newRepo(t testing.TB, args ...string) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t, dir}
	r.git(append([]string{"init", "-q"}, args...)...)
	return r
}

// at is the repo as seen from another directory.
func (r *repo) at(dir string) *repo { return &repo{r.TB, dir} }

func (r *repo) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false", "-c", "core.fsync=none",
		"-c", "protocol.file.allow=always", "-c", "advice.addEmbeddedRepo=false", "-c", "maintenance.auto=false", // in the background
	}, args...)...)
	cmd.Dir = r.dir
	return cmd
}

func (r *repo) git(args ...string) string {
	r.Helper()
	var stdout, stderr bytes.Buffer
	cmd := r.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSuffix(stdout.String(), "\n")
}

func (r *repo) path(name string) string { return filepath.Join(r.dir, name) }

func (r *repo) write(name, content string) {
	r.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) do(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// commit commits everything, as a user would.
func (r *repo) commit() {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "all")
}

func (r *repo) take(o Options) *Snapshot {
	r.Helper()
	s, err := Take(context.Background(), r.dir, o)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// takeBoth takes a snapshot with the tracker and one without, which agree.
func (r *repo) takeBoth(t *Tracker) *Snapshot {
	r.Helper()
	s, err := t.Take(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	if fresh := r.take(t.options); !s.Same(fresh) || s.Exact != fresh.Exact {
		r.Fatalf("the tracker has tree %s (%s), bytes %x; a fresh snapshot %s (%s), %x; differing: %v",
			s.Tree, s.Reason, s.Bytes, fresh.Tree, fresh.Reason, fresh.Bytes, Diff(s, fresh))
	}
	return s
}

// changes renders a diff: "added a.txt (untracked)".
func changes(a, b *Snapshot) []string {
	var list []string
	for _, c := range Diff(a, b) {
		line := string(c.Kind) + " " + c.Path
		if c.Untracked {
			line += " (untracked)"
		}
		list = append(list, line)
	}
	return list
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// TestMuchOfRules: what .gitattributes files hold together is bounded, as each is kept; sparse ones take no disk.
func TestMuchOfRules(t *testing.T) {
	r := newRepo(t)
	for i := range 5 {
		r.write(fmt.Sprintf("d%d/.gitattributes", i), "")
		r.do(os.Truncate(r.path(fmt.Sprintf("d%d/.gitattributes", i)), maxRules/5))
	}
	if _, err := Take(context.Background(), r.dir, Options{}); err != nil {
		t.Errorf("as much as they may: %v", err)
	}
	r.write("d5/.gitattributes", "*.x text\n")
	var e *Error
	if _, err := Take(context.Background(), r.dir, Options{}); !errors.As(err, &e) || !strings.HasSuffix(e.Path, ".gitattributes") {
		t.Errorf("more than they may: %v", err)
	}
}

// TestManyIndexes: the paths of the indexes of all repositories below are bounded together.
func TestManyIndexes(t *testing.T) {
	idx, err := git.ParseIndex([]byte("H 100644 "+strings.Repeat("0", 40)+" 0\tabcd\x00"), git.FormatSHA1)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{paths: maxPaths - 8}
	for i, want := range []bool{true, true, false} {
		if err := w.hold("sub", &idx); (err == nil) != want {
			t.Errorf("index %d: %v", i, err)
		}
	}
}
