package workspace

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "--object-format="+format)
			if _, err := Resolve(t.Context(), r.dir, "HEAD", Options{}); !errors.Is(err, git.ErrNoCommit) {
				t.Errorf("unborn: %v", err)
			}
			r.write("a", "one\n")
			r.write("d/empty", "")
			r.write("d/e/f/deep", "deep\n")
			r.write("odd name ü", "x\x00y\n\n")
			r.write("new\nline", "nl")
			r.do(os.Symlink("../a", r.path("d/link")))
			r.do(os.Symlink("d/e", r.path("folder")))
			r.do(os.Symlink("loop", r.path("loop")))
			r.do(os.Symlink("/etc/passwd", r.path("absolute")))
			r.do(os.Symlink("../outside", r.path("up")))
			r.commit()
			id := r.git("rev-parse", "HEAD")
			r.write("a", "two\n")
			r.write("new", "n")
			r.do(os.RemoveAll(r.path("d")))
			var paths []string
			for _, n := range []string{"a", "d/empty", "new\nline", "d/e/f/deep"} {
				paths = append(paths, r.path(n))
			}
			for _, hints := range [][]string{nil, paths} {
				for _, rev := range []string{"HEAD", "@", id, strings.ToUpper(id), id[:12], id + "^{commit}", "refs/heads/" + r.git("symbolic-ref", "--short", "HEAD")} {
					c, err := Resolve(t.Context(), r.dir, rev, Options{}, hints...)
					if err != nil || c.ID != id || c.Tree != r.git("rev-parse", "HEAD^{tree}") || c.Hash != IsHash(strings.TrimSuffix(rev, "^{commit}")) {
						t.Fatalf("%s: %+v, %v", rev, c, err)
					}
					for name, want := range map[string]string{
						"a": "one\n", "d/empty": "", "d/e/f/deep": "deep\n", "odd name ü": "x\x00y\n\n", "new\nline": "nl",
						"d/link": "one\n", "folder/f/deep": "deep\n", "d/../a": "one\n",
					} {
						if got, err := c.ReadFile(t.Context(), r.path(name)); err != nil || string(got) != want {
							t.Errorf("%s: %s: %q, %v", rev, name, got, err)
						}
					}
					for _, name := range []string{"new", "d/absent", "absent/x", "a/x", "../outside", "loop", "absolute", "up"} {
						if got, err := c.ReadFile(t.Context(), r.path(name)); !errors.Is(err, fs.ErrNotExist) {
							t.Errorf("%s: %s: %q, %v", rev, name, got, err)
						}
					}
					if got, err := c.ReadFile(t.Context(), r.path("d")); err == nil || errors.Is(err, fs.ErrNotExist) {
						t.Errorf("a directory: %q, %v", got, err)
					}
				}
			}
		})
	}
}

// A link in the working tree does not move a file to another place of the commit.
func TestLinkedFolder(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("honest/routing.toml", "honest")
	r.write("other/routing.toml", "other")
	r.commit()
	r.do(os.RemoveAll(r.path("honest")))
	r.do(os.Symlink("other", r.path("honest")))
	c, err := Resolve(t.Context(), r.path("honest"), "HEAD", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.ReadFile(t.Context(), r.path("honest/routing.toml")); string(got) != "honest" {
		t.Errorf("%q, %v", got, err)
	}
	// A link above the working tree is followed.
	above := filepath.Join(t.TempDir(), "above")
	r.do(os.Symlink(r.dir, above))
	if got, err := c.ReadFile(t.Context(), filepath.Join(above, "honest/routing.toml")); string(got) != "honest" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit()
	first := r.git("rev-parse", "HEAD")
	r.git("tag", "-a", "-m", "x", "v1")
	r.git("tag", "-a", "-m", "x", "v1-again", "v1")
	r.write("a", "b")
	r.commit()
	r.git("branch", "feature/x", "HEAD~1")
	r.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
	r.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	r.git("checkout", "-q", "-b", "side", "HEAD~1")
	r.git("commit", "-q", "--allow-empty", "-m", "side")
	side := r.git("rev-parse", "HEAD")
	r.git("checkout", "-q", "-")
	r.git("merge", "-q", "--no-edit", "side")
	second := r.git("rev-parse", "HEAD^1")
	r.git("update-ref", "ORIG_HEAD", "v1^{commit}")
	for rev, want := range map[string]string{
		"HEAD^": second, "HEAD~1": second, "HEAD^2": side, "HEAD~2": first, "HEAD^2^": first, "HEAD^^": first, "HEAD~1^1": first, "side^0": side,
		"v1": first, "v1-again": first, "refs/tags/v1": first, "tags/v1": first, "v1^{}": first, r.git("rev-parse", "v1"): first, r.git("rev-parse", "v1") + "^{commit}": first,
		"feature/x": first, "heads/feature/x": first, "origin/main": first, "origin": first, "origin/HEAD": first, "ORIG_HEAD": first, side[:7]: side,
	} {
		c, err := Resolve(t.Context(), r.dir, rev, Options{})
		if err != nil || c.ID != want || c.Tree != r.git("rev-parse", want+"^{tree}") {
			t.Errorf("%s: %+v, %v; want %s", rev, c, err, want)
		}
	}
	for _, rev := range []string{
		"", "nope", "--all", "-h", "HEAD:a", "HEAD\nv1", "HEAD HEAD", "HEAD^{tree}", "HEAD^{blob}", "HEAD^{/all}", ":/all", ":a", "HEAD@{0}", "@{0}", "@{-1}", "@{u}",
		"HEAD~9", "HEAD^3", "HEAD~99999999999999999999", "HEAD..side", "HEAD^!", "HEAD~x", "HEAD^{commit", "refs/heads", "feature", "feature/*", "HEAD\x00", "refs/../HEAD",
		r.git("rev-parse", "HEAD^{tree}"), r.git("rev-parse", "HEAD:a"), strings.Repeat("1", 40), "./HEAD", "side/", "^", "~1",
	} {
		if c, err := Resolve(t.Context(), r.dir, rev, Options{}); !errors.Is(err, git.ErrNoCommit) {
			t.Errorf("%q: %+v, %v", rev, c, err)
		}
	}
	if _, err := Resolve(t.Context(), t.TempDir(), "HEAD", Options{}); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("outside: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Resolve(ctx, r.dir, "side", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Who may make a ref must not redirect a name that somebody else gives.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit()
	good := r.git("rev-parse", "HEAD")
	r.git("update-ref", "refs/remotes/origin/main", good)
	r.write("a", "evil")
	r.commit()
	evil := r.git("rev-parse", "HEAD")
	refs := []string{
		"refs/tags/origin/main", "refs/heads/origin/main", "refs/origin/main", "refs/remotes/origin/main/HEAD",
		"refs/heads/" + good[:7], "refs/tags/" + good, "refs/heads/refs/remotes/origin/main", "refs/tags/HEAD", "refs/heads/HEAD",
	}
	want := func(rev string, names ...string) {
		t.Helper()
		var a *AmbiguousError
		slices.Sort(names)
		c, err := Resolve(t.Context(), r.dir, rev, Options{})
		if !errors.As(err, &a) || !slices.Equal(a.Names, names) {
			t.Errorf("%s: %+v, %v; want %q", rev, c, err, names)
		}
	}
	means := func(rev, id string) {
		t.Helper()
		if c, err := Resolve(t.Context(), r.dir, rev, Options{}); err != nil || c.ID != id {
			t.Errorf("%s: %+v, %v; want %s", rev, c, err, id)
		}
	}
	for _, ref := range refs {
		if ref == "refs/remotes/origin/main/HEAD" {
			continue // cannot stand beside refs/remotes/origin/main
		}
		r.git("update-ref", ref, evil)
		switch ref {
		case "refs/heads/" + good[:7]:
			want(good[:7], ref, good)
		case "refs/tags/" + good:
			means(good, good)
		case "refs/heads/refs/remotes/origin/main":
			means("refs/remotes/origin/main", good)
		case "refs/tags/HEAD", "refs/heads/HEAD":
			means("HEAD", evil)
		default:
			want("origin/main", ref, "refs/remotes/origin/main")
			want("origin/main~1", ref, "refs/remotes/origin/main")
			means("refs/remotes/origin/main", good)
		}
		r.git("update-ref", "-d", ref)
	}
	// A file .git/NAME goes before every ref in git itself.
	r.do(os.MkdirAll(r.path(".git/origin"), 0o755))
	r.do(os.WriteFile(r.path(".git/origin/main"), []byte(evil+"\n"), 0o644))
	want("origin/main", ".git/origin/main", "refs/remotes/origin/main")
	// One that is missing is no other.
	r.git("update-ref", "-d", "refs/remotes/origin/main")
	r.git("update-ref", "refs/heads/refs/remotes/origin/main", evil)
	if c, err := Resolve(t.Context(), r.dir, "refs/remotes/origin/main", Options{}); !errors.Is(err, git.ErrNoCommit) {
		t.Errorf("%+v, %v", c, err)
	}
}

// A ref that git finds in two ways, which say two commits, names none: the verdict would be about another commit than is pushed.
func TestTwoWays(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "-b", "main")
	r.commit()
	good := r.git("rev-parse", "HEAD")
	r.write("a", "evil")
	r.commit()
	evil := r.git("rev-parse", "HEAD")
	refs := func(packed string, loose map[string]string) {
		t.Helper()
		for _, name := range []string{"refs/heads/main", "refs/heads/bb", "refs/tags/main"} {
			r.do(os.RemoveAll(r.path(".git/" + name)))
		}
		r.do(os.WriteFile(r.path(".git/packed-refs"), []byte(packed), 0o644))
		for name, text := range loose {
			if target, link := strings.CutPrefix(text, "-> "); link {
				r.do(os.Symlink(target, r.path(".git/"+name)))
				continue
			}
			r.do(os.WriteFile(r.path(".git/"+name), []byte(text+"\n"), 0o644))
		}
	}
	refused := func(rev, ref string) {
		t.Helper()
		if c, err := Resolve(t.Context(), r.dir, rev, Options{}); err == nil || !strings.Contains(err.Error(), "git reads "+ref+" in two ways, as ") {
			t.Errorf("%s: %+v, %v", rev, c, err)
		}
	}
	is := func(rev, id string) {
		t.Helper()
		if c, err := Resolve(t.Context(), r.dir, rev, Options{}); err != nil || c.ID != id {
			t.Errorf("%s: %+v, %v; want %s", rev, c, err, id)
		}
	}
	const header, main = "# pack-refs with: peeled fully-peeled sorted \n", " refs/heads/main\n"
	for _, h := range []string{header, ""} {
		for _, ids := range [][2]string{{good, evil}, {evil, good}} {
			refs(h+ids[0]+main+ids[1]+main, nil)
			refused("HEAD", "refs/heads/main")
			refused("main", "refs/heads/main")
			refused("refs/heads/main~1", "refs/heads/main")
			refs(h+ids[0]+main, map[string]string{"refs/heads/bb": ids[1], "refs/heads/main": "-> refs/heads/bb"})
			is("HEAD", ids[1]) // by the link it is of bb, and all of git says so
			refused("main", "refs/heads/main")
			is("bb", ids[1])
			refs(h+ids[0]+main, map[string]string{"refs/heads/bb": ids[1], "refs/tags/main": "-> refs/heads/bb"})
			refused("main", "refs/tags/main")
			is("HEAD", ids[0])
			is("heads/main", ids[0])
		}
	}
	// Git may be asked, and says one.
	refs("", map[string]string{"refs/heads/bb": good, "refs/heads/main": "ref: refs/heads/bb"})
	is("HEAD", good)
	is("main", good)
	refs(good+main+evil+" refs/heads/bb\n", nil) // git sorts it
	is("HEAD", good)
	is("bb", evil)
}

// The environment does not lead to other objects.
func TestResolveEnvironment(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	r.write("a", "good")
	r.commit()
	id := r.git("rev-parse", "HEAD")
	other.write("a", "evil")
	other.commit()
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR"} {
		t.Setenv(name, other.path(".git"))
	}
	t.Setenv("GIT_WORK_TREE", other.dir)
	for _, name := range []string{"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"} {
		t.Setenv(name, other.path(".git/objects"))
	}
	t.Setenv("GIT_NAMESPACE", "x")
	t.Setenv("GIT_GRAFT_FILE", other.path("a"))
	t.Setenv("GIT_SHALLOW_FILE", other.path("a"))
	t.Setenv("GIT_REPLACE_REF_BASE", "refs/heads/")
	for _, rev := range []string{"HEAD", id} {
		c, err := Resolve(t.Context(), r.dir, rev, Options{})
		if err != nil || c.ID != id {
			t.Fatalf("%s: %+v, %v", rev, c, err)
		}
		if got, err := c.ReadFile(t.Context(), r.path("a")); string(got) != "good" {
			t.Errorf("%s: %q, %v", rev, got, err)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	o := git.Output{Most: 10}
	if n, err := io.Copy(&o, strings.NewReader("0123456789")); n != 10 || err != nil || o.Cut {
		t.Error(n, err, o.Cut)
	}
	if _, err := io.Copy(&o, strings.NewReader("x")); err == nil || !o.Cut || o.Kept.Len() != 10 {
		t.Error(err, o.Cut, o.Kept.Len())
	}
}

func FuzzParseRev(f *testing.F) {
	for _, rev := range []string{"HEAD", "@", "HEAD~1^2", "v1^{}", "a^{commit}~", "HEAD@{0}", "~", "^{", "refs/heads/main", "x^99999999999999999999"} {
		f.Add(rev)
	}
	f.Fuzz(func(t *testing.T, rev string) {
		name, steps, ok := parseRev(rev)
		if !ok {
			return
		}
		if name == "" || name[0] == '-' || strings.ContainsAny(name, "\n\x00^~: ") {
			t.Errorf("%q gives the name %q", rev, name)
		}
		for _, s := range steps {
			if s.n < 1 || s.n > maxAncestor {
				t.Errorf("%q goes %d back", rev, s.n)
			}
		}
	})
}

func FuzzLookup(f *testing.F) {
	f.Add([]byte("100644 a\x0001234567890123456789"), "a")
	f.Add([]byte("40000 d\x0001234567890123456789100644 e\x00short"), "e")
	f.Add([]byte(""), "")
	f.Fuzz(func(t *testing.T, tree []byte, name string) {
		mode, id, err := git.FormatSHA1.Names(tree).Lookup(name)
		if err == nil && !bytes.Contains(tree, append([]byte(mode+" "+name+"\x00"), id[:20]...)) {
			t.Errorf("%q has no %q", tree, name)
		}
		often := git.FormatSHA1.Names(tree)
		for range 20 {
			if m, i, e := often.Lookup(name); e == nil && err == nil && (m != mode || i != id) || e == nil && err != nil {
				t.Errorf("%q: %q is %s %s at first, and %s %s, %v", tree, name, mode, id, m, i, e)
			}
		}
	})
}

// plant puts content in the place of a loose object.
func (r *repo) plant(id, kind string, content []byte) {
	r.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00", kind, len(content))
	_, _ = z.Write(content)
	r.do(z.Close())
	name := r.path(filepath.Join(".git/objects", id[:2], id[2:]))
	r.do(os.Remove(name))
	r.do(os.WriteFile(name, b.Bytes(), 0o444))
}

// An object that was overwritten in the repository is found out, whichever it is.
func TestOverwrittenObject(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		for _, what := range []string{"commit", "tag", "tree", "subtree", "blob"} {
			t.Run(format+" "+what, func(t *testing.T) {
				t.Parallel()
				r := newRepo(t, "--object-format="+format)
				r.write("d/routing.toml", "honest")
				r.commit()
				r.git("tag", "-a", "-m", "x", "v1")
				names := map[string]string{"commit": "HEAD", "tag": "v1", "tree": "HEAD^{tree}", "subtree": "HEAD:d", "blob": "HEAD:d/routing.toml"}
				id, tag := r.git("rev-parse", "HEAD"), r.git("rev-parse", "v1")
				target := r.git("rev-parse", names[what])
				// The same object of an evil commit.
				r.write("d/routing.toml", "evil")
				r.commit()
				r.git("tag", "-f", "-a", "-m", "x", "v1")
				evil := r.git("rev-parse", names[what])
				kind := r.git("cat-file", "-t", evil)
				content, err := r.command("cat-file", kind, evil).Output()
				r.do(err)
				r.plant(target, kind, content)
				for _, hints := range [][]string{nil, {r.path("d/routing.toml")}} {
					rev := id
					if what == "tag" {
						rev = tag
					}
					var got []byte
					c, err := Resolve(t.Context(), r.dir, rev, Options{}, hints...)
					if err == nil {
						got, err = c.ReadFile(t.Context(), r.path("d/routing.toml"))
					}
					if !errors.Is(err, ErrAltered) {
						t.Errorf("%q, %v", got, err)
					}
				}
			})
		}
	}
}

// Replacements and grafts do not stand in for a commit, its tree or its parents.
func TestReplaced(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "first")
	r.commit()
	first := r.git("rev-parse", "HEAD")
	r.write("a", "second")
	r.commit()
	second := r.git("rev-parse", "HEAD")
	r.git("commit", "-q", "--allow-empty", "-m", "third")
	third := r.git("rev-parse", "HEAD")
	r.git("replace", second, first)
	r.git("replace", r.git("rev-parse", second+":a"), r.git("rev-parse", first+":a"))
	r.do(os.MkdirAll(r.path(".git/info"), 0o755))
	r.do(os.WriteFile(r.path(".git/info/grafts"), []byte(third+" "+first+"\n"), 0o644))
	for _, rev := range []string{second, "HEAD^"} {
		c, err := Resolve(t.Context(), r.dir, rev, Options{})
		if err != nil || c.ID != second {
			t.Fatalf("%s: %+v, %v", rev, c, err)
		}
		if got, err := c.ReadFile(t.Context(), r.path("a")); string(got) != "second" {
			t.Errorf("%s: %q, %v", rev, got, err)
		}
	}
}

// Git takes a file in its own directory before any ref of that name.
func TestFileBeforeRef(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit()
	r.git("branch", "side")
	r.git("branch", "ORIG_HEAD")
	r.write("a", "evil")
	r.commit()
	for _, name := range []string{"side", "ORIG_HEAD"} {
		if _, err := Resolve(t.Context(), r.dir, name, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.write(".git/"+name, r.git("rev-parse", "HEAD")+"\n")
		var a *AmbiguousError
		if c, err := Resolve(t.Context(), r.dir, name, Options{}); !errors.As(err, &a) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// An ignore file that a sparse checkout left out hides what its blob says, and what was put in the place of that hides nothing.
func TestOverwrittenIgnore(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "ignored\n")
	r.write("a", "a")
	r.commit()
	r.git("config", "core.sparseCheckout", "true")
	r.git("update-index", "--skip-worktree", ".gitignore")
	r.do(os.Remove(r.path(".gitignore")))
	r.write("ignored", "x")
	r.write("planted", "x")
	if s := r.take(Options{}); s.Has("ignored") || !s.Has("planted") {
		t.Fatal("the ignore file of the index does not count")
	}
	r.plant(r.git("rev-parse", "HEAD:.gitignore"), "blob", []byte("planted\n"))
	if s := r.take(Options{}); !s.Has("planted") {
		t.Error("another content hides a file")
	}
}
