package workspace

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A commitCase is a worktree; the tree before a commit of everything must be that
// of the commit.
var commitCases = []struct {
	name  string
	init  []string // arguments of git init
	build func(r *repo)
	// absent is how many files a sparse checkout left out.
	absent int
}{
	{name: "empty", build: func(r *repo) {}},
	{name: "unborn", build: func(r *repo) { r.write("a.txt", "a\n"); r.write("d/e/f.txt", "f\n") }},
	{name: "sha256", init: []string{"--object-format=sha256"}, build: func(r *repo) {
		r.write("a.txt", "a\n")
		r.write("d/b.txt", "b\n")
	}},
	{name: "order of trees", build: func(r *repo) {
		for _, name := range []string{"a", "a.b", "a0", "a-b/x", "aa/x", "b/c", "b.c", "b0/c", "lib/x", "lib.go", "lib-x"} {
			r.write(name, name)
		}
	}},
	{name: "changed, removed, staged and not", build: func(r *repo) {
		for _, n := range []string{"same", "changed", "staged", "gone", "rm", "both"} {
			r.write(n, n)
		}
		r.commit()
		r.write("changed", "other")
		r.write("staged", "other")
		r.write("both", "one")
		r.git("add", "staged", "both")
		r.write("both", "two")
		r.do(os.Remove(r.path("gone")))
		r.git("rm", "-q", "rm")
		r.write("new/file", "new")
	}},
	{name: "links", build: func(r *repo) {
		r.write("a", "a")
		r.do(os.Symlink("a", r.path("to-file")))
		r.do(os.Symlink("nowhere", r.path("dangling")))
		r.do(os.Symlink("..", r.path("up")))
		r.do(os.Mkdir(r.path("d"), 0o755))
		r.do(os.Symlink(strings.Repeat("x/", 400), r.path("d/long")))
	}},
	{name: "file, link and directory swapped", build: func(r *repo) {
		r.write("file-to-link", "x")
		r.write("file-to-dir", "x")
		r.write("dir-to-file/a", "x")
		r.write("dir-to-link/a", "x")
		r.do(os.Symlink("file-to-dir", r.path("link-to-file")))
		r.commit()
		for _, n := range []string{"file-to-link", "file-to-dir", "dir-to-file", "dir-to-link", "link-to-file"} {
			r.do(os.RemoveAll(r.path(n)))
		}
		r.do(os.Symlink("x", r.path("file-to-link")))
		r.write("file-to-dir/a", "y")
		r.write("dir-to-file", "y")
		r.do(os.Symlink("file-to-dir", r.path("dir-to-link")))
		r.write("link-to-file", "y")
	}},
	{name: "executable bits", build: func(r *repo) {
		r.write("on", "x")
		r.write("off", "x")
		r.do(os.Chmod(r.path("off"), 0o755))
		r.commit()
		r.do(os.Chmod(r.path("on"), 0o744))
		r.do(os.Chmod(r.path("off"), 0o655)) // the owner's bit is what counts
		r.write("new", "x")
		r.do(os.Chmod(r.path("new"), 0o700))
	}},
	{name: "odd names", build: func(r *repo) {
		for _, n := range []string{
			"-dash", "--", "new\nline", "tab\t", "sp ace ", "quo\"te", "back\\slash", "*", "?", "[a]", "!bang", "#hash", ":(glob)x",
			"\xff\xfe", "\x01", "ä", "a\u0308", "日本", ".hidden", "...", "gitignore", ".gitx", "-d/-f", "S 100644", "\xffd/\xff",
		} {
			r.write(n, n)
		}
	}},
	{name: "empty directories", build: func(r *repo) {
		r.write("a", "a")
		r.do(os.MkdirAll(r.path("d/e/f"), 0o755))
	}},
	{name: "intent to add", build: func(r *repo) {
		r.write("a", "a")
		r.commit()
		r.write("n", "new")
		r.write("gone", "new")
		r.git("add", "-N", "n", "gone")
		r.do(os.Remove(r.path("gone")))
	}},
	{name: "tracked ignore files", build: func(r *repo) {
		r.write(".gitignore", "*.log\n/build/\n!keep.log\nsub/*.tmp\n**/deep/x\ntrail  \n\\#hash\n\\!bang\nnote[0-9].txt\n")
		r.write("sub/.gitignore", "!a.log\nonlyhere\n")
		r.git("add", ".gitignore", "sub/.gitignore")
		for _, n := range []string{
			"a.log", "keep.log", "build/x", "sub/build/x", "sub/a.log", "sub/b.log", "sub/y.tmp", "sub/sub/y.tmp",
			"q/deep/x", "deep/x", "trail", "#hash", "!bang", "note1.txt", "notex.txt", "sub/onlyhere", "onlyhere", "sub/s/onlyhere",
		} {
			r.write(n, n)
		}
	}},
	{name: "tracked in spite of ignore files", build: func(r *repo) {
		r.write(".gitignore", "ignored\n*.o\n__pycache__/\n")
		r.write("ignored/tracked", "t")
		r.write("ignored/deep/tracked", "t")
		r.write("x.o", "t")
		r.git("add", "-f", ".gitignore", "ignored", "x.o")
		r.write("ignored/not", "n")
		r.write("ignored/deep/not", "n")
		r.write("ignored/tracked", "changed")
		r.write("y.o", "n")
		r.write("__pycache__/a.pyc", "n")
	}},
	{name: "ignore file changed since", build: func(r *repo) {
		r.write(".gitignore", "a\n")
		r.commit()
		r.write(".gitignore", "\xef\xbb\xbfb\r\n")
		r.write("a", "a")
		r.write("b", "b")
	}},
	{name: "ignore file removed since", build: func(r *repo) {
		r.write(".gitignore", "a\n")
		r.commit()
		r.do(os.Remove(r.path(".gitignore")))
		r.write("a", "a")
	}},
	{name: "ignore file that is a link", build: func(r *repo) {
		r.write("patterns", "a\n")
		r.do(os.Symlink("patterns", r.path(".gitignore")))
		r.commit()
		r.write("a", "a")
	}},
	{name: "line ends by attributes", build: func(r *repo) {
		r.write("crlf-committed.txt", "a\r\nb\r\n")
		r.write("mixed.txt", "a\r\nb\n")
		r.commit()
		r.write(".gitattributes", "*.txt text=auto\n*.sh text eol=lf\n*.bat text eol=crlf\n*.bin -text\n*.forced text\n*.eol eol=crlf\n*.old crlf\n*.inp crlf=input\n*.not -crlf\n")
		for _, ext := range []string{"txt", "sh", "bat", "bin", "forced", "eol", "old", "inp", "not", "none"} {
			r.write("new."+ext, "a\r\nb\r\n")
			r.write("nul."+ext, "a\r\nb\x00\r\n")
			r.write("lone."+ext, "a\r\nb\rc\r\n")
			r.write("lf."+ext, "a\nb\n")
		}
		r.write("crlf-committed.txt", "a\r\nb\r\nc\r\n")
		r.write("mixed.txt", "a\r\nb\nc\r\n")
	}},
	{name: "core.autocrlf=true", build: func(r *repo) {
		r.write("before.txt", "a\r\nb\r\n")
		r.commit()
		r.git("config", "core.autocrlf", "true")
		r.write("before.txt", "a\r\nb\r\nc\r\n")
		r.write("new.txt", "a\r\nb\r\n")
		r.write("bin", "a\r\n\x00")
	}},
	{name: "core.autocrlf=input and eol", build: func(r *repo) {
		r.git("config", "core.autocrlf", "input")
		r.git("config", "core.eol", "crlf")
		r.write(".gitattributes", "b.txt -text\nc.txt text\n")
		for _, n := range []string{"a.txt", "b.txt", "c.txt"} {
			r.write(n, "a\r\nb\r\n")
		}
	}},
	{name: "attributes in directories, macros", build: func(r *repo) {
		r.write(".gitattributes", "[attr]conv text eol=lf\n*.a conv\n*.b binary\n")
		r.write("d/.gitattributes", "*.a !conv -text\n/x.b text\n")
		for _, n := range []string{"x.a", "d/x.a", "x.b", "d/x.b", "d/e/x.b"} {
			r.write(n, "1\r\n2\r\n")
		}
	}},
	{name: "ident and encoding", build: func(r *repo) {
		r.write(".gitattributes", "*.id ident\n*.u16 working-tree-encoding=UTF-16LE text\n")
		r.write("a.id", "$Id: 1234 $\n$Id$\n")
		r.write("a.u16", "h\x00i\x00\r\x00\n\x00")
	}},
	{name: "clean filters", build: func(r *repo) {
		r.git("config", "filter.pointer.clean", "git hash-object --stdin")
		r.git("config", "filter.pointer.required", "true")
		r.git("config", "filter.odd name.quote\"d.clean", `tr "a\\n" "b\\n"`)
		r.write(".gitattributes", "*.big filter=pointer -text\n*.tr filter=odd\n*.none filter=unconfigured\n*.off -filter\n")
		r.write("sub/.gitattributes", "*.big !filter\n")
		for _, n := range []string{"a.big", "sub/a.big", "sub/d/b.big", "a.tr", "a.none", "a.off"} {
			r.write(n, strings.Repeat(n+" aaa\n", 100))
		}
	}},
	{name: "filter that fails and is not required", build: func(r *repo) {
		r.git("config", "filter.broken.clean", "false")
		r.write(".gitattributes", "* filter=broken\n")
		r.write("a", "a")
	}},
	{name: "filter of the user", build: func(r *repo) {
		r.git("config", "--global", "filter.up.clean", "tr a-z A-Z")
		r.Cleanup(func() { r.git("config", "--global", "--unset", "filter.up.clean") })
		r.write(".gitattributes", "*.txt filter=up\n")
		r.write("a.txt", "shout\n")
	}},
	{name: "sparse checkout", absent: 3, build: func(r *repo) {
		r.write("in/a", "a")
		r.write("out/b", "b")
		r.write("out/.gitignore", "*.log\n")
		r.write("out/.gitattributes", "*.crlf text\n")
		r.write("top", "t")
		r.commit()
		r.git("sparse-checkout", "set", "in")
		r.write("in/a", "changed")
		r.write("in/new", "new")
	}},
	{name: "sparse checkout with files outside", absent: 2, build: func(r *repo) {
		r.write("in/a", "a")
		r.write("out/b", "b")
		r.write("out/.gitignore", "*.log\n")
		r.write("out/.gitattributes", "*.crlf text\n")
		r.commit()
		r.git("sparse-checkout", "set", "--no-cone", "/in/")
		r.write("out/b", "here after all")
		r.write("out/new", "new")
	}},
	{name: "sparse index", absent: 2, build: func(r *repo) {
		r.write("in/a", "a")
		r.write("out/b", "b")
		r.write("out/deep/c", "c")
		r.commit()
		r.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
	}},
	{name: "split index and version 4", build: func(r *repo) {
		r.write("a/b", "a")
		r.write("a/c", "a")
		r.commit()
		r.git("update-index", "--index-version", "4")
		r.git("update-index", "--split-index")
		r.write("a/d", "a")
		r.git("add", "a/d")
		r.write("a/b", "changed")
	}},
	{name: "submodule", build: func(r *repo) {
		withSubmodule(r)
		r.write("sub/dirty", "not recorded by the outer tree")
	}},
	{name: "submodule moved on", build: func(r *repo) {
		sub := withSubmodule(r)
		sub.write("more", "m")
		sub.commit()
	}},
	{name: "submodule not checked out", build: func(r *repo) {
		withSubmodule(r)
		r.git("submodule", "--quiet", "deinit", "-f", "sub")
	}},
	{name: "submodule removed", build: func(r *repo) {
		withSubmodule(r)
		r.do(os.RemoveAll(r.path("sub")))
	}},
	{name: "submodule by its old name is a file", build: func(r *repo) {
		withSubmodule(r)
		r.do(os.RemoveAll(r.path("sub")))
		r.write("sub", "file")
	}},
	{name: "nested repository", build: func(r *repo) {
		r.write("a", "a")
		nested(r, "d/n").commit()
		r.write("d/b", "b")
	}},
	{name: "nested repository, ignored", build: func(r *repo) {
		r.write(".gitignore", "n/\n")
		r.git("add", ".gitignore")
		nested(r, "n").commit()
	}},
	{name: "nested repository over tracked files", build: func(r *repo) {
		r.write("n/a", "a")
		r.commit()
		nested(r, "n").commit()
		r.write("n/a", "changed")
		r.write("n/new", "new")
	}},
	{name: "nested .git that is none", build: func(r *repo) {
		r.write("d/.git/x", "x")
		r.write("d/a", "a")
		r.write("e/.git", "gitdir: nowhere\n")
		r.write("e/a", "a")
	}},
}

// withSubmodule adds a submodule "sub" and returns it.
func withSubmodule(r *repo) *repo {
	r.Helper()
	other := newRepo(r)
	other.write("in-sub", "s")
	other.commit()
	r.write("a", "a")
	r.git("submodule", "--quiet", "add", other.dir, "sub")
	r.commit()
	return r.at(r.path("sub"))
}

// nested makes a repository inside another.
func nested(r *repo, name string) *repo {
	r.Helper()
	r.write(name+"/in-nested", "n")
	n := r.at(r.path(name))
	n.git("init", "-q")
	return n
}

func TestTreeIsThatOfTheCommit(t *testing.T) {
	for _, c := range commitCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, c.init...)
			c.build(r)
			tracker := NewTracker(r.dir, Options{})
			before := r.takeBoth(tracker)
			if before.Reason != "" {
				t.Fatalf("no tree: %s", before.Reason)
			}
			if before.Absent.Count != c.absent {
				t.Errorf("absent: %v, want %d", before.Absent, c.absent)
			}
			// Everything: git leaves out what is outside of the sparse checkout unless told.
			r.git("add", "-A", "--sparse")
			r.commit()
			want := r.git("rev-parse", "HEAD^{tree}")
			if before.Tree != want {
				t.Errorf("tree before the commit %s, of the commit %s\n%s", before.Tree, want, r.git("ls-tree", "-r", "HEAD"))
			}
			after := r.takeBoth(tracker)
			if !after.Same(before) {
				t.Errorf("the commit changed the snapshot: %v", changes(before, after))
			}
			if c, err := Resolve(context.Background(), r.dir, "HEAD", Options{}); err != nil || c.Tree != want {
				t.Errorf("Resolve = %+v, %v, want %s", c, err, want)
			}
		})
	}
}

func TestLinkedWorktreeAndDirectoriesBelow(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.write("project/routing.toml", "")
	r.commit()
	linked := r.at(filepath.Join(t.TempDir(), "linked"))
	r.git("worktree", "add", "-q", linked.dir)
	linked.write("only-here", "x")
	link := filepath.Join(t.TempDir(), "link")
	r.do(os.Symlink(linked.path("project"), link))
	for _, dir := range []string{linked.dir, linked.path("project"), link} {
		before := linked.at(dir).take(Options{})
		if before.Reason != "" || before.Root != linked.dir {
			t.Fatalf("from %s: root %s, reason %s", dir, before.Root, before.Reason)
		}
		equal(t, "untracked", before.Untracked.Paths, []string{"only-here"})
	}
	before := linked.take(Options{})
	linked.commit()
	if want := linked.git("rev-parse", "HEAD^{tree}"); before.Tree != want {
		t.Errorf("tree %s, want %s", before.Tree, want)
	}
	if main := r.take(Options{}); main.Tree == before.Tree {
		t.Error("the linked worktree was taken for the main one")
	}
}

// TestTreeOfRandomWorktrees compares with git what nobody thought of.
func TestTreeOfRandomWorktrees(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	base := newRepo(t)
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := base
		files, err := os.ReadDir(r.dir)
		r.do(err)
		for _, f := range files {
			if f.Name() != ".git" {
				r.do(os.RemoveAll(r.path(f.Name())))
			}
		}
		r.git("read-tree", "--empty")
		names := []string{"a", "b", "ab", "a.b", "A", "foo", "foo.o", "x[1]", "a b", "-", "{", "a\\b", "#", "!x", "ü", "build"}
		var paths []string
		for range 40 {
			p := names[rnd.IntN(len(names))]
			for rnd.IntN(2) == 0 {
				p += "/" + names[rnd.IntN(len(names))]
			}
			if os.MkdirAll(filepath.Dir(r.path(p)), 0o755) == nil {
				if os.WriteFile(r.path(p), []byte(strings.Repeat("x\r\n", rnd.IntN(3))), 0o644) == nil {
					paths = append(paths, p)
				}
			}
		}
		dirs := []string{"", "a/", "b/", "build/"}
		var ignores []string
		for _, d := range dirs[:1+rnd.IntN(len(dirs))] {
			if fi, err := os.Stat(r.path(d)); err != nil || !fi.IsDir() {
				continue
			}
			var b strings.Builder
			for range 1 + rnd.IntN(6) {
				b.WriteString(randomPattern(rnd, names))
				b.WriteByte('\n')
			}
			r.write(d+".gitignore", b.String())
			ignores = append(ignores, d+".gitignore")
		}
		// An ignore file that another one hides must be tracked before.
		r.git(append([]string{"--literal-pathspecs", "add", "-f", "--"}, ignores...)...)
		for _, p := range paths {
			if rnd.IntN(4) == 0 {
				if _, err := os.Lstat(r.path(p)); err == nil {
					r.git("--literal-pathspecs", "add", "-f", "--", p)
				}
			}
		}
		before := r.take(Options{})
		r.git("add", "-A")
		if want := r.git("write-tree"); before.Tree != want {
			var all strings.Builder
			for _, f := range ignores {
				content, _ := os.ReadFile(r.path(f))
				all.WriteString("--- " + f + "\n" + string(content))
			}
			var ours []string
			for _, e := range before.entries {
				ours = append(ours, e.path)
			}
			t.Fatalf("seed %d: tree %s (%s), git says %s\nours %q\ngit's %q\n%s", seed, before.Tree, before.Reason, want,
				ours, strings.Split(strings.TrimSuffix(r.git("ls-files", "-z"), "\x00"), "\x00"), all.String())
		}
	}
}

func randomPattern(rnd *rand.Rand, names []string) string {
	parts := []string{"*", "**", "?", "[ab]", "[!a]", "[a-f]*", "*.o", "a*", "*b", "[[:alpha:]]", "\\a", "**b", "a**", "x\\[1\\]", "[]a]", "[\\]a]", "*a*b"}
	var p string
	switch rnd.IntN(4) {
	case 0:
		p = "!"
	case 1:
		p = "/"
	}
	for i := range 1 + rnd.IntN(3) {
		if i > 0 {
			p += "/"
		}
		if rnd.IntN(2) == 0 {
			p += names[rnd.IntN(len(names))]
		} else {
			p += parts[rnd.IntN(len(parts))]
		}
	}
	if rnd.IntN(4) == 0 {
		p += "/"
	}
	if rnd.IntN(8) == 0 {
		p += strings.Repeat(" ", rnd.IntN(3)) + "\r"
	}
	if rnd.IntN(20) == 0 {
		p += strconv.Itoa(rnd.IntN(9))
	}
	return p
}
