package scope

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a", "a/b", false}, {"a/b", "a", false}, {"*.go", "x.go", true}, {"*.go", "d/x.go", false},
		{"**", "a", true}, {"**", "a/b/c", true}, {"**/*.go", "x.go", true}, {"**/*.go", "a/b/x.go", true}, {"**/*.go", "a/x.md", false},
		{"a/**", "a/b/c", true}, {"a/**", "b/a/c", false}, {"a/**/c", "a/c", true}, {"a/**/c", "a/b/b/c", true}, {"a/**/c", "a/b/c/d", false},
		{"**/a/**/b", "a/x/a/y/b", true}, {"**/a/**/b", "x/b", false}, {"**/**/x", "x", true}, {"[ab]", "a", true}, {"a*", "ab", true}, {"", "a", false},
	} {
		if got := match(strings.Split(c.pattern, "/"), strings.Split(c.path, "/")); got != c.want || c.pattern != "" && Names([]string{"none", c.pattern}, c.path) != got {
			t.Errorf("%s, %s: %v", c.pattern, c.path, got)
		}
	}
	if match([]string{"**"}, nil) {
		t.Error("a file outside is matched")
	}
	deep := strings.Split(strings.Repeat("a/", 2000)+"b", "/")
	if glob := strings.Split(strings.Repeat("**/a/", 2000)+"c", "/"); match(glob, deep) {
		t.Error("it matches")
	}
}

// TestDigests changes one thing after the other, and says which digests change by it.
func TestDigests(t *testing.T) {
	code, docs := []string{"**/*.go", "go.*"}, []string{"**/*.md"}
	both := append(append([]string{}, code...), docs...)
	base := map[string]string{"go.mod": "m", "a.go": "a", "in/b.go": "b", "README.md": "r", "data.txt": "d", "link -> README.md": "", "dir/x.md": "x", "to -> dir": ""}
	take := func(change map[string]string) (list [3]receipts.Hash) {
		t.Helper()
		dir := t.TempDir()
		files := make(map[string]string)
		for _, m := range []map[string]string{base, change} {
			for name, text := range m {
				files[name] = text
			}
		}
		for name, text := range files {
			link, target, isLink := strings.Cut(name, " -> ")
			path := filepath.Join(dir, filepath.FromSlash(link))
			if text == "-" {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			err := error(nil)
			if isLink {
				err = os.Symlink(target, path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := workspace.Take(t.Context(), dir, workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := Of(s)
		return [3]receipts.Hash{f.Digest(t.Context(), code), f.Digest(t.Context(), docs), f.Rest(both)}
	}
	was := take(nil)
	for _, h := range was {
		if h.IsZero() {
			t.Fatalf("no digest: %v", was)
		}
	}
	if again := take(nil); again != was {
		t.Errorf("another digest of the same files: %v, %v", was, again)
	}
	const none, c, d, r, nothing = "", "code", "docs", "rest", "code docs rest are none"
	for name, x := range map[string]struct {
		change map[string]string
		want   string
	}{
		"nothing":                         {nil, none},
		"an edit":                         {map[string]string{"in/b.go": "B"}, c},
		"a new file":                      {map[string]string{"c.go": "c"}, c},
		"a deleted file":                  {map[string]string{"a.go": "-"}, c},
		"a renamed file":                  {map[string]string{"a.go": "-", "z.go": "a"}, c},
		"a file renamed out of the scope": {map[string]string{"a.go": "-", "a.go.bak": "a"}, c + " " + r},
		"a file renamed to another scope": {map[string]string{"a.go": "-", "a.md": "a"}, c + " " + d},
		"a file that no pattern names":    {map[string]string{"data.txt": "D"}, r},
		"what a link leads to":            {map[string]string{"README.md": "R"}, d + " " + r},
		"what is behind a link":           {map[string]string{"dir/x.md": "X"}, d + " " + r},
		"a named link to an unnamed file": {map[string]string{"l.go -> data.txt": ""}, c},
		"the last file of a scope":        {map[string]string{"README.md": "-", "link -> README.md": "-", "dir/x.md": "-", "dir/y": "y"}, d + " " + r + " none"},
		"a link that leads out":           {map[string]string{"out -> /etc/hostname": ""}, nothing},
		"a link that leads out and back":  {map[string]string{"in/a.go -> ../../x/a.go": ""}, nothing},
		"a link to nothing":               {map[string]string{"lost -> nowhere": ""}, nothing},
	} {
		got := take(x.change)
		var list []string
		for i, name := range []string{c, d, r} {
			if got[i] != was[i] {
				list = append(list, name)
			}
		}
		text := strings.Join(list, " ")
		switch {
		case got == [3]receipts.Hash{}:
			text += " are none"
		case got[1].IsZero():
			text += " none"
		}
		if text != x.want {
			t.Errorf("%s: %q changes, want %q", name, text, x.want)
		}
	}
}

// TestThroughLinks changes files that are reached through links of directories, one inside of another, and round in a circle. A name that goes
// through such a link counts like any other, also where another line names the link.
func TestThroughLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	take := func(patterns []string) receipts.Hash {
		t.Helper()
		s, err := workspace.Take(t.Context(), dir, workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := Of(s).Digest(t.Context(), patterns)
		if h.IsZero() {
			t.Fatal("no digest")
		}
		return h
	}
	for _, name := range []string{"lib/f.py", "third/f", "shared/x", "pkg/own", "own/a", "deep/f", "beside"} {
		write(name, "1")
	}
	for link, target := range map[string]string{
		"src": "lib", "own/d": "../shared", "shared/l": "../third/f", "shared/more": "../pkg", "pkg/round": "../shared", "pkg/deep": "../deep",
	} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		patterns []string
		file     string
		want     bool
	}{
		{[]string{"src/*.py", "beside"}, "lib/f.py", true}, {[]string{"src/**/*.py", "beside"}, "lib/f.py", true}, {[]string{"*/f.py"}, "lib/f.py", true},
		{[]string{"src/*.py", "beside"}, "third/f", false}, {[]string{"s*", "beside"}, "third/f", false},
		{[]string{"own/**"}, "third/f", true}, {[]string{"own/**"}, "deep/f", true}, {[]string{"own/d/more/deep/f", "beside"}, "deep/f", true},
		{[]string{"own/a"}, "third/f", false}, {[]string{"own/**"}, "lib/f.py", false},
	} {
		write(x.file, "1")
		was := take(x.patterns)
		write(x.file, "2")
		if got := take(x.patterns) != was; got != x.want {
			t.Errorf("%q, %s: changed %v", x.patterns, x.file, got)
		}
	}
}

// TestPlace matches below the directory of the matrix, and nothing beside it.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"web/a.ts", "web/in/b.ts", "api/c.ts"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := workspace.Take(t.Context(), dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Place = "web"
	f := Of(s)
	if f.Digest(t.Context(), []string{"a.ts"}).IsZero() || !f.Digest(t.Context(), []string{"web/a.ts"}).IsZero() || !f.Digest(t.Context(), []string{"c.ts"}).IsZero() {
		t.Error("a pattern is of another directory")
	}
	whole := f.Rest([]string{"**"})
	if err := os.WriteFile(filepath.Join(dir, "api", "c.ts"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err = workspace.Take(t.Context(), dir, workspace.Options{}); err != nil {
		t.Fatal(err)
	}
	s.Place = "web"
	if Of(s).Rest([]string{"**"}) == whole {
		t.Error("a file of another project is in no digest")
	}
	if !f.Rest(nil).IsZero() || !f.Digest(t.Context(), nil).IsZero() {
		t.Error("a digest of no patterns")
	}
}

// links are links to one directory, or each to its own, with names below; looked counts the names that are looked at.
func links(n, names int, own bool, looked *int) *Files {
	f := new(Files)
	for i := range n {
		x := file{path: fmt.Sprintf("l/%05d", i), at: "d"}
		if own {
			x.at = fmt.Sprintf("d/%d", i)
		}
		x.parts, x.digest[0] = strings.Split(x.path, "/"), byte(i)
		x.below = func(yield func(string, bool) bool) {
			for i := range names {
				if *looked++; !yield(fmt.Sprintf("in/%d.txt", i), false) {
					return
				}
			}
		}
		f.list = append(f.list, x)
	}
	return f
}

// TestManyLinks: what links lead to is looked at once for each directory, and not for ever.
func TestManyLinks(t *testing.T) {
	patterns := []string{"*/*1/in/7.*", "**/*.py", "**/*.toml", "l/**/*.cfg"}
	for _, own := range []bool{false, true} {
		looked := 0
		f := links(5000, 3000, own, &looked)
		begin := time.Now() // for what takes minutes otherwise
		got := f.Digest(t.Context(), patterns)
		if most := maxLooks; got.IsZero() || looked > most || !own && looked > len(patterns)*3000 || time.Since(begin) > time.Minute {
			t.Errorf("own %v: %d names in %v", own, looked, time.Since(begin))
		}
		if again := f.Digest(t.Context(), patterns); again != got {
			t.Errorf("own %v: another digest of the same files", own)
		}
		// A link that nobody has looked through counts, so what it leads to counts, too.
		f.list[4998].digest[5]++
		if changed := f.Digest(t.Context(), patterns) != got; changed != own {
			t.Errorf("own %v: changed %v by a link that no pattern matches", own, changed)
		}
		f.list[1].digest[5]++
		if f.Digest(t.Context(), patterns) == got {
			t.Errorf("own %v: no change by a link that a pattern matches", own)
		}
	}
	looked := 0
	f := links(5000, 3000, true, &looked)
	ended, end := context.WithCancel(t.Context())
	end()
	if got := f.Digest(ended, patterns); !got.IsZero() || looked > 5000 {
		t.Errorf("%d names are looked at for nobody, digest %v", looked, got)
	}
	if f.list = append(f.list[:0], file{path: "x.py", parts: []string{"x.py"}}); f.Digest(ended, patterns).IsZero() {
		t.Error("what needs no look has no digest")
	}
}

// TestAfter compares what is left of a pattern after a part of a path with the pattern and the whole path.
func TestAfter(t *testing.T) {
	names := []string{"a", "b", "ab"}
	var globs, paths [][]string
	for _, list := range []struct {
		of   []string
		to   *[][]string
		most int
	}{{append([]string{"**", "a*"}, names...), &globs, 4}, {names, &paths, 3}} {
		*list.to = [][]string{nil}
		for from, n := 0, 0; n < list.most; n++ {
			for _, p := range (*list.to)[from:] {
				from++
				for _, name := range list.of {
					*list.to = append(*list.to, slices.Concat(p, []string{name}))
				}
			}
		}
		*list.to = (*list.to)[1:]
	}
	for _, glob := range globs {
		for _, p := range paths {
			for i := 1; i < len(p); i++ {
				rest := after(glob, p[:i])
				if got, want := len(rest) > 0, leadsOn(glob, p[:i]); got != want {
					t.Fatalf("%q leads on after %q: %v", glob, p[:i], got)
				}
				if got := slices.ContainsFunc(rest, func(g []string) bool { return match(g, p[i:]) }); got != match(glob, p) {
					t.Fatalf("%q, %q and %q: %v", glob, p[:i], p[i:], got)
				}
				if got := slices.ContainsFunc(rest, func(g []string) bool { return leadsOn(g, p[i:]) }); got != leadsOn(glob, p) {
					t.Fatalf("%q leads on after %q and %q: %v", glob, p[:i], p[i:], got)
				}
			}
		}
	}
}
