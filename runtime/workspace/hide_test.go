//go:build linux

package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/runtime/archive"
	"time"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A hideCase is a way to change a worktree so that git, as configured, sees
// nothing. Each starts from a commit of check.py, lib/a.py and a .gitignore.
var hideCases = []struct {
	name  string
	setUp func(r *repo) // before the first snapshot
	hide  func(r *repo)
	want  []string
	// blind: the tree is the same; only the bytes tell.
	blind bool
	// loud: git status sees it too, so that the case shows what else it is about.
	loud bool
}{
	{name: "untracked .gitignore that hides itself", hide: func(r *repo) {
		r.write("lib/.gitignore", "*\n")
		r.write("lib/evil.py", "x")
	}, want: []string{"added lib/.gitignore (untracked)", "added lib/evil.py (untracked)"}},
	{name: "info/exclude", hide: func(r *repo) {
		r.write(".git/info/exclude", "evil*\n")
		r.write("evil.py", "x")
	}, want: []string{"added evil.py (untracked)"}},
	{name: "core.excludesFile", hide: func(r *repo) {
		r.write(".git/ex", "evil*\n")
		r.git("config", "core.excludesFile", r.path(".git/ex"))
		r.write("evil.py", "x")
	}, want: []string{"added evil.py (untracked)"}},
	{name: "assume-unchanged", hide: func(r *repo) {
		r.git("update-index", "--assume-unchanged", "check.py")
		r.write("check.py", "changed")
	}, want: []string{"changed check.py"}},
	{name: "skip-worktree", hide: func(r *repo) {
		r.git("update-index", "--skip-worktree", "check.py")
		r.write("check.py", "changed")
	}, want: []string{"changed check.py"}},
	{name: "skip-worktree and removed", hide: func(r *repo) {
		r.git("update-index", "--skip-worktree", "check.py")
		r.do(os.Remove(r.path("check.py")))
	}, want: []string{"removed check.py"}},
	{name: "skip-worktree, removed, in a pretended sparse checkout", hide: func(r *repo) {
		r.git("config", "core.sparseCheckout", "true")
		r.git("update-index", "--skip-worktree", "check.py")
		r.do(os.Remove(r.path("check.py")))
	}, want: []string{"removed check.py"}, blind: true},
	{name: "core.fileMode", hide: func(r *repo) {
		r.git("config", "core.fileMode", "false")
		r.do(os.Chmod(r.path("check.py"), 0o755))
	}, want: []string{"changed check.py"}},
	{name: "core.symlinks", hide: func(r *repo) {
		r.git("config", "core.symlinks", "false")
		r.do(os.Remove(r.path("link")))
		r.write("link", "check.py")
	}, want: []string{"changed link"}},
	{name: "core.ignoreStat and core.trustctime", hide: func(r *repo) {
		r.git("config", "core.ignoreStat", "true")
		r.git("config", "core.trustctime", "false")
		r.git("config", "core.checkStat", "minimal")
		r.git("update-index", "--really-refresh")
		putBack(r, "check.py", "CHANGED\n")
	}, want: []string{"changed check.py"}},
	{name: "mtime put back", loud: true, hide: func(r *repo) {
		putBack(r, "check.py", "CHANGED\n")
	}, want: []string{"changed check.py"}},
	{name: "file replaced by one of the same size and times", loud: true, hide: func(r *repo) {
		fi, err := os.Stat(r.path("check.py"))
		r.do(err)
		r.write("other", "CHANGED\n")
		r.do(os.Chtimes(r.path("other"), fi.ModTime(), fi.ModTime()))
		r.do(os.Rename(r.path("other"), r.path("check.py")))
	}, want: []string{"changed check.py"}},
	{name: "core.fsmonitor and core.untrackedCache", hide: func(r *repo) {
		// A monitor that says nothing ever changed.
		hook := r.path(".git/monitor")
		r.write(".git/monitor", "#!/bin/sh\nprintf 'token\\0'\n")
		r.do(os.Chmod(hook, 0o755))
		r.git("config", "core.fsmonitor", hook)
		r.git("config", "core.untrackedCache", "true")
		r.git("update-index", "--untracked-cache", "--fsmonitor")
		r.git("status", "--short")
		r.write("check.py", "changed")
	}, want: []string{"changed check.py"}},
	{name: "info/attributes and a filter", hide: func(r *repo) {
		r.git("config", "filter.lie.clean", "git cat-file blob HEAD:check.py")
		r.write(".git/info/attributes", "check.py filter=lie\n")
		r.write("check.py", "changed\n")
	}, want: []string{"changed check.py"}},
	{name: "core.attributesFile and a filter", hide: func(r *repo) {
		r.git("config", "filter.lie.clean", "git cat-file blob HEAD:check.py")
		r.write(".git/attr", "check.py filter=lie\n")
		r.git("config", "core.attributesFile", r.path(".git/attr"))
		r.write("check.py", "changed\n")
	}, want: []string{"changed check.py"}},
	{name: "tracked attributes and a filter", setUp: func(r *repo) {
		r.git("config", "filter.lie.clean", "printf 'checked\\n'")
		r.write(".gitattributes", "check.py filter=lie\n")
		r.commit()
	}, hide: func(r *repo) { r.write("check.py", "changed\n") }, want: []string{"changed check.py"}, blind: true},
	{name: "core.worktree", hide: func(r *repo) {
		other := r.TempDir()
		r.do(exec.Command("cp", "-a", r.dir+"/.", other).Run())
		r.git("config", "core.worktree", other)
		r.write("check.py", "changed")
	}, want: []string{"changed check.py"}},
	{name: "core.bare", loud: true, hide: func(r *repo) {
		r.git("config", "core.bare", "true")
		r.write("check.py", "changed")
	}, want: []string{"changed check.py"}},
	{name: "core.ignoreCase", hide: func(r *repo) {
		r.git("config", "core.ignoreCase", "true")
		r.write("EVIL.LOG", "x") // *.log is ignored
	}, want: []string{"added EVIL.LOG (untracked)"}},
	{name: "nested repository", hide: func(r *repo) {
		n := nested(r, "n")
		n.write(".gitignore", "evil.py\n")
		n.commit()
		n.write("evil.py", "x")
		r.write(".git/info/exclude", "n\n")
	}, want: []string{"added n/ (untracked)", "added n/.gitignore (untracked)", "added n/evil.py (untracked)", "added n/in-nested (untracked)"}},
	{name: "nested repository without a commit", hide: func(r *repo) {
		nested(r, "n")
		r.write(".git/info/exclude", "n\n")
	}, want: []string{"added n/in-nested (untracked)"}},
	{name: "dirty submodule, ignored by configuration", setUp: func(r *repo) {
		withSubmodule(r)
		r.git("config", "submodule.sub.ignore", "all")
	}, hide: func(r *repo) {
		r.write("sub/in-sub", "changed")
		r.write("sub/new", "x")
	}, want: []string{"changed sub/in-sub", "added sub/new (untracked)"}, blind: true},
	{name: "submodule without its .git", setUp: func(r *repo) { withSubmodule(r) }, hide: func(r *repo) {
		r.do(os.RemoveAll(r.path("sub/.git")))
		r.write("sub/in-sub", "changed")
	}, want: []string{"changed sub/in-sub"}, blind: true},
	{name: "link out of the tree", loud: true, hide: func(r *repo) {
		r.do(os.RemoveAll(r.path("lib")))
		r.do(os.Symlink("/etc", r.path("lib")))
	}, want: []string{"added lib (untracked)", "removed lib/a.py"}},
	{name: "FIFO and socket", hide: func(r *repo) {
		r.do(syscall.Mkfifo(r.path("pipe"), 0o600))
	}, want: []string{"added pipe (untracked)"}, blind: true},
	{name: "replaced objects", hide: func(r *repo) {
		r.write("check.py", "changed")
		was := r.git("rev-parse", "HEAD:check.py")
		now := r.git("hash-object", "-w", "check.py")
		r.git("replace", was, now)
		r.git("update-index", "--assume-unchanged", "check.py")
	}, want: []string{"changed check.py"}},
	{name: "something called .dialect", loud: true, hide: func(r *repo) {
		r.do(os.Symlink("/etc", r.path(".dialect")))
		r.write("__pycache__", "a file, and no cache")
	}, want: []string{"added .dialect (untracked)", "added __pycache__ (untracked)"}},
}

// putBack changes a file and gives it the time stamps that it had.
func putBack(r *repo, name, content string) {
	r.Helper()
	fi, err := os.Stat(r.path(name))
	r.do(err)
	f, err := os.OpenFile(r.path(name), os.O_WRONLY|os.O_TRUNC, 0)
	r.do(err)
	_, err = f.WriteString(content)
	r.do(err)
	r.do(f.Close())
	r.do(os.Chtimes(r.path(name), fi.ModTime(), fi.ModTime()))
}

func TestNothingHides(t *testing.T) {
	for _, c := range hideCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write("check.py", "checked\n")
			r.write("lib/a.py", "a")
			r.write(".gitignore", "*.log\n")
			r.do(os.Symlink("check.py", r.path("link")))
			r.commit()
			if c.setUp != nil {
				c.setUp(r)
			}
			tracker := NewTracker(r.dir, Options{})
			before := r.takeBoth(tracker)
			c.hide(r)
			if !c.loud {
				out, err := r.command("status", "--short", "--no-renames").Output()
				if err != nil {
					t.Errorf("git status: %v", err)
				} else if len(out) > 0 && !strings.HasPrefix(string(out), "?? n/") {
					t.Errorf("git sees it: %q", out)
				}
			}
			after := r.takeBoth(tracker)
			if before.Bytes == after.Bytes {
				t.Error("bytes are the same")
			}
			if (before.Tree == after.Tree) != c.blind {
				t.Errorf("tree %s, then %s (%s)", before.Tree, after.Tree, after.Reason)
			}
			equal(t, "changes", changes(before, after), c.want)
			if r.accepted(after) {
				t.Error("--tree HEAD would take it for what a clone has")
			}
			if c.setUp == nil && !r.accepted(before) {
				t.Errorf("--tree HEAD would not take what is committed: %v", before.Beyond.List)
			}
		})
	}
}

// TestNamedGit changes what is named .git below the root and is not a repository: git has it in no tree, and commands read it all the same.
func TestNamedGit(t *testing.T) {
	for name, files := range map[string][]string{
		"a file": {"lib/.git"}, "a directory": {"lib/.git/conf"}, "one with a name of git's own": {"lib/.git/HEAD", "lib/.git/conf"},
		"alone in its directory": {"cfg/.git/conf"}, "deep": {"cfg/.git/a/.git/b"}, "in the place of a submodule's": {"sub/.git"},
		"beside a nested repository": {"lib/.git/HEAD", "lib/.git/objects/x", "lib/.git/refs/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, git := range []bool{true, false} {
				r := newRepo(t)
				r.write("lib/a", "a")
				r.commit()
				if strings.HasPrefix(files[0], "sub/") {
					withSubmodule(r)
					r.do(os.RemoveAll(r.path("sub/.git")))
				}
				if !git {
					r.do(os.RemoveAll(r.path(".git")))
				}
				seen := make(map[[32]byte]bool)
				for _, content := range []string{"", "ok", "bad"} {
					for _, file := range files {
						if content != "" {
							r.write(file, content)
						}
					}
					s := r.take(Options{})
					if seen[s.Bytes] {
						t.Errorf("with git %v: the bytes are the same with %q in %s", git, content, files[0])
					}
					seen[s.Bytes] = true
				}
			}
		})
	}
}

// TestNestedGit: the inside of a repository is not of the files, with git and without.
func TestNestedGit(t *testing.T) {
	for _, git := range []bool{true, false} {
		r := newRepo(t)
		r.write("a", "a")
		r.commit()
		r.do(exec.Command("git", "init", "-q", r.path("n")).Run())
		r.write("n/b", "b")
		if !git {
			r.do(os.RemoveAll(r.path(".git")))
		}
		before := r.take(Options{})
		r.write("n/.git/description", "another")
		if after := r.take(Options{}); before.Bytes != after.Bytes {
			t.Errorf("with git %v: the bytes changed", git)
		}
	}
}

// TestEnvironmentHidesNothing sets what steers git.
func TestEnvironmentHidesNothing(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	r.write("a", "a")
	r.commit()
	r.write("b", "b")
	want := r.take(Options{})
	planted := t.TempDir()
	for _, dir := range []string{planted, r.path("bin")} {
		r.do(os.MkdirAll(dir, 0o755))
	}
	r.do(os.WriteFile(filepath.Join(planted, "hook"), []byte("#!/bin/sh\ntouch "+filepath.Join(planted, "ran")+"\n"), 0o755))
	for name, value := range map[string]string{
		"GIT_DIR": other.path(".git"), "GIT_WORK_TREE": other.dir, "GIT_INDEX_FILE": "/nonexistent", "GIT_OBJECT_DIRECTORY": "/nonexistent",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": filepath.Join(planted, "hook"),
		"GIT_EXEC_PATH": planted, "GIT_CEILING_DIRECTORIES": r.dir, "GIT_TRACE": filepath.Join(planted, "trace"), "GIT_EXTERNAL_DIFF": "false",
	} {
		t.Setenv(name, value)
	}
	got := r.take(Options{})
	if !got.Same(want) {
		t.Errorf("tree %s (%s), want %s: %v", got.Tree, got.Reason, want.Tree, changes(want, got))
	}
	files, _ := os.ReadDir(planted)
	if len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

// TestPlantedGit: a git that lies in the worktree, or in a relative directory, is
// not run.
func TestPlantedGit(t *testing.T) {
	r := newRepo(t)
	fake := "#!/bin/sh\ntouch " + r.path("ran") + "\n"
	r.write("bin/git", fake)
	r.do(os.Chmod(r.path("bin/git"), 0o755))
	r.do(os.Symlink(r.path("bin"), filepath.Join(t.TempDir(), "in")))
	t.Chdir(r.dir)
	t.Setenv("PATH", strings.Join([]string{r.path("bin"), "bin", "", ".", os.Getenv("PATH")}, string(os.PathListSeparator)))
	if s := r.take(Options{}); s.Reason != "" {
		t.Error(s.Reason)
	}
	if _, err := os.Stat(r.path("ran")); err == nil {
		t.Error("the planted git ran")
	}
	g, err := git.FindGit(r.dir)
	if err != nil || strings.HasPrefix(g.Program, r.dir) || strings.Contains(g.Path(), r.dir) {
		t.Errorf("findGit = %+v, %v", g, err)
	}
}

// TestNothingIsWritten compares all that is below the root, .git included, before
// and after; conversions are at work, which need a temporary repository.
func TestNothingIsWritten(t *testing.T) {
	r := newRepo(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r.git("config", "filter.up.clean", "tr a-z A-Z")
	r.write(".gitattributes", "*.txt text\n*.up filter=up\n")
	r.write("crlf.txt", "a\r\n")
	r.commit()
	r.write("crlf.txt", "b\r\n")
	r.write("a.up", "up")
	nested(r, "n").commit()
	r.write("later", "x")
	r.git("add", "later")
	before := listing(t, r.dir)
	for range 2 {
		if s := r.take(Options{}); s.Reason != "" {
			t.Fatal(s.Reason)
		}
	}
	equal(t, "files below the root", listing(t, r.dir), before)
	equal(t, "temporary files", listing(t, tmp), []string{})
}

// listing renders every file with its status and content; access times apart.
func listing(t *testing.T, root string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		line := strings.TrimPrefix(path, root) + " " + fi.Mode().String() + " " + time.Unix(st.Mtim.Unix()).String() + time.Unix(st.Ctim.Unix()).String()
		if fi.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += string(content)
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(r *repo)
		want  string
	}{
		{"unmerged", func(r *repo) {
			r.write("a.txt", "0")
			r.commit()
			r.git("checkout", "-q", "-b", "other")
			r.write("a.txt", "1")
			r.commit()
			r.git("checkout", "-q", "-")
			r.write("a.txt", "2")
			r.commit()
			_ = r.command("merge", "-q", "other").Run()
		}, "a.txt is unmerged: resolve the conflict, then git add"},
		{"required filter that fails", func(r *repo) {
			r.git("config", "filter.lfs.clean", "git-lfs-is-not-here clean -- %f")
			r.git("config", "filter.lfs.required", "true")
			r.write(".gitattributes", "*.bin filter=lfs\n")
			r.write("a.bin", "a")
		}, "git: a.bin: clean filter 'lfs' failed"},
		{"FIFO where a file was", func(r *repo) {
			r.write("a", "a")
			r.commit()
			r.do(os.Remove(r.path("a")))
			r.do(syscall.Mkfifo(r.path("a"), 0o600))
		}, "FIFO where a tracked file was: a"},
		{"nested without a commit", func(r *repo) { nested(r, "d/n") }, "nested repository without a commit: d/n"},
		{"garbage index", func(r *repo) {
			r.write("a", "a")
			r.write(".git/index", "garbage of more than thirty-two bytes")
		}, `git: (\.git/index: )?index file (smaller than expected|corrupt)`},
		{".git file that leads nowhere", func(r *repo) {
			r.do(os.RemoveAll(r.path(".git")))
			r.write(".git", "gitdir: /nonexistent\n")
		}, "git: not a git repository: /nonexistent"},
		{"FIFO as index", func(r *repo) {
			r.write("a", "a")
			r.do(syscall.Mkfifo(r.path(".git/index"), 0o600))
		}, ".git/index is not a regular file"},
		{"FIFO as configuration", func(r *repo) {
			r.do(os.Remove(r.path(".git/config")))
			r.do(syscall.Mkfifo(r.path(".git/config"), 0o600))
		}, ".git/config is not a regular file"},
		{"device as configuration", func(r *repo) {
			r.do(os.Remove(r.path(".git/config")))
			r.do(os.Symlink("/dev/zero", r.path(".git/config")))
		}, ".git/config is not a regular file"},
		{"outside", func(r *repo) { r.do(os.RemoveAll(r.path(".git"))) }, "not a git repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			c.build(r)
			r.write("__pycache__/x", "no")
			s := r.takeBoth(NewTracker(r.dir, Options{}))
			if s.Exact || s.Tree != "" || !regexp.MustCompile("^(?:"+c.want+")$").MatchString(s.Reason) {
				t.Errorf("tree %q, reason %q, want %s", s.Tree, s.Reason, c.want)
			}
			r.write("new", "x")
			after := r.takeBoth(NewTracker(r.dir, Options{}))
			if s.Bytes == after.Bytes || len(Diff(s, after)) != 1 {
				t.Errorf("a new file shows as %v", changes(s, after))
			}
		})
	}
}

// TestIgnoredProject: a project that the repository around it ignores is not
// hidden by it.
func TestIgnoredProject(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "tmp/\n")
	r.write("a", "a")
	r.commit()
	r.write("tmp/p/b", "b")
	p := r.at(r.path("tmp/p"))
	tracker := NewTracker(p.dir, Options{})
	s := p.takeBoth(tracker)
	if s.Tree != "" || s.Root != p.dir || s.Files != 1 || !strings.Contains(s.Reason, "ignores") {
		t.Errorf("%+v", s)
	}
	p.write("b", "c")
	equal(t, "changes", changes(s, p.takeBoth(tracker)), []string{"changed b (untracked)"})
}

func TestCachesAndExceptions(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.write("tracked/__pycache__/t.pyc", "t")
	r.git("add", "-f", ".")
	r.commit()
	o := Options{Caches: []string{".tox"}, Except: []archive.Exempt{{Path: r.path("d/store.db")}, {Path: r.path("a")}, {Path: "/nonexistent/x"}}}
	before := r.take(o)
	for _, n := range []string{".dialect/store/receipts.db", "d/__pycache__/a.pyc", ".mypy_cache/x", ".pytest_cache/x", ".ruff_cache/x", ".tox/x", "d/store.db"} {
		r.write(n, "x")
	}
	r.write("tracked/__pycache__/u.pyc", "u")
	equal(t, "caches", changes(before, r.take(o)), nil)
	r.write("a", "excepted, but tracked")
	r.write("tracked/__pycache__/t.pyc", "tracked")
	r.write("d/store.db-wal", "not excepted")
	r.write("node_modules/.cache/x", "no cache of ours")
	equal(t, "changes", changes(before, r.take(o)), []string{
		"changed a", "added d/store.db-wal (untracked)", "added node_modules/.cache/x (untracked)", "changed tracked/__pycache__/t.pyc",
	})
	for _, bad := range []Options{{Caches: []string{"a/b"}}, {Caches: []string{""}}, {Except: []archive.Exempt{{Path: "relative"}}}} {
		if s, err := Take(context.Background(), r.dir, bad); err == nil && s.Reason == "" {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestUntrackedIsBounded(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for i := range 250 {
		r.write("f"+string(rune('a'+i/26))+string(rune('a'+i%26)), "")
	}
	s := r.take(Options{})
	if s.Files != 250 || s.Untracked.Count != 250 || len(s.Untracked.Paths) != 100 || !slices.IsSorted(s.Untracked.Paths) {
		t.Errorf("files %d, untracked %d, listed %d", s.Files, s.Untracked.Count, len(s.Untracked.Paths))
	}
}

// asOther runs the test as another user, and returns true, where this one could read everything.
func asOther(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip("root reads everything")
	}
	defer func() { _ = exe.Close() }()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return true
}

func TestUnreadable(t *testing.T) {
	if asOther(t) {
		return
	}
	r := newRepo(t)
	for _, bad := range []string{"d/file", "d/dir"} {
		if r.write(bad, "x"); bad == "d/dir" {
			r.do(os.Remove(r.path(bad)))
			r.do(os.Mkdir(r.path(bad), 0o700))
		}
		r.do(os.Chmod(r.path(bad), 0))
		_, err := Take(context.Background(), r.dir, Options{})
		var named *Error
		if !errors.As(err, &named) || named.Path != bad || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", bad, err)
		}
		r.do(os.Chmod(r.path(bad), 0o700))
	}
}

// A repository of another user is read like any other, but what it configures is not
// run: its filters are programs of that user.
func TestRepositoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	r := newRepo(t)
	r.git("config", "filter.evil.clean", "touch "+r.path("ran")+"; cat")
	r.write("a", "a")
	r.write("ignored", "a")
	r.write(".gitignore", "ignored\n")
	r.git("add", ".gitignore")
	for _, name := range []string{".", ".git", ".git/config"} {
		r.do(os.Chown(r.path(name), 65534, 65534))
	}
	s := r.take(Options{})
	if s.Tree == "" || s.Files != 2 {
		t.Errorf("tree %q, reason %q, %d files", s.Tree, s.Reason, s.Files)
	}
	r.write(".gitattributes", "* filter=evil\n")
	s = r.take(Options{})
	if s.Tree != "" || !strings.Contains(s.Reason, "filter.evil.clean is not run") || s.Files != 3 {
		t.Errorf("tree %q, reason %q, %d files", s.Tree, s.Reason, s.Files)
	}
	if _, err := os.Lstat(r.path("ran")); err == nil {
		t.Error("the filter ran")
	}
}

// TestPartsOfAnotherUser: a repository is another user's as soon as a part of it is that says which programs git runs: the directory that a .git file
// or a link names, the one that worktrees share, a file of configuration.
func TestPartsOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for name, give := range map[string]func(r *repo) []string{ // makes files of r, and returns those that are given away
		"the config": func(r *repo) []string { return []string{".git/config"} },
		"what a link leads to": func(r *repo) []string {
			r.do(os.Rename(r.path(".git"), r.path("other")))
			r.do(os.Symlink("other", r.path(".git")))
			return []string{"other"}
		},
		"a config that is a link": func(r *repo) []string {
			r.do(os.Rename(r.path(".git/config"), r.path("other")))
			r.do(os.Symlink("../other", r.path(".git/config")))
			return []string{"other"}
		},
		"the config of a worktree": func(r *repo) []string { r.write(".git/config.worktree", ""); return []string{".git/config.worktree"} },
		"what a file names": func(r *repo) []string {
			r.do(os.Rename(r.path(".git"), r.path("other")))
			r.write(".git", "gitdir: other\n")
			return []string{"other"}
		},
		"what worktrees share": func(r *repo) []string {
			r.do(os.Rename(r.path(".git"), r.path("common")))
			r.do(os.MkdirAll(r.path("own"), 0o700))
			r.do(os.Rename(r.path("common/HEAD"), r.path("own/HEAD")))
			r.do(os.Rename(r.path("common/index"), r.path("own/index")))
			r.write("own/commondir", "../common\n")
			r.write(".git", "gitdir: own\n")
			return []string{"common"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.git("config", "filter.evil.clean", "touch "+r.path("ran")+"; cat")
			r.write("a", "a")
			r.git("add", "a")
			r.write(".gitattributes", "a filter=evil\n")
			r.write(".gitignore", "other\ncommon\nown\n")
			for _, name := range give(r) {
				r.do(os.Chown(r.path(name), 65534, 65534))
			}
			if s := r.take(Options{}); s.Tree != "" || !strings.Contains(s.Reason, "filter.evil.clean is not run") {
				t.Errorf("tree %q, reason %q", s.Tree, s.Reason)
			}
			if _, err := os.Lstat(r.path("ran")); err == nil {
				t.Error("the filter ran")
			}
		})
	}
}

// TestOwnFilterElsewhere: a filter of the user takes its modules from the folder that it runs in, which is another user's.
func TestOwnFilterElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	r := newRepo(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	r.do(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[filter \"strip\"]\n\tclean = sh ./strip.sh\n"), 0o600))
	r.write("strip.sh", "touch "+r.path("ran")+"; cat\n")
	r.write("a", "a")
	r.write(".gitattributes", "a filter=strip\n")
	r.do(os.Chown(r.path(".git"), 65534, 65534))
	if s := r.take(Options{}); s.Tree != "" || !strings.Contains(s.Reason, "filter.strip.clean is not run") {
		t.Errorf("tree %q, reason %q", s.Tree, s.Reason)
	}
	if _, err := os.Lstat(r.path("ran")); err == nil {
		t.Error("the filter ran")
	}
}

func TestNotThere(t *testing.T) {
	if _, err := Take(context.Background(), filepath.Join(t.TempDir(), "no"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}
