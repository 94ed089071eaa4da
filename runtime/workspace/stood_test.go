//go:build linux

package workspace

import (
	"os"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/archive"
)

// Each case builds what a commit of everything does not hold, in a worktree whose Tree is
// that of HEAD. Where beyond is empty a clone may do without it.
var stoodCases = []struct {
	name   string
	ignore string // the tracked .gitignore
	build  func(r *repo)
	beyond []string
}{
	{"a file in a cache", "", func(r *repo) { r.write("lib/.pytest_cache/conf", "x") }, []string{"lib/.pytest_cache: a cache"}},
	{"deep in a cache", "", func(r *repo) { r.write("__pycache__/a/b/conf", "x") }, []string{"__pycache__: a cache"}},
	{"a repository in a cache", "", func(r *repo) { r.write(".mypy_cache/.git/conf", "x") }, []string{".mypy_cache: a cache"}},
	{"a link in a cache", "", func(r *repo) {
		r.do(os.Mkdir(r.path(".ruff_cache"), 0o755))
		r.do(os.Symlink("/etc/passwd", r.path(".ruff_cache/conf")))
	}, []string{".ruff_cache: a cache"}},
	{"a cache hidden by its own ignore file", "", func(r *repo) {
		r.write(".pytest_cache/.gitignore", "*\n")
		r.write(".pytest_cache/conf", "x")
	}, []string{".pytest_cache: a cache"}},
	{"a file beside tracked ones in a cache", "", func(r *repo) {
		r.write("__pycache__/t", "tracked")
		r.git("add", "-f", ".")
		r.commit()
		r.write("__pycache__/conf", "x")
	}, []string{"__pycache__: a cache"}},
	{"an empty cache", "", func(r *repo) { r.do(os.Mkdir(r.path("__pycache__"), 0o755)) }, []string{"__pycache__: an empty directory"}},
	{"a store that is being made", "", func(r *repo) { r.do(os.Mkdir(r.path(".dialect"), 0o755)) }, nil},
	{"a stranger in .dialect", "", func(r *repo) { r.write(".dialect/conf", "x") }, []string{".dialect: .dialect/conf, not of dialect"}},
	{"a store", "", func(r *repo) {
		r.write("d/routing.toml", "")
		r.commit()
		for _, n := range []string{"store/receipts.db", "store/receipts.db-wal", ".gitignore", "log/redact", "log/runs/r-0123456789abcdef", "log/sha256/ab/" + strings.Repeat("c", 62), "lock/x"} {
			r.write("d/.dialect/"+n, "x")
		}
	}, nil},
	{"other names among the logs of the root", "", func(r *repo) { r.write(".dialect/log/strict-off", "x") }, []string{".dialect: .dialect/"}},
	{"a file among the blobs", "", func(r *repo) { r.write(".dialect/log/sha256/ab/off", "x") }, []string{".dialect: .dialect/"}},
	{"a folder in the place of a store's file", "", func(r *repo) { r.write(".dialect/store/receipts.db-audit/off", "x") }, []string{".dialect: .dialect/"}},
	{"a folder in the place of a lock", "", func(r *repo) { r.write(".dialect/lock/d/off", "x") }, []string{".dialect: .dialect/"}},
	{"a link in the place of a run", "", func(r *repo) {
		r.write(".dialect/log/runs/x", "x")
		r.do(os.Rename(r.path(".dialect/log/runs/x"), r.path(".dialect/log/redact")))
		r.do(os.Symlink("../redact", r.path(".dialect/log/runs/r-0123456789abcdef")))
	}, []string{".dialect: .dialect/"}},
	{"a file in the place of the logs", "", func(r *repo) { r.write(".dialect/log", "x") }, []string{".dialect: .dialect/"}},
	{"names of a store's in a folder without a matrix", "", func(r *repo) { r.write("d/.dialect/store/receipts.db", "x") }, []string{"d/.dialect: a cache"}},
	{"other names among the logs", "", func(r *repo) {
		r.write("d/routing.toml", "")
		r.commit()
		r.write("d/.dialect/log/strict-off", "x")
	}, []string{"d/.dialect: d/.dialect/log/strict-off, not of dialect"}},
	{"an ignored cache", "__pycache__/\n.pytest_cache\n", func(r *repo) {
		r.write("lib/__pycache__/a.pyc", "x")
		r.write(".pytest_cache/v/x", "x")
	}, nil},
	{"a cache of ignored files", "*.py[cod]\n", func(r *repo) { r.write("lib/__pycache__/a.cpython-312.pyc", "x") }, nil},
	{"a cache in an ignored directory", "venv/\n", func(r *repo) { r.write("venv/lib/__pycache__/conf", "x") }, nil},
	{"a cache of the project's own", "", func(r *repo) { r.write(".tox/conf", "x") }, nil},

	{"an empty directory", "", func(r *repo) { r.do(os.MkdirAll(r.path("d/out/deep"), 0o755)) }, []string{"d/out/deep: an empty directory"}},
	{"an ignored empty directory", "out/\n", func(r *repo) { r.do(os.MkdirAll(r.path("d/out/deep"), 0o755)) }, nil},
	{"a directory of ignored files", "*.o\n", func(r *repo) { r.write("obj/a.o", "x") }, nil},
	{"an empty submodule directory", "", func(r *repo) { withSubmodule(r); r.do(os.Mkdir(r.path("sub/out"), 0o755)) }, []string{"sub/out: an empty directory"}},

	{"a file named .git", "", func(r *repo) { r.write("data/x", "x"); r.commit(); r.write("data/.git", "conf") }, []string{"data/.git: no commit holds"}},
	{"a file named .git alone", "", func(r *repo) { r.write("data/.git", "conf") }, []string{"data/.git: no commit holds"}},
	{"a directory named .git", "", func(r *repo) { r.write("data/x", "x"); r.commit(); r.write("data/.git/conf", "x") }, []string{"data/.git/conf: no commit holds"}},
	{"a file named .git, ignored", ".git\ndata\n", func(r *repo) { r.write("data/.git", "conf") }, nil},
	{"a file named .git in a submodule", "", func(r *repo) { withSubmodule(r); r.write("sub/data/.git", "conf") }, []string{"sub: a submodule", "sub/data/.git: no commit holds"}},
}

func TestStood(t *testing.T) {
	for _, c := range stoodCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write("a", "a")
			r.write(".gitignore", c.ignore)
			r.commit()
			c.build(r)
			o := Options{Caches: []string{".tox"}}
			tracker := NewTracker(r.dir, o)
			s := r.takeBoth(tracker)
			if s.Tree != r.git("rev-parse", "HEAD^{tree}") {
				t.Fatalf("the tree is not that of HEAD: %s", s.Reason)
			}
			ok := s.Beyond.Count == len(c.beyond) && len(s.Beyond.List) == len(c.beyond) && s.Exact == (len(c.beyond) == 0)
			for i := range c.beyond {
				ok = ok && strings.HasPrefix(s.Beyond.List[i].String(), c.beyond[i])
			}
			if !ok {
				t.Errorf("exact %v, beyond %v; want %q", s.Exact, s.Beyond.List, c.beyond)
			}
			tracker.Forget()
			if again := r.takeBoth(tracker); again.Exact != s.Exact {
				t.Errorf("a second snapshot says %v", again.Beyond.List)
			}
		})
	}
}

// TestBeside: of a store that was named, in the worktree, as little is exempt as of a project's own.
func TestBeside(t *testing.T) {
	for name, c := range map[string]struct {
		file, link string
		beyond     string
	}{
		"the files of a store":          {file: "d/r.db-wal"},
		"a blob":                        {file: "d/r.db.log/sha256/ab/" + strings.Repeat("c", 62)},
		"a run":                         {file: "d/r.db.log/runs/r-0123456789abcdef"},
		"another name in the log":       {file: "d/r.db.log/off", beyond: "d/r.db.log: d/r.db.log/"},
		"another name among the blobs":  {file: "d/r.db.log/sha256/ab/off", beyond: "d/r.db.log: d/r.db.log/"},
		"a folder in the place of one":  {file: "d/r.db-audit/off", beyond: "d/r.db-audit: a directory"},
		"the store itself is a folder":  {file: "d/r.db/off", beyond: "d/r.db: a directory"},
		"a link in the place of a file": {link: "d/r.db-journal", beyond: "d/r.db-journal"},
		"a file in the place of a log":  {file: "d/r.db.log", beyond: "d/r.db.log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write("a", "a")
			r.write("d/a", "a")
			r.commit()
			if c.file != "" {
				r.write(c.file, "x")
			} else {
				r.do(os.Symlink("a", r.path(c.link)))
			}
			s := r.takeBoth(NewTracker(r.dir, Options{Except: archive.Except(r.dir, r.path("d/r.db"))}))
			clone := s.Exact && s.Tree == r.git("rev-parse", "HEAD^{tree}")
			if clone != (c.beyond == "") || s.Exact && c.beyond != "" && s.LookupIn(c.beyond).File == false || !s.Exact && !strings.HasPrefix(s.Beyond.List[0].String(), c.beyond) {
				t.Errorf("exact %v, beyond %v; want %q", s.Exact, s.Beyond.List, c.beyond)
			}
		})
	}
}

// TestLocked: a snapshot reads nothing of a store. A folder there that another user has made, and that this one cannot read, may hold anything.
func TestLocked(t *testing.T) {
	if asOther(t) {
		return
	}
	for _, locked := range []string{"log/sha256/e1", "log/runs", "lock", ""} {
		r := newRepo(t)
		r.write("a", "a")
		r.commit()
		r.write(".dialect/log/redact", "x")
		r.do(os.MkdirAll(r.path(".dialect/"+locked), 0o755))
		r.do(os.Chmod(r.path(".dialect/"+locked), 0))
		defer os.Chmod(r.path(".dialect/"+locked), 0o755)
		s := r.takeBoth(NewTracker(r.dir, Options{}))
		path := strings.TrimSuffix(".dialect/"+locked, "/")
		if s.Tree != r.git("rev-parse", "HEAD^{tree}") || s.Exact || s.Beyond.Count != 1 || !strings.HasPrefix(s.Beyond.List[0].String(), ".dialect: the folder "+path+" in it cannot be read: ") {
			t.Errorf("%q: tree %s, exact %v, beyond %q", locked, s.Tree, s.Exact, s.Beyond.List)
		}
		r.write("a", "b")
		if _, err := Take(t.Context(), r.dir, Options{}); err != nil {
			t.Errorf("%q: %v", locked, err)
		}
	}
}

// TestNamed: a cache that the matrix names may stand there, as one that a tracked ignore file names may; a .dialect may not.
func TestNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit()
	r.write("lib/.pytest_cache/conf", "x")
	r.write(".mypy_cache/conf", "x")
	r.write(".dialect/conf", "x")
	s := r.takeBoth(NewTracker(r.dir, Options{Caches: []string{".pytest_cache", ".dialect"}}))
	const want = " a cache that stood there before the run: a clone lacks it; remove it, or ignore it in a tracked .gitignore, or name it in `caches` of routing.toml"
	if s.Exact || s.Beyond.Count != 2 || !strings.HasPrefix(s.Beyond.List[0].String(), ".dialect: .dialect/conf, not of") || s.Beyond.List[1].String() != ".mypy_cache:"+want {
		t.Errorf("exact %v, beyond %q", s.Exact, s.Beyond.List)
	}
}

// TestCameDuring: what the commands of a run leave in a cache, and a directory that they
// make, is not beyond the tree that they ran on.
func TestCameDuring(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit()
	tracker := NewTracker(r.dir, Options{})
	if s := r.takeBoth(tracker); !s.Exact {
		t.Fatal(s.Beyond.List)
	}
	r.write("lib/.pytest_cache/v/x", "x")
	r.do(os.Mkdir(r.path("out"), 0o755))
	for range 2 {
		s, err := tracker.Take(t.Context())
		r.do(err)
		if !s.Exact {
			t.Errorf("a tracker that saw it come says %v", s.Beyond.List)
		}
		tracker.Forget()
	}
	next := NewTracker(r.dir, Options{})
	if s := r.takeBoth(next); s.Beyond.Count != 2 {
		t.Errorf("a run that begins now has %v", s.Beyond.List)
	}
	// A command that removes what it used hides nothing.
	r.do(os.RemoveAll(r.path("lib")))
	r.do(os.Remove(r.path("out")))
	next.Forget()
	if s, err := next.Take(t.Context()); err != nil || s.Beyond.Count != 2 {
		t.Errorf("what stood there and is gone: %v, %v", err, s.Beyond.List)
	}
}

// TestUnstorable: names that git does not add, or does not check out.
func TestUnstorable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git": true, "git~1": true, "GIT~1": true, ".git.": true, ".git ": true, ".git . ": true,
		".git::$INDEX_ALLOCATION": true, ".git:x": true, ".g\u200cit": true, "\ufeff.git": true, `a\.git`: true, `.git\x`: true, `a\b`: false,
		".gitignore": false, ".gitx": false, "git": false, "git~2": false, "x.git": false, "git~10": false, "a:b": false, ". git": false, "": false,
	} {
		if got := unstorable(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	r := newRepo(t)
	r.write("a", "a")
	r.commit()
	for _, name := range []string{".GIT/conf", "GIT~1", "d/.git./conf", "\u200c.git"} {
		r.write(name, "x")
	}
	s := r.take(Options{})
	var got []string
	for _, d := range s.Beyond.List {
		got = append(got, d.Path)
	}
	equal(t, "beyond", got, []string{".GIT/conf", "GIT~1", "d/.git./conf", "\u200c.git"})
}
