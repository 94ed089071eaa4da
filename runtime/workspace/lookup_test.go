package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/archive"
)

// Lookup has what the snapshot has, whatever is there by now: links, and what hides files, included.
func TestLookup(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"a", "d/b", "d-c", "gone", "target", "cache/kept", "put/x"} {
		r.write(name, name)
	}
	r.write(".gitignore", "ignored\n*.log\n/put/\n")
	r.write("d/.gitignore", "!ignored\nlow\n")
	for link, target := range map[string]string{
		"link": "target", "folder": "d", "far": "folder/../folder/b", "out": "/etc/hostname", "up": "../x", "round": "round", "lost": "nothing",
		"tolog": "m.log", "by.log": "target",
	} {
		r.do(os.Symlink(target, r.path(link)))
	}
	r.git("add", "-f", "cache/kept", "put/x")
	r.commit()
	r.write("ignored", "x")
	r.write("m.log", "x")
	r.write("d/ignored", "d/ignored")
	r.write("untracked", "untracked")
	r.write("beside", "x")
	r.write("nested/.gitignore", "a\n")
	r.write("nested/a", "nested/a")
	r.git("init", "-q", "nested")
	s := r.take(Options{Caches: []string{"cache"}, Except: []archive.Exempt{{Path: r.path("beside")}}})
	r.do(os.Remove(r.path("gone")))
	r.do(os.Remove(r.path("link")))
	r.do(os.Symlink("a", r.path("link")))
	r.write("a", "changed since")
	r.write("since", "x")
	above, within := filepath.Join(t.TempDir(), "above"), filepath.Join(t.TempDir(), "within")
	r.do(os.Symlink(r.dir, above))
	r.do(os.Symlink(r.path("d"), within))
	c, err := Resolve(t.Context(), r.dir, "HEAD", Options{})
	r.do(err)
	committed := []string{"a", "d/b", "gone", "link", "folder/b", "far", "cache/kept", "put/x", "lost", "tolog", "out", "up", "round", "untracked", "a/x"}
	for _, name := range committed {
		of, err := c.Lookup(t.Context(), r.path(name))
		if f := s.Lookup(r.path(name)); err != nil || name != "untracked" && (of.File != f.File || of.SHA256 != f.SHA256 || of.File && !slices.Equal(of.Links, f.Links)) {
			t.Errorf("%s: the commit has %+v, %v, and the snapshot %+v", name, of, err, f)
		}
	}
	for path, want := range map[string]struct {
		content string
		links   []string
	}{
		r.path("a"): {"a", nil}, r.path("d/b"): {"d/b", nil}, r.path("d-c"): {"d-c", nil}, r.path("gone"): {"gone", nil},
		r.path("link"): {"target", []string{"link -> target"}}, r.path("folder/b"): {"d/b", []string{"folder -> d"}},
		r.path("far"):       {"d/b", []string{"far -> folder/../folder/b", "folder -> d", "folder -> d"}},
		r.path("untracked"): {"untracked", nil}, filepath.Join(above, "d/b"): {"d/b", nil}, filepath.Join(within, "b"): {"d/b", nil},
		r.path("cache/kept"): {"cache/kept", nil}, r.path("put/x"): {"put/x", nil}, r.path("d/ignored"): {"d/ignored", nil}, r.path("nested/a"): {"nested/a", nil},
	} {
		if f := s.Lookup(path); !f.File || f.Outside || f.Hidden != "" || f.SHA256 != sha256.Sum256([]byte(want.content)) || !slices.Equal(f.Links, want.links) {
			t.Errorf("%s: %+v", path, f)
		}
	}
	const ignored, out = "is ignored", "is a link that leads out of the tree"
	for path, why := range map[string]string{
		r.path("absent"): "", r.path("absent/x"): "", r.path("a/x"): "", r.path("d"): "", r.path("since"): "", r.path("lost"): "",
		r.path("ignored"): ignored, r.path("absent.log"): ignored, r.path("absent.log/x"): ignored, r.path("tolog"): ignored, r.path("by.log"): ignored,
		r.path("d/x.log"): ignored, r.path("d/low"): ignored, r.path("put/y"): ignored, r.path("put/x/y"): ignored,
		r.path("cache/y"): "is in a cache, cache", r.path("d/cache/e/y"): "is in a cache, cache", r.path("beside"): "is beside the receipts",
		r.path(".git/HEAD"): "is inside of .git", r.path("nested/.git/x"): "is inside of .git", r.path("nested/b.log"): "",
		r.path("out"): out, r.path("up"): out, r.path("round"): "is a link that leads in a circle",
	} {
		if f := s.Lookup(path); f.File || f.Outside || f.Hidden != why {
			t.Errorf("%s: %+v; want %q", path, f, why)
		}
	}
	for _, path := range []string{"/etc/hostname", filepath.Join(r.dir, "..", "x"), r.dir} {
		if f := s.Lookup(path); !f.Outside {
			t.Errorf("%s: %+v", path, f)
		}
	}
}

// What git ignores is in no commit; what is tracked is, whatever is ignored.
func TestIgnoredIn(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "*.toml\n")
	r.write("a/routing.toml", "x")
	r.write("a/quality.dlct", "x")
	r.write("a/kept.toml", "x")
	r.git("add", "--force", ".gitignore", "a/kept.toml")
	equal(t, "ignored", IgnoredIn(t.Context(), r.path("a"), "routing.toml", "quality.dlct", "kept.toml", "absent.toml"), []string{"routing.toml", "absent.toml"})
	equal(t, "outside of a repository", IgnoredIn(t.Context(), t.TempDir(), "routing.toml"), nil)
}

// TestPassedOver has untracked files that count here, and that git add passes over: by an ignore file of their own folder, by info/exclude, and by the user's own.
func TestPassedOver(t *testing.T) {
	r := newRepo(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	over := func(want []string, wantAll bool) {
		t.Helper()
		s, err := Take(t.Context(), r.path(""), Options{})
		if err != nil {
			t.Fatal(err)
		}
		paths, all := s.PassedOver(t.Context())
		if equal(t, "passed over", paths, want); all != wantAll {
			t.Errorf("all: %v", all)
		}
	}
	r.write("a", "x")
	r.git("add", "a")
	over(nil, false)
	r.write("tools/_/.gitignore", "*\n")
	r.write("tools/_/b c", "x")
	r.write("tools/_/:d*", "x")
	over([]string{"tools/_/"}, true)
	r.write("new", "x")
	r.write("local", "x")
	r.write(".git/info/exclude", "/local\n")
	over([]string{"local", "tools/_/"}, false)
	excludes := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "git", "ignore")
	if err := os.MkdirAll(filepath.Dir(excludes), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(excludes, []byte("/new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	over([]string{"local", "new", "tools/_/"}, true)
	r.git("config", "core.excludesFile", "/dev/null")
	over([]string{"local", "tools/_/"}, false)
}

// TestLongWays: links in a deep folder, and those whose targets go up and down, are followed as far as there is time, and the rest is unknown.
func TestLongWays(t *testing.T) {
	deep := strings.Repeat("d/", 1900)
	for _, c := range []struct {
		links   int
		target  string
		unknown bool
	}{
		{5000, "f", false},
		{5000, strings.Repeat("../d/", 800) + "f", true},
	} {
		list := entryList{{path: deep + "f", kind: kindFile}}
		for i := range c.links {
			list = append(list, &entry{path: fmt.Sprintf("%sl%04d", deep, i), kind: kindLink, target: c.target})
		}
		unknown := 0
		(&Snapshot{entries: list}).Entries(func(e Entry) {
			if e.Unknown {
				unknown++
			}
		})
		if (unknown > 0) != c.unknown {
			t.Errorf("%.10s...: %d of %d are unknown", c.target, unknown, c.links)
		}
		if _, _, _, why := list.follow("", deep+"l0000"); why != leadsFar {
			t.Errorf("%.10s...: %q", c.target, why)
		}
	}
}

// A folder in which many names are looked for, and few of them are, has the same answers for the first and for the last; none once the question was taken back.
func TestManyLookups(t *testing.T) {
	r := newRepo(t)
	for i := range 40 {
		r.write(fmt.Sprintf("d/f%d", i), fmt.Sprint(i))
	}
	r.git("add", "-A")
	r.commit()
	c, err := Resolve(t.Context(), r.dir, "HEAD", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for i := range 41 {
			content, err := c.ReadFile(t.Context(), filepath.Join(r.dir, "d", fmt.Sprintf("f%d", i)))
			if i == 40 && !errors.Is(err, fs.ErrNotExist) || i < 40 && (err != nil || string(content) != fmt.Sprint(i)) {
				t.Errorf("f%d: %q, %v", i, content, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ReadFile(ctx, filepath.Join(r.dir, "d", "f0")); !errors.Is(err, context.Canceled) {
		t.Errorf("taken back: %v", err)
	}
}
