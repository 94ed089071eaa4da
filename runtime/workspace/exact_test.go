//go:build linux

package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clone returns a fresh clone of HEAD with its submodules, made without anybody's
// configuration; config are settings of the clone.
func (r *repo) clone(config ...string) *repo {
	r.Helper()
	dir := filepath.Join(r.TempDir(), "clone")
	args := []string{"clone", "-q", "--no-local", "--recurse-submodules"}
	for _, c := range config {
		args = append(args, "-c", c)
	}
	cmd := r.command(append(args, "file://"+r.dir, dir)...)
	cmd.Dir = filepath.Dir(dir)
	cmd.Env = append(os.Environ(), "HOME="+r.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("git clone: %v\n%s", err, out)
	}
	return r.at(dir)
}

// accepted reports whether "verify --tree HEAD" takes s for what HEAD holds.
func (r *repo) accepted(s *Snapshot) bool {
	r.Helper()
	c, err := Resolve(context.Background(), r.dir, "HEAD", Options{})
	return err == nil && s.Exact && s.Tree == c.Tree
}

// lfs puts a filter into the repository that stores as git-lfs does, and returns the
// settings of a clone that fetches from there.
func lfs(r *repo) []string {
	r.Helper()
	bin := r.TempDir()
	store := r.TempDir()
	for name, script := range map[string]string{
		"clean": `#!/bin/sh
f=$(mktemp "$0.XXXXXX"); cat >"$f"; h=$(sha256sum <"$f"); h=${h%% *}; n=$(wc -c <"$f")
mv "$f" "` + store + `/$h"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' "$h" "$n"
`,
		"smudge": `#!/bin/sh
p=$(cat); h=$(echo "$p" | sed -n 's/^oid sha256://p')
if git cat-file -p HEAD:.lfsconfig 2>/dev/null | git config -f - lfs.fetchexclude >/dev/null; then echo "$p"; else cat "` + store + `/$h"; fi
`,
	} {
		r.do(os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	r.git("config", "filter.lfs.clean", filepath.Join(bin, "clean"))
	r.git("config", "filter.lfs.required", "true")
	return []string{"filter.lfs.smudge=" + filepath.Join(bin, "smudge"), "filter.lfs.required=true"}
}

// Each case ends in a worktree whose Tree is that of HEAD, or says that it is not
// (open). A clone tells whether the snapshot is exact.
var exactCases = []struct {
	name   string
	build  func(r *repo)
	lfs    bool     // there is a filter that stores as git-lfs does
	beyond []string // none: exact
	stored []string
	open   bool // Tree is not that of HEAD
	// careful: a clone is the same, and the snapshot does not claim it.
	careful bool
}{
	{name: "plain files", build: func(r *repo) {
		r.write("a", "a\n")
		r.write("crlf", "a\r\nb\r\n")
		r.write("bin", "\x00\r\n\xff")
		r.write("run", "#!/bin/sh\n")
		r.do(os.Chmod(r.path("run"), 0o755))
		r.commit()
	}},
	{name: "ignored files and caches", build: func(r *repo) {
		r.write(".gitignore", "*.log\n__pycache__\n")
		r.write("a", "a\n")
		r.commit()
		r.write("a.log", "x")
		r.write("__pycache__/a.pyc", "x")
	}},
	{name: "CR LF by tracked attributes", build: func(r *repo) {
		r.write(".gitattributes", "*.bat text eol=crlf\n*.auto text=auto eol=crlf\n*.eol eol=crlf\n*.m win\n*.no -text\n")
		for _, ext := range []string{"bat", "auto", "eol", "no"} {
			r.write("a."+ext, "a\r\nb\r\n")
		}
		r.write("bin.auto", "\x00a\r\nb\n")
		r.write("mixed.auto", "")
		r.write("lf.no", "a\n")
		r.commit()
	}},
	{name: "CR LF by a macro", build: func(r *repo) {
		r.write(".gitattributes", "[attr]win text eol=crlf\n*.bat win\n")
		r.write("a.bat", "a\r\nb\r\n")
		r.commit()
	}},
	{name: "words that git prints like states", build: func(r *repo) {
		r.write(".gitattributes", "*.a text=unset eol=crlf\n*.b crlf=unset eol=crlf\n")
		r.write("x.a", "a\n")
		r.write("x.b", "a\n")
		r.commit()
	}, beyond: []string{"x.a: an attribute has the value set, unset or unspecified", "x.b: an attribute has the value"}},
	{name: "LF where tracked attributes say CR LF", build: func(r *repo) {
		r.write(".gitattributes", "*.txt text eol=crlf\n*.auto text=auto eol=crlf\n")
		r.write("a.txt", "a\n")
		r.write("b.auto", "a\n")
		r.commit()
	}, beyond: []string{"a.txt: eol=crlf", "b.auto: eol=crlf"}},
	{name: "mixed line ends where tracked attributes say CR LF", build: func(r *repo) {
		r.write(".gitattributes", "*.txt text eol=crlf\n")
		r.write("a.txt", "a\r\nb\n")
		r.write("b.txt", "a\r\r\nb\r\n")
		r.commit()
	}, beyond: []string{"a.txt: eol=crlf: a checkout ends each", "b.txt: eol=crlf"}},
	{name: "CR LF split over two reads", build: func(r *repo) {
		r.write(".gitattributes", "*.txt text eol=crlf\n")
		r.write("a.txt", strings.Repeat("x", 128<<10-1)+"\r\nb\r\n")
		r.commit()
	}},
	{name: "CR under text=auto", build: func(r *repo) {
		r.write(".gitattributes", "* text=auto\n")
		r.write("settings", "STRICT=1\n")
		r.commit()
		r.write("settings", "STRICT=1\r\n")
	}, beyond: []string{"settings: its blob"}},
	{name: "core.autocrlf", build: func(r *repo) {
		r.git("config", "core.autocrlf", "true")
		r.write("a", "a\r\n")
		r.commit()
	}, beyond: []string{"a: its blob"}},
	{name: "core.eol", build: func(r *repo) {
		r.git("config", "core.eol", "crlf")
		r.write(".gitattributes", "* text\n")
		r.write("a", "a\r\n")
		r.commit()
	}, beyond: []string{"a: its blob"}},
	{name: "ident", build: func(r *repo) {
		r.write(".gitattributes", "*.id ident\n")
		r.write("a.id", "$Id$\n")
		r.write("b.id", "costs $5\n")
		r.commit()
	}, beyond: []string{"a.id: ident"}},
	{name: "encoding", build: func(r *repo) {
		r.write(".gitattributes", "t working-tree-encoding=UTF-7\n")
		r.write("t", "+AGEAYg-\n")
		r.commit()
	}, beyond: []string{"t: working-tree-encoding=UTF-7"}},
	{name: "filter that hides its own attributes", build: func(r *repo) {
		r.write("t.sh", "exit 1\n")
		r.write(".gitattributes", "x -text\n")
		r.commit()
		r.git("config", "filter.lie.clean", "printf 'exit 1\\n'")
		r.git("config", "filter.hide.clean", "printf 'x -text\\n'")
		r.write(".gitattributes", "x -text\nt.sh filter=lie\n.gitattributes filter=hide\n")
		r.write("t.sh", "exit 0\n")
	}, beyond: []string{".gitattributes: filter=hide", "t.sh: filter=lie"}},
	{name: "attributes that an ignore file hides", build: func(r *repo) {
		r.write(".gitignore", "d/.gitattributes\n")
		r.write("d/t.sh", "exit 1\n")
		r.commit()
		r.git("config", "filter.lie.clean", "printf 'exit 1\\n'")
		r.write("d/.gitattributes", "t.sh filter=lie\n")
		r.write("d/t.sh", "exit 0\n")
	}, beyond: []string{"d/.gitattributes: attributes that no commit", "d/t.sh: filter=lie"}},
	{name: "CR LF by attributes that an ignore file hides", build: func(r *repo) {
		r.write(".gitignore", "d/.gitattributes\n")
		r.write("d/t", "a\n")
		r.commit()
		r.write("d/.gitattributes", "t eol=crlf\n")
		r.write("d/t", "a\r\n")
	}, beyond: []string{"d/.gitattributes: attributes that no commit"}},
	{name: "info/attributes", build: func(r *repo) {
		r.write(".git/info/attributes", "t eol=crlf\n")
		r.write("t", "a\n")
		r.commit()
		r.write("t", "a\r\n")
	}, open: true},
	{name: "LFS", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "*.big filter=lfs diff=lfs merge=lfs -text\n")
		r.write("a.big", strings.Repeat("big\r\n", 1000))
		r.write("empty.big", "")
		r.commit()
	}, stored: []string{"a.big", "empty.big"}},
	{name: "LFS pointer that is not checked out", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "*.big filter=lfs -text\n")
		r.write("a.big", "content\n")
		r.commit()
		r.git("config", "--unset", "filter.lfs.clean")
		r.git("config", "--unset", "filter.lfs.required")
		r.write("a.big", r.git("cat-file", "blob", "HEAD:a.big")+"\n")
	}, beyond: []string{"a.big: an LFS pointer"}},
	{name: "LFS whose configuration says where to fetch from", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "*.big filter=lfs -text\n")
		r.write("a.big", "content\n")
		r.write(".lfsconfig", "# x\n[lfs]\n\turl = https://example.com/x\n[remote \"origin\"]\r\n\tlfsurl=https://example.com/y\r\n[lfs \"https://example.com\"]\n\taccess = basic\n")
		r.commit()
	}, stored: []string{"a.big"}},
	{name: "LFS whose configuration says not to fetch", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "*.big filter=lfs -text\n")
		r.write("a.big", "content\n")
		r.write(".lfsconfig", "[lfs]\n\tfetchexclude = *\n")
		r.commit()
	}, beyond: []string{"a.big: its content is in LFS, and .lfsconfig"}},
	{name: "LFS whose configuration is a link", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "*.big filter=lfs -text\n")
		r.write("a.big", "content\n")
		r.write("[lfs]\n\tfetchexclude = *\n", "")
		r.do(os.Symlink("[lfs]\n\tfetchexclude = *\n", r.path(".lfsconfig")))
		r.commit()
	}, beyond: []string{"a.big: its content is in LFS, and .lfsconfig"}},
	{name: "attributes in LFS", lfs: true, build: func(r *repo) {
		r.write(".gitattributes", "d/.gitattributes filter=lfs -text\n")
		r.write("d/.gitattributes", "t eol=crlf\n")
		r.write("d/t", "a\r\n")
		r.commit()
	}, beyond: []string{"d/.gitattributes: attributes in LFS"}, stored: []string{"d/.gitattributes"}},
	{name: "attributes in a link", build: func(r *repo) {
		r.write("* eol=crlf", "foo\n")
		r.write("a", "a\n")
		r.do(os.Symlink("* eol=crlf", r.path(".gitattributes")))
		r.commit()
	}, beyond: []string{".gitattributes: a checkout reads the target"}},
	{name: "attributes before a NUL", build: func(r *repo) {
		r.write(".gitattributes", "* text eol=crlf\n#\x00\n* -text\n")
		r.write("a", "a\n")
		r.commit()
	}, beyond: []string{".gitattributes: attributes with a NUL"}},
	{name: "attributes behind a byte order mark", build: func(r *repo) {
		r.write(".gitattributes", "\xef\xbb\xbf* -text\n")
		r.write("a", "a\n")
		r.commit()
	}, beyond: []string{".gitattributes: attributes with a byte order mark"}, careful: true},
	{name: "attributes of 16 MiB", build: func(r *repo) {
		r.write(".gitattributes", strings.Repeat("# x\n", 4<<20)+"a -text\n")
		r.write("a", "a\n")
		r.commit()
	}, beyond: []string{".gitattributes: rules of that size"}, careful: true},
	{name: "attributes in a long line", build: func(r *repo) {
		r.write(".gitattributes", "*"+strings.Repeat(" ", 2048)+"-text\n")
		r.write("a", "a\n")
		r.commit()
	}, beyond: []string{".gitattributes: attributes with a line"}, careful: true},
	{name: "submodule at a path that ends in a space of Unicode", build: func(r *repo) {
		withSubmodule(r)
		text, err := os.ReadFile(r.path(".gitmodules"))
		r.do(err)
		r.write(".gitmodules", strings.Replace(string(text), "path = sub\n", "path = sub\u00a0\n", 1))
		r.commit()
	}, beyond: []string{"sub: a nested repository"}},
	{name: "filter called lfs that lies", build: func(r *repo) {
		r.git("config", "filter.lfs.clean", "printf 'exit 1\\n'")
		r.write(".gitattributes", "t.sh filter=lfs\n")
		r.write("t.sh", "exit 0\n")
		r.commit()
	}, beyond: []string{"t.sh: filter=lfs"}},
	{name: "sparse checkout", build: func(r *repo) {
		r.write("in/a", "a")
		r.write("out/test_bad", "b")
		r.commit()
		r.git("sparse-checkout", "set", "in")
	}, beyond: []string{"out/test_bad: a sparse checkout"}},
	{name: "skip-worktree, removed", build: func(r *repo) {
		r.write("a", "a")
		r.write("b", "b")
		r.commit()
		r.git("update-index", "--skip-worktree", "a")
		r.do(os.Remove(r.path("a")))
	}, open: true},
	{name: "FIFO", build: func(r *repo) {
		r.write("a", "a")
		r.commit()
		r.do(syscall.Mkfifo(r.path("pipe"), 0o600))
	}, beyond: []string{"pipe: a FIFO"}},
	{name: "links within", build: func(r *repo) {
		r.write("d/e/a", "a")
		r.do(os.Symlink("d/e/a", r.path("file")))
		r.do(os.Symlink("d/e", r.path("dir")))
		r.do(os.Symlink("dir/a", r.path("through")))
		r.do(os.Symlink("../../file", r.path("d/e/up")))
		r.do(os.Symlink("..", r.path("d/root")))
		r.do(os.Symlink("./d//e/./", r.path("odd")))
		r.commit()
	}},
	{name: "links out", build: func(r *repo) {
		r.write(".gitignore", "ignored\n")
		r.write("ignored", "x")
		r.write("d/f", "f")
		out := filepath.Join(r.TempDir(), "x.mk")
		r.do(os.WriteFile(out, []byte("x"), 0o600))
		rel, err := filepath.Rel(r.dir, out)
		r.do(err)
		for name, target := range map[string]string{
			"absolute": out, "relative": rel, "self": r.dir + "/d", "self2": "../" + filepath.Base(r.dir) + "/d", "hidden": "ignored",
			"dangling": "nowhere", "loop": "loop", "git": ".git/config", "below": "d/f/x", "via": "absolute/..", "cache": "__pycache__",
			"hollow": "e", "deep": "hidden/x",
		} {
			r.do(os.Symlink(target, r.path(name)))
		}
		r.do(os.Mkdir(r.path("e"), 0o700))
		r.commit()
	}, beyond: []string{"absolute: ", "below: ", "cache: ", "deep: ", "e: ", "git: ", "hidden: ", "hollow: ", "loop: ", "relative: ", "self: ", "self2: ", "via: "}, careful: true},
	{name: "links to where nothing is", build: func(r *repo) {
		r.write("testdata/f", "f")
		for name, target := range map[string]string{"testdata/broken": "nowhere", "testdata/far": "nowhere/below", "up": "testdata/../none", "via": "up"} {
			r.do(os.Symlink(target, r.path(name)))
		}
		r.commit()
	}},
	{name: "clean submodule", build: func(r *repo) { withSubmodule(r) }},
	{name: "submodule in a submodule", build: func(r *repo) {
		inner := newRepo(r)
		inner.write("in", "i")
		inner.commit()
		sub := newRepo(r)
		sub.write("s", "s")
		sub.git("submodule", "--quiet", "add", inner.dir, "deep/inner")
		sub.commit()
		r.git("submodule", "--quiet", "add", sub.dir, "lib/sub")
		r.git("submodule", "--quiet", "update", "--init", "--recursive")
		r.commit()
	}},
	{name: "dirty submodule", build: func(r *repo) {
		withSubmodule(r)
		r.write("sub/in-sub", "changed")
	}, beyond: []string{"sub: a submodule whose files"}},
	{name: "file added to a submodule's index", build: func(r *repo) {
		sub := withSubmodule(r)
		sub.write("conftest.py", "x")
		sub.git("add", "conftest.py")
	}, beyond: []string{"sub: a submodule whose files"}},
	{name: "submodule with another encoding, and no line end in it", build: func(r *repo) {
		other := newRepo(r)
		other.write("t", "good")
		other.write(".gitattributes", "t working-tree-encoding=UTF-16")
		other.git("add", "--", ".gitattributes")
		other.git("update-index", "--add", "--cacheinfo", "100644,"+other.git("hash-object", "-w", "--no-filters", "t")+",t")
		other.git("commit", "-q", "-m", "x")
		r.git("submodule", "--quiet", "add", other.dir, "sub")
		r.commit()
		r.write("sub/t", "good")
	}, beyond: []string{"sub: a submodule whose attributes"}},
	{name: "submodule with attributes", build: func(r *repo) {
		other := newRepo(r)
		other.write("t", "a\n")
		other.write(".gitattributes", "t eol=crlf\n")
		other.commit()
		r.git("-c", "core.autocrlf=false", "submodule", "--quiet", "add", other.dir, "sub")
		r.commit()
		r.write("sub/t", "a\n")
	}, beyond: []string{"sub: a submodule whose attributes"}},
	{name: "submodule that is not checked out", build: func(r *repo) {
		withSubmodule(r)
		r.git("submodule", "--quiet", "deinit", "-f", "sub")
	}, beyond: []string{"sub: a submodule that is not"}},
	{name: "submodule that .gitmodules says to leave out", build: func(r *repo) {
		withSubmodule(r)
		r.git("config", "-f", ".gitmodules", "submodule.sub.update", "none")
		r.commit()
	}, beyond: []string{"sub: a nested repository"}},
	{name: "nested repository", build: func(r *repo) {
		nested(r, "n").commit()
		r.commit()
	}, beyond: []string{"n: a nested repository"}},
	{name: "commit of a submodule that was overwritten", build: func(r *repo) {
		sub := withSubmodule(r)
		was := sub.git("rev-parse", "HEAD")
		sub.write("in-sub", "other")
		sub.git("add", "-A")
		sub.git("commit", "-q", "-m", "other")
		now := sub.git("rev-parse", "HEAD")
		sub.git("reset", "-q", "--soft", was)
		gitDir := sub.git("rev-parse", "--absolute-git-dir")
		object := func(id string) string { return filepath.Join(gitDir, "objects", id[:2], id[2:]) }
		_ = exec.Command("sh", "-c", "cd "+gitDir+" && mv objects/pack/*.pack . && git unpack-objects -q <*.pack; rm -f *.pack objects/pack/*").Run()
		content, err := os.ReadFile(object(now))
		r.do(err)
		r.do(os.MkdirAll(filepath.Dir(object(was)), 0o755))
		_ = os.Remove(object(was))
		r.do(os.WriteFile(object(was), content, 0o444))
	}, beyond: []string{"sub: "}},
}

func TestExact(t *testing.T) {
	for _, c := range exactCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			var config []string
			if c.lfs {
				config = lfs(r)
			}
			c.build(r)
			tracker := NewTracker(r.dir, Options{})
			s := r.takeBoth(tracker)
			if s.Reason != "" {
				t.Fatal(s.Reason)
			}
			if again := r.takeBoth(tracker); again.Exact != s.Exact || again.Beyond.Count != s.Beyond.Count {
				t.Errorf("a second snapshot says %v, %v", again.Exact, again.Beyond)
			}
			if got := s.Tree == r.git("rev-parse", "HEAD^{tree}"); got == c.open {
				t.Errorf("the tree is that of HEAD: %v", got)
			}
			ok := len(s.Beyond.List) == len(c.beyond) && s.Beyond.Count == len(c.beyond)
			for i := range c.beyond {
				ok = ok && strings.HasPrefix(s.Beyond.List[i].String(), c.beyond[i])
			}
			if !ok || s.Exact != (len(c.beyond) == 0 && !c.open) && !c.open {
				t.Errorf("exact %v, beyond %v; want %q", s.Exact, s.Beyond.List, c.beyond)
			}
			if len(c.stored) > 0 {
				equal(t, "stored", s.Stored.Paths, c.stored[:s.Stored.Count])
			}
			clone := r.clone(config...).take(Options{})
			same := clone.Bytes == s.Bytes
			if r.accepted(s) && !same {
				t.Errorf("accepted, and a clone has %v", changes(s, clone))
			}
			if !r.accepted(s) && same && !c.careful {
				t.Error("not accepted, and a clone has the same files: the case shows nothing")
			}
		})
	}
}

// TestAttributesGone has the only attributes file of a tree go between two snapshots of one tracker, which forgets what it said.
func TestAttributesGone(t *testing.T) {
	r := newRepo(t)
	r.write(".gitattributes", "t.txt working-tree-encoding=UTF-16LE\nu.txt eol=crlf\n")
	r.write("t.txt", "a\x00b\x00")
	r.write("u.txt", "a\n")
	r.commit()
	tracker := NewTracker(r.dir, Options{})
	if s := r.takeBoth(tracker); s.Exact || s.Beyond.Count != 2 {
		t.Fatalf("exact %v, beyond %v", s.Exact, s.Beyond)
	}
	r.git("rm", "--quiet", ".gitattributes")
	r.commit()
	if s := r.takeBoth(tracker); !s.Exact {
		t.Errorf("beyond %v", s.Beyond)
	}
}

// TestExactRace changes the attributes back and forth while snapshots are taken: none
// may be exact by attributes other than those of its tree.
func TestExactRace(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitattributes", "t -text\n")
	r.write("t", "a\n")
	r.commit()
	head := r.git("rev-parse", "HEAD^{tree}")
	r.write("t", "a\r\n")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := "t eol=crlf\n"
			if i%2 == 0 {
				text = "t -text\n"
			}
			_ = os.WriteFile(r.path("new"), []byte(text), 0o644)
			_ = os.Rename(r.path("new"), r.path(".gitattributes"))
			time.Sleep(time.Duration(i%7) * time.Millisecond)
		}
	}()
	tracker := NewTracker(r.dir, Options{})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if s, err := tracker.Take(context.Background()); err == nil && s.Exact && s.Tree == head {
			t.Error("an exact snapshot of other bytes has the tree of HEAD")
			break
		}
	}
	close(stop)
	<-done
}

// TestLinkNames makes commits of links whose names git may refuse to check out: where a clone fails, no
// snapshot is exact.
func TestLinkNames(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{
		".gitmodules": true, ".GitModules": true, ".gitmodules ": true, ".gitmodules . .": true, ".gitmodules::$INDEX_ALLOCATION": true, ".gitmodules .:x": true,
		"GITMOD~1": true, "gitmod~4": true, "gitmod~1.": true, "GI7EBA~1": true, "gi7eb~10": true, "gi~12345": true, "~1000000": true, "GI7EBA~9 :": true,
		"a\\.gitmodules": true, "a\\gitmod~2": true, ".git\u200cmodules": true, ".gitmodules/x": true, "d/gitmod~1": true,
		"gitmod~5": false, "gitmod~": false, "gi7eba~0": false, "gi7eba~12": false, "gi7eba~": false, "~100000": false, "gitmodules": false, ".gitmodulesx": false, "gitmod~1x": false, ".gitmodules.x": false,
	} {
		r := newRepo(t)
		r.write("x", "x")
		r.commit()
		if dir := filepath.Dir(name); dir != "." {
			r.do(os.Mkdir(r.path(dir), 0o755))
		}
		target, err := filepath.Rel(filepath.Dir(name), "x")
		r.do(err)
		r.do(os.Symlink(target, r.path(name)))
		s := r.take(Options{})
		if s.Exact == refused {
			t.Errorf("%q: exact %v: %v", name, s.Exact, s.Beyond.List)
		}
		if !s.Exact && s.Beyond.List[0].String() != (Difference{name, unstored}).String() {
			t.Errorf("%q: %v", name, s.Beyond.List)
		}
		// Git adds none of these, so that a commit of one is made by hand.
		in := func(text string, args ...string) string {
			cmd := r.command(args...)
			cmd.Stdin = strings.NewReader(text)
			out, err := cmd.Output()
			r.do(err)
			return strings.TrimSpace(string(out))
		}
		blob := in(target, "hash-object", "-w", "--stdin")
		tree := in("120000 blob "+blob+"\t"+filepath.Base(name)+"\x00", "mktree", "-z")
		if dir := filepath.Dir(name); dir != "." {
			tree = in("040000 tree "+tree+"\t"+dir+"\x00", "mktree", "-z")
		}
		r.git("update-ref", "refs/heads/links", r.git("commit-tree", "-m", "link", tree))
		dir := filepath.Join(r.TempDir(), "clone")
		err = r.command("-c", "core.protectHFS=true", "clone", "-q", "-b", "links", r.dir, dir).Run()
		if (err != nil) != refused {
			t.Errorf("a clone of %q: %v", name, err)
		}
	}
}

func TestLFSConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "[lfs]\n\turl = x\n": true, "[LFS]\nURL=x # y\n": true, "[lfs]\n\tlocksverify = false\n": true,
		"[lfs]\n\tfetchexclude = *\n": false, "[lfs]\n\tFetchInclude = a\n": false, "[lfs]\n\tskipdownloaderrors\n": false, "[lfs] fetchexclude = *\n": false,
		"[lfs]\n\turl = \"x\\nlfs.fetchexclude=*\"\n": false, "[lfs \"a\nb\"]\n": false, "[include]\n\tpath = x\n": false, "url = x\n": false, "[lfs]\n\u00a0url = x\n": false,
		"[lfs]\n\turl = x\x00\n": false, "[lfs \"extension.x\"]\n\tsmudge = x\n": false, "\xef\xbb\xbf[lfs]\n": false,
	} {
		if got := lfsFetches([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestModulePaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "# x\n": "",
		"[submodule \"a\"]\n\tpath = a\n\turl = ../a\n":                                                         "a",
		"[submodule \"a\"]\n\tpath = lib/a\n\turl = ../a\n\tbranch = x\n[submodule \"b\"]\n\tURL=u\n\tPath=b\n": "lib/a b",
		"[submodule \"a\"]\n\tpath = a\n\turl = ../a\n\tupdate = none\n":                                        "",
		"[submodule \"a\"]\n\tpath = a\n\turl = ../a\n\tupdate = checkout\n":                                    "a",
		"[submodule \"a\"]\n\tpath = a\n":                                                                       "",
		"[submodule \"../a\"]\n\tpath = a\n\turl = x\n":                                                         "",
		"[submodule \"a\"]\n\tpath = a\n\turl = -x\n":                                                           "",
		"[submodule \"a\"]\n\tpath = ../a\n\turl = x\n":                                                         "",
		"[submodule \"a\"]\n\tpath = a\\\n\turl = x\n":                                                          "",
		"[submodule \"a\"]\n\tpath = a ; b\n\turl = x\n":                                                        "",
		"[submodule \"a\"]\n\tpath = a\n\turl = x\n[submodule \"b\"]\n\tpath = a\n\turl = x\n":                  "",
		"[submodule \"a\"]\n\tpath = a\n\turl = x\n[include]\n\tpath = /etc/x\n":                                "",
		"path = a\n": "",
		"[submodule \"a\"]\n\tpath = a\u00a0\n\turl = x\n":                               "a\u00a0",
		"[submodule \"a\"]\n\tpath = a\u2003\r\n\turl = x\r\n":                           "a\u2003",
		"[submodule \"a\"]\n\tpath = a\f\n\turl = x\n":                                   "",
		"[submodule \"a\"]\n\tpath = a\tb\n\turl = x\n":                                  "", // old git makes a space of the tab
		"\u00a0[submodule \"a\"]\n\tpath = a\n\turl = x\n":                               "",
		"[submodule \"a\"]\n\u00a0path = a\n\turl = x\n":                                 "",
		"[submodule \"a\"]\npath = a\nurl = x\n[submodule \"a/b\"]\npath = b\nurl = x\n": "", // git refuses one git directory in another
		"[submodule \"./x\"]\npath = a\nurl = x\n":                                       "", "[submodule \".\"]\npath = a\nurl = x\n": "", "[submodule \"/\"]\npath = a\nurl = x\n": "", "[submodule \"a//b\"]\npath = a\nurl = x\n": "",
		"[submodule \"a/\"]\npath = a\nurl = x\n": "", "[submodule \"A\"]\npath = a\nurl = x\n[submodule \"a\"]\npath = b\nurl = x\n": "",
		"[submodule \"a\"]\npath = a\nurl = ext::sh\n": "", "[submodule \"a\"]\npath = a\nurl = ::x\n": "", "[submodule \"a\"]\npath = a\nurl = odd://h/x\n": "", "[submodule \"a\"]\npath = a\nurl = ssh://[::1]/x\n": "a",
		"[submodule \"a\"]\npath = a\nurl = git@h:x.git\n":                                         "a",
		"[submodule \"a\"]\npath = a\nurl = x\nshallow = perhaps\n":                                "",
		"[submodule \"a\"]\npath = a\nurl = x\nshallow = On\nfetchRecurseSubmodules = on-demand\n": "a",
		"[submodule \"a\"]\npath = a\nurl = x\nfetchRecurseSubmodules = sometimes\n":               "",
		"[submodule \"a\"]\npath = a\nurl = x\nshallow = on-demand\n":                              "",
		"[submodule \"" + strings.Repeat("a", 256) + "\"]\npath = a\nurl = x\n":                    "",
		"[submodule \"" + strings.Repeat("a/", 500) + "a\"]\npath = a\nurl = x\n":                  "",
		"[submodule \"" + strings.Repeat("a/", 499) + "a\"]\npath = a\nurl = x\n":                  "a",
		"[submodule \"a\"]\npath = a\nurl = https://x/%0Ay\n":                                      "",
	} {
		if got := strings.Join(modulePaths([]byte(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	section := func(name, path string) string {
		return "[submodule \"" + name + "\"]\n\tpath = " + path + "\n\turl = x\n"
	}
	if got := modulePaths([]byte(section("a/a.b", "x") + section("a/ab", "y") + section("a/a", "z"))); len(got) != 3 {
		t.Errorf("%q", got)
	}
	if got := modulePaths([]byte(section("a-b", "v") + section("a/b", "x") + section("a.b", "y") + section("a", "z"))); got != nil {
		t.Errorf("%q of one module in another", got)
	}
}

// TestUnreadModules: where a clone fails at a .gitmodules, no snapshot is exact, though there is no submodule. What was left of one does no harm.
func TestUnreadModules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text           string
		exact, cloning bool
	}{
		{"", true, true},
		{"# none\n", true, true},
		{"[submodule \"gone\"]\n\tpath = gone\n\turl = ../gone\n", true, true},
		{"* text\n", false, false},
		{"[submodule \"gone\n", false, false},
		{"[submodule \"gone\"]\n\tpath = gone\n\turl = ../gone\n\tshallow = perhaps\n", false, true}, // of a submodule it would end git
		{"[submodule \"gone\"]\n\tpath = \"gone\"\n\turl = ../gone\n", false, true},                  // git would write it without quotes
	} {
		for _, place := range []string{".gitmodules", "sub/.gitmodules"} {
			r := newRepo(t)
			r.write("x", "x")
			of := r
			if place != ".gitmodules" {
				of = newRepo(t)
				of.write("y", "y")
			}
			of.write(".gitmodules", c.text)
			of.commit()
			if of != r {
				r.git("submodule", "--quiet", "add", of.dir, "sub")
			}
			r.commit()
			s := r.take(Options{})
			if s.Exact != c.exact || !c.exact && !strings.HasPrefix(s.Beyond.List[0].String(), place+": a .gitmodules that git would not write") {
				t.Errorf("%s %q: exact %v: %v", place, c.text, s.Exact, s.Beyond.List)
			}
			err := r.command("clone", "-q", "--recurse-submodules", r.dir, filepath.Join(r.TempDir(), "clone")).Run()
			if (err == nil) != c.cloning {
				t.Errorf("a clone with %s %q: %v", place, c.text, err)
			}
		}
	}
	r := newRepo(t)
	r.write(".gitignore", ".gitmodules\n")
	r.commit()
	r.write(".gitmodules", "* text\n")
	if s := r.take(Options{}); !s.Exact {
		t.Errorf("one that no commit holds: %v", s.Beyond.List)
	}
}

// TestWriting: the file that a run writes does not count, and hides nothing.
func TestWriting(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.write("tracked", "t")
	r.write(".gitignore", "*.log\n")
	r.commit()
	clean := r.take(Options{})
	for _, c := range []struct {
		place  string
		build  func()
		counts bool // what is at the place
		exact  bool
	}{
		{"ev.jsonl", func() { r.write("ev.jsonl", "x") }, false, false},
		{"ev.log", func() { r.write("ev.log", "x") }, false, true},
		{"absent", func() {}, false, true},
		{"dir", func() { r.write("dir/conftest.py", "x") }, true, true},
		{"link", func() { r.do(os.Symlink("a", r.path("link"))) }, true, true},
		{"fifo", func() { r.do(syscall.Mkfifo(r.path("fifo"), 0o600)) }, true, false},
		{"tracked", func() { r.write("tracked", "changed") }, true, true},
	} {
		c.build()
		s := r.take(Options{Writing: r.path(c.place)})
		if counts := s.Bytes != clean.Bytes; counts != c.counts || s.Exact != c.exact {
			t.Errorf("%s: counts %v, exact %v: %v", c.place, counts, s.Exact, s.Beyond.List)
		}
		r.do(os.RemoveAll(r.path(c.place)))
		r.git("checkout", "-q", "tracked")
	}
}

// A file that steers git is the one whose bytes are in the digest.
func TestUnderstood(t *testing.T) {
	was, is := []byte("hidden\n"), sha256.Sum256([]byte("\n"))
	for _, tt := range []struct {
		path string
		e    *entry
		same bool
	}{
		{".gitignore", &entry{kind: kindFile, sum: sha256.Sum256(was)}, true},
		{"d/.gitignore", &entry{kind: kindFile, sum: is}, false},
		{".gitignore", &entry{kind: kindFIFO}, false},
		{".gitignore", nil, false},
		{".gitattributes", &entry{kind: kindLink, sum: is}, false},
		{".gitattributes", nil, true}, // it is ignored
	} {
		w := &walk{rules: map[string][]byte{tt.path: was}}
		if tt.e != nil {
			tt.e.path = tt.path
			w.entries = entryList{tt.e}
		}
		if err := w.understood(); errors.Is(err, errChanged) == tt.same || err != nil == tt.same {
			t.Errorf("%s, %+v: %v", tt.path, tt.e, err)
		}
	}
}
