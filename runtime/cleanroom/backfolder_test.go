//go:build linux

package cleanroom

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// A folder becomes a file or a link, a file a folder, and what was in the folder beside the files of the snapshot stays: then
// nothing is brought back.
func TestBackFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		change, beside string
		want           string // of the error
	}{
		"file":           {"rm -r build; echo f >build", "", ""},
		"link":           {"rm -r build; ln -s a.txt build", "", ""},
		"deep":           {"rm -r build; echo f >build", "mkdir -p build/empty/er", ""},
		"part of it":     {"rm -r build/sub; echo f >build/sub", "", ""},
		"folder":         {"rm a.txt; mkdir -p a.txt/b; echo x >a.txt/b/c", "", ""},
		"folder, empty":  {"rm -r build; mkdir build", "", ""},
		"there and back": {"rm -r build; mkdir -p build/x; echo x >build/x/y", "", ""},
		"a file beside":  {"rm -r build; echo f >build", "echo mine >build/out.cache", "what it wrote is not brought back, since build/out.cache is in the way, which is not in the snapshot (git ignores it, or it was made meanwhile): move it away, and run the line again"},
		"a link beside":  {"rm -r build; ln -s a.txt build", "mkdir build/logs; echo mine >build/logs/l; echo mine >build/m", "since build/logs/l is in the way"},
		"files beside":   {"rm -r build/sub; echo f >build/sub; echo n >new; echo g >a.txt", "echo mine >build/sub/z; echo mine >new", "since build/sub/z, new are in the way, which are not"},
		"above it":       {"mkdir -p new/deep; echo n >new/deep/f", "echo mine >new", "since new is in the way"},
		"both":           {"rm -r build; echo f >build", "echo mine >build/x; echo mine >build/y", "edited meanwhile: build/x; build/y is in the way"},
		"one edited":     {"rm -r build; echo f >build", "echo mine >build/x", "edited meanwhile: build/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, there := t.TempDir(), t.TempDir()
			put(t, root, "a.txt", "a\n")
			put(t, root, "build/x", "x\n")
			put(t, root, "build/sub/y", "y\n")
			if err := os.CopyFS(there, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			shell(t, there, tt.change)
			now, err := workspace.Take(t.Context(), root, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := workspace.Take(t.Context(), there, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			shell(t, root, tt.beside)
			before := shell(t, root, "find . | sort; cat build/x")
			var names []string
			for _, c := range workspace.Diff(now, theirs) {
				names = append(names, c.Path)
			}
			err = BringBack(t.Context(), now, Below(there), names)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				if after := shell(t, root, "find . | sort; cat build/x"); after != before {
					t.Errorf("it was %s, and is %s", before, after)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := workspace.Take(t.Context(), root, workspace.Options{})
			if err != nil || got.Bytes != theirs.Bytes {
				t.Errorf("%v: %s", err, shell(t, root, "find . -ls"))
			}
			if list, _ := filepath.Glob(filepath.Join(root, ".*")); len(list) > 0 {
				t.Errorf("left: %v", list)
			}
		})
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// TestBackMove has files be moved, and an end come at any moment: each is at its old place or at its new one.
func TestBackMove(t *testing.T) {
	for ends := range int64(40) {
		root, there := t.TempDir(), t.TempDir()
		put(t, root, "a/one", "the only one\n")
		put(t, root, "two", "the only two\n")
		put(t, there, "z/one", "the only one\n")
		put(t, there, "b/two", "the only two\n")
		now, err := workspace.Take(t.Context(), root, workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var left atomic.Int64
		left.Store(ends)
		err = BringBack(waning{t.Context(), &left}, now, Below(there), []string{"a/one", "b/two", "two", "z/one"})
		text := shell(t, root, "cat $(find . -type f)")
		if !strings.Contains(text, "only one") || !strings.Contains(text, "only two") {
			t.Fatalf("after %d looks: %v; what is left: %q", ends, err, text)
		}
	}
}
