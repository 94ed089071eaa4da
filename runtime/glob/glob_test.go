package glob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files, and links where a name holds "->".
func tree(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, "->")
		full := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, full)
		default:
			err = os.WriteFile(full, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(t testing.TB, dir, pattern string) (list []string) {
	t.Helper()
	files, err := Expand(t.Context(), dir, pattern)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	for _, f := range files {
		rel, err := filepath.Rel(dir, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.ToSlash(rel))
	}
	return list
}

func TestExpand(t *testing.T) {
	dir := tree(t, "b.xml", "a.xml", "m/build/r/x.xml", "n/build/r/y.xml", "n/build/r/.z.xml", "n/d.xml/f", "[lit]/q.xml", "gone.xml->nowhere", "l->n")
	for pattern, want := range map[string]string{
		"*.xml":                      "a.xml b.xml",
		"./a.xml":                    "a.xml",
		"*/build/*/*.xml":            "l/build/r/.z.xml l/build/r/y.xml m/build/r/x.xml",
		"n/*.xml":                    "n/d.xml",
		"m/../b.xml":                 "b.xml",
		`\[lit\]/*`:                  "[lit]/q.xml",
		"*/q.x[l-n]l":                "[lit]/q.xml",
		"nothing/*/*.xml":            "",
		"a.xml/*":                    "",
		"../" + base(dir) + "/a.xml": "a.xml",
	} {
		if got := strings.Join(names(t, dir, pattern), " "); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	if got := names(t, dir, filepath.Join(dir, "a.xml")); !slices.Equal(got, []string{"a.xml"}) {
		t.Errorf("an absolute pattern: %q", got)
	}
	if _, err := Expand(t.Context(), dir, "a[/b"); err == nil {
		t.Error("a malformed pattern has no error")
	}
}

func base(dir string) string { return filepath.Base(dir) }

// A folder of links to itself has n^3 paths of three links, and one file.
func TestCircle(t *testing.T) {
	const n = 500
	list := []string{"r/x.xml"}
	for i := range n {
		list = append(list, fmt.Sprintf("r/l%d->.", i))
	}
	if got := names(t, tree(t, list...), "r/*/*/*/*.xml"); len(got) != 1 || !strings.HasSuffix(got[0], "/x.xml") {
		t.Errorf("%d files: %.200q", len(got), got)
	}
}

// A file is named once, whatever links to it there are.
func TestOnce(t *testing.T) {
	dir := tree(t, "b.xml", "c.xml->b.xml", "sub->.", "d.xml")
	if err := os.Link(filepath.Join(dir, "b.xml"), filepath.Join(dir, "a.xml")); err != nil {
		t.Skip(err)
	}
	if got := names(t, dir, "*.xml"); !slices.Equal(got, []string{"a.xml", "d.xml"}) {
		t.Errorf("%q", got)
	}
}

func TestBounds(t *testing.T) {
	dir := tree(t, "1", "2", "3", "4", "5")
	for _, c := range []struct {
		left, most int
		part       string
		ok         bool
	}{{5, 5, "*", true}, {5, 4, "*", false}, {4, 5, "*", false}, {5, 1, "[3]", true}, {4, 1, "*x", false}, {0, 1, "1", false}, {1, 1, "1", true}} {
		x := expansion{t.Context(), machine{}, filepath.Join, c.left, c.most}
		if _, err := x.next([]File{{Name: dir}}, c.part, true); errors.Is(err, ErrTooLarge) == c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, pattern := range []string{"*", "1"} {
		if _, err := Expand(ctx, dir, pattern); !errors.Is(err, context.Canceled) {
			t.Errorf("%s in a context that has ended: %v", pattern, err)
		}
	}
}

// Where no directory has two names the package agrees with package filepath.
func FuzzExpand(f *testing.F) {
	for _, p := range []string{"*", "*/*", "a", "a/*.x", "[a-b]*", `\*`, "../*", "a/../b.x", "./a//b", "?", "/", "", "[", "a/[^b]*"} {
		f.Add(p)
	}
	dir := tree(f, "a/b.x", "a/c", "b.x", "*", "d/e/f.x", "[")
	f.Fuzz(func(t *testing.T, pattern string) {
		if strings.HasPrefix(pattern, "/") || strings.Contains(pattern, "..") || strings.ContainsRune(pattern, 0) {
			return
		}
		files, err := Expand(t.Context(), dir, pattern)
		want, werr := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || werr != nil {
			return
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Name)
		}
		want = slices.DeleteFunc(want, func(name string) bool {
			_, err := os.Stat(name)
			return err != nil
		})
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	})
}
