package examples_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// proven is what the test reads of `dialect prove --json`.
type proven struct {
	Tested, Of int
	Place      string
	Lines      []struct{ Text, Outcome, Detail, Named, Receipt string }
}

// nodeModules are the tools of npm that `make test-deps` installs; empty where it was not called.
func nodeModules(t *testing.T) string {
	dir, err := filepath.Abs("testdata/controls/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".package-lock.json")); err != nil {
		return ""
	}
	return dir
}

// needed skips the test where one of some programs is not to be had.
func needed(t *testing.T, programs []string) {
	t.Helper()
	for _, p := range programs {
		if p == "node_modules" {
			if nodeModules(t) == "" {
				t.Skip("`make test-deps` was not called")
			}
			continue
		}
		path, err := exec.LookPath(p)
		if err != nil {
			t.Skip(err)
		}
		if p == "cargo" || p == "rustfmt" || p == "cargo-clippy" { // of rustup: a link, which may lead nowhere
			if out, err := exec.Command(path, "--version").CombinedOutput(); err != nil {
				t.Skipf("%s: %v\n%s", p, err, out)
			}
		}
	}
}

// A lab is a project whose checks are tested.
type lab struct {
	t   *testing.T
	dir string
	env []string
}

func newLab(t *testing.T, files map[string]string) *lab {
	t.Helper()
	l := &lab{t: t, dir: filepath.Join(t.TempDir(), "project"), env: environ()}
	for name, text := range files {
		write(t, filepath.Join(l.dir, filepath.FromSlash(name)), text)
	}
	if strings.Contains(files["routing.toml"], "node_modules") {
		if err := os.CopyFS(filepath.Join(l.dir, "node_modules"), os.DirFS(nodeModules(t))); err != nil {
			t.Fatal(err)
		}
	}
	git(t, l.dir, "init", "--quiet", "--initial-branch=main")
	git(t, l.dir, "add", ".")
	git(t, l.dir, "commit", "--quiet", "--message=begin")
	return l
}

// run runs dialect, and returns what it printed on standard output and standard error, and its exit status.
func (l *lab) run(args ...string) (stdout, stderr string, status int) {
	l.t.Helper()
	var out, diagnostics strings.Builder
	cmd := exec.Command(dialect, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = l.dir, l.env, &out, &diagnostics
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		l.t.Fatal(err)
	}
	return out.String(), diagnostics.String(), cmd.ProcessState.ExitCode()
}

// prove tests the checks of the project.
func (l *lab) prove() (p proven, stderr string) {
	l.t.Helper()
	out, stderr, status := l.run("prove", "--json")
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		l.t.Fatalf("exit %d: %v\n%s%s", status, err, out, stderr)
	}
	return p, stderr
}

// TestControls breaks what real tools look at. Each line of a project's want is "LINE: OUTCOME, part of the detail".
func TestControls(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a control runs in a clean checkout")
	}
	names, err := filepath.Glob("testdata/controls/*.txtar")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %q", err, names)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, programs, _ := strings.Cut(string(archive.Comment), "\nneeds: ")
			needed(t, strings.Fields(programs))
			files := make(map[string]string)
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			want := strings.Split(strings.TrimSpace(files["want"]), "\n")
			delete(files, "want")
			p, stderr := newLab(t, files).prove()
			if len(p.Lines) != len(want) {
				t.Fatalf("%d lines, want %d\n%s", len(p.Lines), len(want), stderr)
			}
			for i, line := range p.Lines {
				text, rest, _ := strings.Cut(want[i], ": ")
				outcomes, detail, _ := strings.Cut(rest, ", ")
				if line.Text != text || !slices.Contains(strings.Split(outcomes, "|"), line.Outcome) || !strings.Contains(line.Detail, detail) {
					t.Errorf("%s: %s, %s\n  it says: %s\n  want %s", line.Text, line.Outcome, line.Detail, line.Named, want[i])
				}
				if line.Receipt == "" {
					t.Errorf("%s: no receipt", line.Text)
				}
			}
		})
	}
}
