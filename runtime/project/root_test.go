package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestRootOfNamed: the nearest routing.toml decides where the tools of a matrix with another name run. It need not be a file of that matrix, but one
// that the baseline has in the same place.
func TestRootOfNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		files  map[string]string // of the baseline, beside a/strict.toml
		change func(t *testing.T, dir string)
		root   string // of the commit after it
		want   string
	}{
		"as it was":      {nil, func(*testing.T, string) {}, "", ""},
		"new":            {nil, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a/routing.toml"), "") }, "a", "a/routing.toml is new: it makes "},
		"new and nearer": {map[string]string{"routing.toml": ""}, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a/routing.toml"), "") }, "a", "a/routing.toml is new: it makes "},
		"gone":           {map[string]string{"a/routing.toml": ""}, func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "a/routing.toml")) }, "", "a/routing.toml is gone: "},
		"edited":         {map[string]string{"a/routing.toml": ""}, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a/routing.toml"), "# more\n") }, "a", ""},
		"farther": {map[string]string{"a/routing.toml": ""}, func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "a/routing.toml"))
			write(t, filepath.Join(dir, "routing.toml"), "")
		}, "", "a/routing.toml is gone: "},
		"an empty .git": {nil, func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "a/.git"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a/strict.toml": matrix, "a/x": ""}
			for name, text := range tt.files {
				files[name] = text
			}
			dir := folder(t, files)
			t.Chdir(dir)
			commit(t, dir)
			base, err := workspace.Resolve(t.Context(), dir, "HEAD", workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tt.change(t, dir)
			a := filepath.Join(dir, "a")
			named := filepath.Join(a, "strict.toml")
			m, _, err := LoadMatrix(a, named)
			if err != nil || m.Root != filepath.Join(dir, tt.root) {
				t.Fatalf("%v; the root is %s, want %q", err, m.Root, tt.root)
			}
			write(t, filepath.Join(dir, "a/x"), "more")
			commit(t, dir)
			compare := func(what string) {
				t.Helper()
				_, _, state, err := Trusted(t.Context(), nil, m, base.ID, "")
				if got := state.Complaint(); err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
					t.Errorf("%s: %v, %q, want %q", what, err, got, tt.want)
				}
			}
			compare("present")
			if state, err := Check(t.Context(), resolve.Matrix(m), base.ID); err != nil || (state.Complaint() == "") != (tt.want == "") {
				t.Errorf("at a gate: %v, %q, want %q", err, state.Complaint(), tt.want)
			}
			// Of a commit the root is that of the commit, whatever is here.
			if _, m, _, err = LoadMatrixOf(t.Context(), "HEAD", a, named); err != nil || m.Root != filepath.Join(dir, tt.root) {
				t.Errorf("%v; the root of the commit is %s, want %q", err, m.Root, tt.root)
			}
			compare("of the commit")
			if _, m, _, err = LoadMatrixOf(t.Context(), base.ID, a, named); err != nil {
				t.Fatal(err)
			}
			if _, _, state, err := Trusted(t.Context(), nil, m, base.ID, ""); err != nil || state.Complaint() != "" {
				t.Errorf("the baseline itself: %v, %q", err, state.Complaint())
			}
		})
	}
}

// TestPinOfNamed: the root that a file moves has no pin, and the one that the user pinned is around it.
func TestPinOfNamed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := folder(t, map[string]string{"a/strict.toml": matrix})
	t.Chdir(dir)
	commit(t, dir)
	a := filepath.Join(dir, "a")
	complaint := func() string {
		m, _, err := LoadMatrix(a, filepath.Join(a, "strict.toml"))
		if err != nil {
			t.Fatal(err)
		}
		if !policy.IsPinned(dir) {
			p, err := policy.New(resolve.Matrix(m), dir, time.Now(), nil)
			if err == nil {
				_, err = p.Save()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _, state, err := Trusted(t.Context(), nil, m, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return state.Complaint()
	}
	if got := complaint(); got != "" {
		t.Errorf("as it was: %q", got)
	}
	write(t, filepath.Join(a, "routing.toml"), "")
	commit(t, dir)
	if got := complaint(); !strings.Contains(got, "you pinned the project at "+dir) {
		t.Errorf("with a root of its own: %q", got)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
