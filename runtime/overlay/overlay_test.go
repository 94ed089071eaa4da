package overlay

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/regular"
)

// put makes files below dir: a path that ends in a slash is an empty directory, "name -> target" a link.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		full := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(full)
		if strings.HasSuffix(name, "/") {
			parent = full
		}
		err := os.MkdirAll(parent, 0o755)
		switch {
		case link:
			err = errors.Join(err, os.Symlink(target, full))
		case parent != full:
			err = errors.Join(err, os.WriteFile(full, []byte(filepath.Base(dir)+":"+name), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// all lists what a tree shows, with what is in its files.
func all(t *testing.T, files Files) (list []string) {
	t.Helper()
	var walk func(dir string)
	walk = func(dir string) {
		var names []fs.DirEntry
		if err := files.ReadDir(dir, func(some []fs.DirEntry) error { names = append(names, some...); return nil }); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, d := range names {
			full := strings.TrimPrefix(dir+"/"+d.Name(), "./")
			info, err := files.Lstat(full)
			if err != nil || info.Name() != d.Name() || info.Mode().Type() != d.Type() {
				t.Errorf("%s is listed as %v, and is %v, %v", full, d, info, err)
				continue
			}
			switch {
			case d.IsDir():
				list = append(list, full+"/")
				walk(full)
			case d.Type() == fs.ModeSymlink:
				target, err := files.Readlink(full)
				if err != nil {
					t.Error(err)
				}
				list = append(list, full+" -> "+target)
			case d.Type().IsRegular():
				list = append(list, full+" "+content(t, files, full))
			default:
				list = append(list, full+" "+d.Type().String())
			}
		}
	}
	walk(".")
	return list
}

func content(t *testing.T, files Files, name string) string {
	t.Helper()
	f, err := files.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func tree(t *testing.T, layers []string, mounts ...Mount) *Tree {
	t.Helper()
	files, err := New(layers, mounts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(files.Close)
	return files
}

// What is in several layers is that of the uppermost; a file hides a directory below it, and the other way round.
func TestLayers(t *testing.T) {
	dir := t.TempDir()
	up, low, least := filepath.Join(dir, "up"), filepath.Join(dir, "low"), filepath.Join(dir, "least")
	put(t, up, "a/one", "a/both", "file", "dir/x", "a/l -> ../dir")
	put(t, low, "a/both", "a/two", "file/below", "dir", "c/d/e")
	put(t, least, "a/both", "a/three", "dir/hidden", "c/d/f", "g")
	want := []string{
		"a/", "a/both up:a/both", "a/l -> ../dir", "a/one up:a/one", "a/three least:a/three", "a/two low:a/two",
		"c/", "c/d/", "c/d/e low:c/d/e", "c/d/f least:c/d/f", "dir/", "dir/x up:dir/x", "file up:file", "g least:g",
	}
	files := tree(t, []string{up, low, least})
	if got := all(t, files); !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
	for name, want := range map[string]string{"a/l/x": "up:dir/x", "./a/../g": "least:g", "c//d/e": "low:c/d/e", "a/l/../g": "least:g"} {
		if got := content(t, files, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"file/below", "dir/hidden", "none", "..", "a/../../g", "a/none/../one"} {
		if _, err := files.Stat(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// No link leads out of the tree, and a circle of links ends.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "out"), "secret")
	up, low := filepath.Join(dir, "up"), filepath.Join(dir, "low")
	put(t, low, "dir/file", "two/deep/file")
	put(t, up, "in -> dir/file", "over -> in", "d -> two/deep", "out -> ../out", "up -> ..", "abs -> "+filepath.Join(dir, "out", "secret"), "root -> "+up, "x -> y", "y -> x", "gone -> nowhere")
	files := tree(t, []string{up, low})
	for name, want := range map[string]string{"in": "low:dir/file", "over": "low:dir/file", "d/file": "low:two/deep/file", "d/../../in": "low:dir/file"} {
		if got := content(t, files, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"out/secret", "up/out/secret", "abs", "root/in", "x", "gone", "d/../../../out/secret"} {
		if f, err := files.Open(name); err == nil {
			f.Close()
			t.Errorf("%s is opened", name)
		}
		if _, err := files.Stat(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if info, err := files.Lstat("abs"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", info, err)
	}
}

// What is mounted at a path takes the place of what the layers have there, also where they have nothing, not even what it is in.
func TestMounts(t *testing.T) {
	dir := t.TempDir()
	up, low := filepath.Join(dir, "up"), filepath.Join(dir, "low")
	share, own, file := filepath.Join(dir, "share"), filepath.Join(dir, "own"), filepath.Join(dir, "file")
	put(t, up, "venv/hidden", "a/x")
	put(t, low, "venv/hidden", "f")
	put(t, share, "lib/RECORD", "lib/other")
	put(t, own, "lib/RECORD")
	put(t, dir, "file")
	files := tree(t, []string{up, low}, Mount{"venv", []string{own, share}}, Mount{"new/deep/share", []string{share}}, Mount{"f", []string{file}})
	want := []string{
		"a/", "a/x up:a/x", "f " + filepath.Base(dir) + ":file", "new/", "new/deep/", "new/deep/share/", "new/deep/share/lib/", "new/deep/share/lib/RECORD share:lib/RECORD",
		"new/deep/share/lib/other share:lib/other", "venv/", "venv/lib/", "venv/lib/RECORD own:lib/RECORD", "venv/lib/other share:lib/other",
	}
	if got := all(t, files); !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a")
	for _, files := range []Files{tree(t, []string{dir}), rootOf(t, dir)} {
		if _, err := files.Stat(strings.Repeat("a/", 1<<20) + "a"); err == nil {
			t.Error("a path of 2 MiB is there")
		}
		if _, err := files.Open("."); !errors.Is(err, regular.ErrKind) {
			t.Errorf("a directory is opened as a file: %v", err)
		}
		if err := files.ReadDir("a", func([]fs.DirEntry) error { return nil }); err == nil {
			t.Error("a file is read as a directory")
		}
		stop := errors.New("enough")
		if err := files.ReadDir(".", func([]fs.DirEntry) error { return stop }); err != stop {
			t.Errorf("it goes on: %v", err)
		}
	}
	if files, err := New([]string{filepath.Join(dir, "a")}); err == nil {
		files.Close()
		t.Error("a file is a tree")
	}
	if files, err := New([]string{filepath.Join(dir, "none")}); err == nil {
		files.Close()
		t.Error("nothing is a tree")
	}
}

func rootOf(t *testing.T, dir string) Dir {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return Dir{root}
}
