//go:build linux

package cleanroom

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/workspace"
)

const helperName = "dialect: room of a test"

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case helperName:
		os.Exit(process.Become(os.Args[1:], Furnish))
	}
	os.Exit(m.Run())
}

// A project is a repository with files that a room has to have exactly.
func project(t testing.TB, parent string) string {
	t.Helper()
	root := filepath.Join(parent, "project")
	put(t, root, "a.txt", "a\n")
	put(t, root, "dir/sub/b.txt", "b\n")
	put(t, root, "run.sh", "#!/bin/sh\necho ran in \"$PWD\"\n")
	put(t, root, ".gitignore", "ignored*\n")
	put(t, root, "ignored.txt", "live\n")
	put(t, root, "ignored/deep.txt", "live\n")
	if err := errors.Join(os.Chmod(filepath.Join(root, "run.sh"), 0o711), os.Chmod(filepath.Join(root, "a.txt"), 0o600), os.Symlink("dir/sub", filepath.Join(root, "link")), os.Symlink("../a.txt", filepath.Join(root, "dir/up"))); err != nil {
		t.Fatal(err)
	}
	gitIn(t, root, "init", "-q", "-b", "main")
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-qm", "first")
	gitIn(t, root, "tag", "v1.2.3")
	put(t, root, "dir/untracked.txt", "not tracked\n")
	put(t, root, "a.txt", "changed since the commit\n")
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// gitIn runs git, which leaves nothing to do in the background: a copy of a repository would miss a file that is listed.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "maintenance.auto=false", "-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// home makes a home directory and temporary directories of the test, so that nothing of the machine decides.
func home(t testing.TB) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	return dir
}

func enter(t testing.TB, root string, o Options) *Room {
	t.Helper()
	if o.Root == "" {
		o.Root = root
	}
	r := New(workspace.NewTracker(root, workspace.Options{}), o)
	t.Cleanup(r.Close)
	if _, err := r.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// confined is a room in namespaces; the test is skipped where there are none.
func confined(t testing.TB, root string) *Room {
	t.Helper()
	r := enter(t, root, Options{Helper: []string{helperName}, Cache: Cache()})
	if why := r.Unconfined(); why != "" {
		t.Skip(why)
	}
	return r
}

// in runs a command in the room, in the directory of its project; the stay is not over. The error is why the command did not start.
func in(t testing.TB, r *Room, argv []string, show ...string) (*Stay, *process.Result, error) {
	t.Helper()
	l, err := process.New(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := r.Enter()
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range show {
		s.Show(dir)
	}
	c := &process.Command{Argv: argv, Dir: r.o.Root, Env: os.Environ(), Digest: true}
	if err := s.Prepare(c); err != nil {
		return nil, nil, err
	}
	res := l.Run(context.WithoutCancel(t.Context()), c)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	return s, &res, nil
}

// sh runs a shell command in the room, and returns its output and what it changed.
func sh(t testing.TB, r *Room, text string) (out string, changed []string) {
	t.Helper()
	s, res, err := in(t, r, []string{"sh", "-c", text})
	if err != nil {
		t.Fatal(err)
	}
	if changed, err = s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	return string(res.Stdout.Head) + string(res.Stderr.Head), changed
}

func want(t *testing.T, what, got string, lines ...string) {
	t.Helper()
	if text := strings.Join(lines, "\n") + "\n"; got != text {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, text)
	}
}

// A command sees exactly the files of the snapshot at the project's own path, with the modes of a clone.
func TestExact(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	out, changed := sh(t, r, `find . -path ./.git -prune -o -printf '%P %y %m %l\n' | sort; pwd; cat a.txt dir/untracked.txt link/b.txt; ./run.sh`)
	want(t, "the room", out,
		" d 755 ", ".gitignore f 644 ", "a.txt f 644 ", "dir d 755 ", "dir/sub d 755 ", "dir/sub/b.txt f 644 ", "dir/untracked.txt f 644 ",
		"dir/up l 777 ../a.txt", "link l 777 dir/sub", "run.sh f 755 ", root, "changed since the commit", "not tracked", "b", "ran in "+root)
	if len(changed) > 0 {
		t.Errorf("changed: %q", changed)
	}
}

// The live tree is not seen, and not changed: edits in mid-run, ignored files, what a command writes or removes. The next
// command does not see that either.
func TestApart(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	put(t, root, "a.txt", "edited in mid-run\n")
	put(t, root, "new.txt", "new\n")
	out, changed := sh(t, r, `cat a.txt; ls; echo mine > a.txt; echo mine > mine.txt; rm dir/sub/b.txt; rm link; chmod +x .gitignore; echo "$HOME" > ~/kept; cat a.txt`)
	want(t, "the first command", out, "changed since the commit", "a.txt", "dir", "link", "run.sh", "mine")
	if want := []string{".gitignore", "a.txt", "dir/sub/b.txt", "link"}; !slices.Equal(sorted(changed), want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	out, changed = sh(t, r, `cat a.txt; ls . dir; cat ~/kept`)
	want(t, "the second command", out, "changed since the commit", ".:", "a.txt", "dir", "link", "run.sh", "", "dir:", "sub", "untracked.txt", "up", os.Getenv("HOME"))
	if len(changed) > 0 {
		t.Errorf("the second command changed %q", changed)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(text) != "edited in mid-run\n" {
		t.Errorf("the working tree was changed: %s", text)
	}
	if _, err := os.Lstat(filepath.Join(os.Getenv("HOME"), "kept")); err == nil {
		t.Error("the command wrote into the user's home directory")
	}
	r.Forget()
	if _, err := r.Take(t.Context()); err != nil {
		t.Errorf("the checkout: %v", err)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// What takes the place of a file or directory is a change of what was there.
func TestReplaced(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	for text, want := range map[string][]string{
		"rm -r dir; echo x > dir":                             {"dir/sub/b.txt", "dir/untracked.txt", "dir/up"},
		"rm -r dir; mkdir -p dir/sub; echo b > dir/sub/b.txt": {"dir/untracked.txt", "dir/up"},
		"rm a.txt; mkdir a.txt; touch a.txt/x":                {"a.txt"},
		"rm link; ln -s elsewhere link":                       {"link"},
		"touch a.txt; echo x >> run.sh; chmod 000 dir":        {"run.sh"},
		"mkdir -p new/er; touch new/er/x":                     nil,
		"printf 'changed since the commit\\n' > a.txt":        nil,
	} {
		if out, changed := sh(t, r, text); !slices.Equal(sorted(changed), want) || out != "" {
			t.Errorf("%s: changed %q, want %q\n%s", text, changed, want, out)
		}
	}
}

// What lies around the project is hidden, and private to the run: parents, neighbours, the home directory, temporary
// directories, shared memory.
func TestAround(t *testing.T) {
	dir := home(t)
	root := project(t, filepath.Join(dir, "home", "src"))
	put(t, dir, "home/src/pytest.ini", "planted")
	put(t, dir, "home/.config/tool", "planted")
	put(t, dir, "tmp/planted", "planted")
	if err := os.WriteFile("/dev/shm/dialect-planted-test", nil, 0o600); err == nil {
		t.Cleanup(func() { os.Remove("/dev/shm/dialect-planted-test") })
	}
	r := confined(t, root)
	out, _ := sh(t, r, `ls -A .. ~ /tmp /var/tmp /dev/shm; cd ..; find . -name '*.ini'; echo x > ~/x; echo x > /tmp/x; echo x > /dev/shm/x; echo ${TMPDIR-none} ${XDG_CONFIG_HOME-none}`)
	top := strings.Split(strings.TrimPrefix(strings.TrimPrefix(root, "/tmp/"), "/"), "/")[0]
	if strings.Contains(out, "planted") || strings.Contains(out, "pytest.ini") || !strings.HasSuffix(out, "none none\n") {
		t.Errorf("the room shows what is around it:\n%s", out)
	}
	if strings.HasPrefix(root, "/tmp/") && !strings.Contains(out, "/tmp:\n"+top+"\n") {
		t.Errorf("/tmp holds more than the way to the project:\n%s", out)
	}
	for _, name := range []string{filepath.Join(dir, "home/x"), "/dev/shm/x"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was written outside of the room", name)
		}
	}
}

// A project directly in a directory of the system: what lies beside it is not seen.
func TestBeside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to make a project in a directory of the system")
	}
	home(t)
	const user = 65534
	for _, parent := range []string{"/srv", "/opt", "/mnt", "/var/lib", "/"} {
		var dirs [2]string
		for i := range dirs {
			dir, err := os.MkdirTemp(parent, "dialect-test-")
			if err != nil {
				t.Skip(err)
			}
			defer os.RemoveAll(dir)
			put(t, dir, "data", "data\n")
			if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, user, user)); err != nil {
				t.Fatal(err)
			}
			dirs[i] = dir
		}
		confined(t, dirs[0]).Close()
		r := enter(t, dirs[0], Options{Helper: []string{helperName}, Asker: user})
		if out, _ := sh(t, r, "cat data; ls .. >/dev/null && cat ../"+filepath.Base(dirs[1])+"/data 2>/dev/null; test -d /usr && echo usr"); out != "data\nusr\n" {
			t.Errorf("in %s the room shows what is beside the project:\n%s", parent, out)
		}
		if parent != "/" {
			continue
		}
		f, err := os.CreateTemp(parent, "dialect-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(f.Name())
		if err := errors.Join(f.Chown(user, user), f.Close()); err != nil {
			t.Fatal(err)
		}
		r = enter(t, dirs[0], Options{Helper: []string{helperName}, Asker: user, Apart: true})
		if _, names := seen(t, r, "true"); !slices.Contains(names, f.Name()+", beside the project") {
			t.Errorf("a file beside the project is not named: %q", names)
		}
	}
}

// The .git of the room knows the snapshot, the commit and the tags, and none of the user's configuration or hooks; what is
// committed in it stays there.
func TestGit(t *testing.T) {
	root := project(t, home(t))
	put(t, root, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(filepath.Join(root, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, root, "config", "core.fsmonitor", "/bin/false")
	head := gitIn(t, root, "rev-parse", "HEAD")
	r := confined(t, root)
	out, _ := sh(t, r, `git ls-files; git describe --tags; git status --porcelain; git rev-parse HEAD; git symbolic-ref HEAD; git fsck 2>&1; git cat-file -p :dir/untracked.txt; git config --list --local | grep fsmonitor
git -c user.name=t -c user.email=t commit -qm second && git log --format=%s; echo objects: && touch .git/shared-objects/x 2>/dev/null; ls .git/hooks 2>/dev/null`)
	want(t, "git", out, ".gitignore", "a.txt", "dir/sub/b.txt", "dir/untracked.txt", "dir/up", "link", "run.sh", "v1.2.3", "M  a.txt", "A  dir/untracked.txt",
		strings.TrimSpace(head), "refs/heads/main", "not tracked", "second", "first", "objects:")
	if now := gitIn(t, root, "rev-parse", "HEAD"); now != head {
		t.Error("a commit in the room is in the repository")
	}
}

// What cannot be checked out is refused by name, and no command is let in.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		make func(root string) error
		text string
	}{
		"a link that leaves": {func(root string) error { return os.Symlink("../../etc", filepath.Join(root, "out")) }, "out -> ../../etc: a clean room has no link that leads out"},
		"an absolute link":   {func(root string) error { return os.Symlink("/usr", filepath.Join(root, "out")) }, "out -> /usr"},
		"a way round": {func(root string) error {
			return errors.Join(os.Symlink("dir/..", filepath.Join(root, "round")), os.Symlink("round/../..", filepath.Join(root, "out")))
		}, "out -> round/../.."},
		"a FIFO": {func(root string) error { return syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644) }, "pipe: no FIFO"},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, home(t))
			if err := test.make(root); err != nil {
				t.Fatal(err)
			}
			r := enter(t, root, Options{Helper: []string{helperName}})
			if _, err := r.Enter(); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %s", err, test.text)
			}
		})
	}
	// What leads nowhere inside of the tree is no way out.
	root := project(t, home(t))
	if err := errors.Join(os.Symlink("ignored.txt", filepath.Join(root, "dangling")), os.Symlink("loop", filepath.Join(root, "loop"))); err != nil {
		t.Fatal(err)
	}
	if out, _ := sh(t, confined(t, root), "readlink dangling loop; cat dangling 2>/dev/null || echo nothing"); out != "ignored.txt\nloop\nnothing\n" {
		t.Errorf("dangling links: %s", out)
	}
}

// A descriptor that dialect has inherited would lead out of the room.
func TestInherited(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if out, _ := sh(t, r, `for f in /proc/self/fd/*; do readlink $f; done | grep -F "$PWD" || echo none`); strings.TrimSpace(out) != "none" {
		t.Errorf("the command has %s", out)
	}
}

// A cache in the project would be a part of the next snapshot, and of the one after that twice.
func TestCacheInTheProject(t *testing.T) {
	root := project(t, home(t))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "cache"))
	t.Setenv("TMPDIR", root)
	if r := confined(t, root); strings.HasPrefix(r.tree.dir, root) || strings.HasPrefix(r.dir, root) {
		t.Errorf("the checkout is in %s, the room in %s", r.tree.dir, r.dir)
	}
}

func TestKept(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	tree := r.tree.dir
	if !strings.HasPrefix(tree, Cache()) {
		t.Fatalf("the checkout is in %s", tree)
	}
	r.Close()
	other := filepath.Join(filepath.Dir(root), "other.txt")
	for name, spoil := range map[string]func() error{
		"same length": func() error {
			info, err := os.Stat(filepath.Join(tree, "dir/sub/b.txt"))
			if err != nil {
				return err
			}
			name := filepath.Join(tree, "dir/sub/b.txt")
			return errors.Join(os.WriteFile(name, []byte("X\n"), 0o644), os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
		"added":   func() error { return os.MkdirAll(filepath.Join(tree, "dir/__pycache__/x"), 0o755) },
		"mode":    func() error { return os.Chmod(filepath.Join(tree, "a.txt"), 0o755) },
		"removed": func() error { return os.RemoveAll(filepath.Join(tree, "dir")) },
		"a link": func() error {
			return errors.Join(os.Remove(filepath.Join(tree, "a.txt")), os.WriteFile(other, []byte("changed since the commit\n"), 0o644), os.Symlink(other, filepath.Join(tree, "a.txt")))
		},
		"a hard link": func() error {
			return errors.Join(os.Remove(filepath.Join(tree, "a.txt")), os.WriteFile(other, []byte("changed since the commit\n"), 0o644), os.Link(other, filepath.Join(tree, "a.txt")))
		},
		"a directory": func() error {
			return errors.Join(os.Rename(filepath.Join(tree, "dir"), filepath.Join(filepath.Dir(root), "moved")), os.Symlink(filepath.Join(filepath.Dir(root), "moved"), filepath.Join(tree, "dir")))
		},
		"another link": func() error {
			return errors.Join(os.Remove(filepath.Join(tree, "link")), os.Symlink("dir", filepath.Join(tree, "link")))
		},
		"locked": func() error { return os.Chmod(filepath.Join(tree, "dir"), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.RemoveAll(filepath.Join(filepath.Dir(root), "moved"))
			_ = os.Remove(other)
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			r := confined(t, root)
			out, _ := sh(t, r, `find . -path ./.git -prune -o -printf '%P %y %m %l %n\n' | sort | grep -v '^\(dir\|dir/sub\|\) d'; cat a.txt dir/sub/b.txt`)
			want(t, "repaired", out, ".gitignore f 644  1", "a.txt f 644  1", "dir/sub/b.txt f 644  1", "dir/untracked.txt f 644  1",
				"dir/up l 777 ../a.txt 1", "link l 777 dir/sub 1", "run.sh f 755  1", "changed since the commit", "b")
			r.Close()
		})
	}
}

// closed is a list of permissions by which nobody may read, write or execute a new file.
const closed = "\x02\x00\x00\x00" + "\x01\x00\x00\x00\xff\xff\xff\xff" + "\x04\x00\x00\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"

// A directory hands its list of permissions for new files on to those that are made in it: those of a room have none, wherever it is made.
func TestInheritedModes(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "dir/file", "text")
	temp, cache := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_CACHE_HOME", cache)
	group := strings.Replace(strings.Replace(closed, "\x01\x00\x00", "\x01\x00\x07", 1), "\x20\x00\x00", "\x20\x00\x05", 1)
	for _, dir := range []string{temp, cache} {
		if err := unix.Setxattr(dir, "system.posix_acl_default", []byte(group), 0); errors.Is(err, unix.ENOTSUP) {
			t.Skip("no such lists here")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		r := confined(t, root)
		out, _ := sh(t, r, "umask 0; for d in . dir $HOME /tmp; do echo >$d/new; stat -c %a $d/new; done")
		if out != "666\n666\n666\n666\n" {
			t.Errorf("%q", out)
		}
		r.Forget()
		if _, err := r.Take(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

// Whether others may read what a command makes is not for who started the run to choose.
func TestUmask(t *testing.T) {
	root := project(t, home(t))
	defer unix.Umask(unix.Umask(0o077))
	r := confined(t, root)
	if out, _ := sh(t, r, "umask; mkdir new $HOME/new; stat -c %a . new $HOME $HOME/new"); out != "0022\n755\n755\n755\n755\n" {
		t.Errorf("%q", out)
	}
}

// What changes the checkout while a run lasts is found at its gate, also when it is put under another's name or time.
func TestChangedMeanwhile(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	name := filepath.Join(r.tree.dir, "a.txt")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[0]++
	if err := errors.Join(os.WriteFile(name, text, 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	r.Forget()
	if _, err := r.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "a.txt") {
		t.Errorf("%v", err)
	}
}

// An error says the same each time that it is asked.
func TestChangedError(t *testing.T) {
	err := &ChangedError{[]string{"a\nb"}}
	if first := err.Error(); first != err.Error() || err.Paths[0] != "a\nb" {
		t.Errorf("%s, and then %s", first, err)
	}
}

// Two runs of one project: with the same files they share the checkout, with others each has its own.
func TestTwoRuns(t *testing.T) {
	root := project(t, home(t))
	first := confined(t, root)
	same := confined(t, root)
	put(t, root, "a.txt", "of the third\n")
	third := confined(t, root)
	if first.tree.dir != same.tree.dir || first.tree.dir == third.tree.dir {
		t.Errorf("checkouts in %s, %s, %s", first.tree.dir, same.tree.dir, third.tree.dir)
	}
	for r, want := range map[*Room]string{first: "changed since the commit\n", same: "changed since the commit\n", third: "of the third\n"} {
		if out, _ := sh(t, r, "cat a.txt"); out != want {
			t.Errorf("%s, want %s", out, want)
		}
	}
}

// A run leaves nothing behind but the checkout that it keeps: no file of its own, no mount.
func TestLeavesNothing(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	before := mounted(dir)
	r := confined(t, root)
	sh(t, r, "mkdir -p x/y && touch x/y/z && chmod 0 x/y x; rm a.txt; mkdir ~/locked; touch ~/locked/x; chmod 0 ~/locked")
	r.Close()
	if now := mounted(dir); !slices.Equal(now, before) {
		t.Errorf("mounts are left: %q", now)
	}
	list, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if _, err := r.Enter(); err == nil {
		t.Error("a closed room lets commands in")
	}
}

// mounted returns the mounts that are a room's, or in a directory: others come and go beside this test.
func mounted(dir string) (list []string) {
	text, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "dialect ") || strings.Contains(line, dir) {
			list = append(list, line)
		}
	}
	return list
}

// Without namespaces the room is a copy in a folder of the run, and says so: the working tree is not
// changed, and tools in it are not found by PATH.
func TestUnconfined(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	put(t, root, "bin/tool", "#!/bin/sh\necho live\n")
	if err := os.Chmod(filepath.Join(root, "bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	r := enter(t, root, Options{})
	if r.Unconfined() == "" {
		t.Fatal("it has no helper, and says that it is confined")
	}
	out, changed := sh(t, r, `cat a.txt; ls; git ls-files; echo mine > a.txt; touch left; command -v tool; case "$PWD$HOME$TMPDIR" in *`+root+`/*) echo live;; esac`)
	want(t, "the room", out, "changed since the commit", "a.txt", "bin", "dir", "link", "run.sh", ".gitignore", "a.txt", "bin/tool", "dir/sub/b.txt", "dir/untracked.txt", "dir/up", "link", "run.sh")
	if !slices.Equal(changed, []string{"a.txt"}) {
		t.Errorf("changed %q", changed)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(text) != "changed since the commit\n" {
		t.Errorf("the working tree was changed: %s", text)
	}
	r.Forget()
	if _, err := r.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "a.txt") {
		t.Errorf("a changed checkout is taken for the snapshot: %v", err)
	}
	r.Close()
	if list, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

// Names that a file system takes for one are refused by name. Two files of one name are what such a file system makes of
// README and readme.
func TestFolds(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "readme", "one\n")
	live, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	one := workspace.File{Path: "readme", Size: 4, SHA256: sha256.Sum256([]byte("one\n"))}
	two := workspace.File{Path: "readme", Size: 4, SHA256: sha256.Sum256([]byte("two\n"))}
	for _, files := range [][]workspace.File{{one, two}, {two, one}} {
		c := newCheckout(filepath.Join(t.TempDir(), "tree"), files)
		if err := c.sync(t.Context(), live); err == nil || !strings.Contains(err.Error(), "readme") {
			t.Errorf("%v", err)
		}
	}
}

// A project outside of any repository, and one in a folder of a repository.
func TestPlaces(t *testing.T) {
	dir := home(t)
	plain := filepath.Join(dir, "plain")
	put(t, plain, "a.txt", "a\n")
	if out, _ := sh(t, confined(t, plain), "ls -A"); out != "a.txt\n" {
		t.Errorf("a plain directory: %s", out)
	}
	root := project(t, dir)
	r := enter(t, root, Options{Root: filepath.Join(root, "dir"), Helper: []string{helperName}})
	if out, _ := sh(t, r, "pwd; cat sub/b.txt ../a.txt; git rev-parse --show-prefix"); out != filepath.Join(root, "dir")+"\nb\nchanged since the commit\ndir/\n" {
		t.Errorf("a folder of a repository: %s", out)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(root, linked); err != nil {
		t.Fatal(err)
	}
	if out, _ := sh(t, enter(t, linked, Options{Helper: []string{helperName}}), "pwd -P"); out != root+"\n" {
		t.Errorf("by a link: %s", out)
	}
	gitIn(t, root, "worktree", "add", "-q", filepath.Join(dir, "second"), "HEAD")
	if out, _ := sh(t, confined(t, filepath.Join(dir, "second")), "git status --porcelain; git describe --tags; cat a.txt"); out != "v1.2.3\na\n" {
		t.Errorf("a linked worktree: %s", out)
	}
}

// Nested repositories and submodules have the files that the snapshot has.
func TestNested(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	inner := project(t, filepath.Join(dir, "elsewhere"))
	gitIn(t, root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "module")
	nested := filepath.Join(root, "nested")
	put(t, nested, "n.txt", "n\n")
	gitIn(t, nested, "init", "-q")
	gitIn(t, nested, "add", "-A")
	gitIn(t, nested, "commit", "-qm", "nested")
	put(t, root, "module/a.txt", "changed in the module\n")
	if err := os.MkdirAll(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, confined(t, root), "cat module/a.txt module/dir/sub/b.txt nested/n.txt; ls -A nested; ls -A module; ls -d empty 2>/dev/null; git ls-files -s | cut -c1-6,50- | grep ^16")
	want(t, "nested", out, "changed in the module", "b", "n", "n.txt", ".gitignore", "a.txt", "dir", "link", "run.sh", "160000\tmodule", "160000\tnested")
}

// If the program that makes rooms is killed, its command dies and its mounts are gone; its folder is swept by a later run.
func TestKilled(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	confined(t, root).Close() // or there is nothing to test
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "mark") // a directory that the command may write in
	if err := os.Mkdir(mark, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestStay$")
	cmd.Env = append(os.Environ(), "CLEANROOM_TEST_ROOT="+root, "CLEANROOM_TEST_MARK="+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for deadline := time.Now().Add(time.Minute); pid == 0; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(mark, "pid")); err == nil && strings.HasSuffix(string(text), "\n") {
			_, _ = fmt.Sscan(string(text), &pid)
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("the command did not start")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(text), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command lives on")
		}
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); strings.Contains(string(mounts), root) {
		t.Error("a mount is left")
	}
	old := time.Now().Add(-time.Hour)
	left, _ := filepath.Glob(filepath.Join(dir, "tmp", "dialect-room-*"))
	if len(left) != 1 {
		t.Fatalf("the killed run left %q", left)
	}
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	// The next run is another process, which sweeps.
	next := exec.Command(self, "-test.run=^TestStay$")
	next.Env = append(os.Environ(), "CLEANROOM_TEST_ROOT="+root, "CLEANROOM_TEST_MARK="+mark, "CLEANROOM_TEST_ONCE=1")
	if out, err := next.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, _ = filepath.Glob(filepath.Join(dir, "tmp", "*")); len(left) != 0 {
		t.Errorf("left after the next run: %q", left)
	}
}

// TestStay is the run of TestKilled: it stays in its command, or waits until the folder of the killed run is gone.
func TestStay(t *testing.T) {
	root, mark := os.Getenv("CLEANROOM_TEST_ROOT"), os.Getenv("CLEANROOM_TEST_MARK")
	if root == "" {
		t.Skip("it is the run of another test")
	}
	r := enter(t, root, Options{Helper: []string{helperName}, Cache: Cache()})
	if os.Getenv("CLEANROOM_TEST_ONCE") != "" {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "dialect-room-*")); len(left) == 1 {
				return
			}
		}
		t.Fatal("the folder of the killed run is still there")
	}
	_, _, _ = in(t, r, []string{"sh", "-c", "echo $$ > '" + mark + "/pid'; exec sleep 60"}, mark)
}

// Members of a composite come and go at the same time, those that write too: the race detector looks on.
func TestSameTime(t *testing.T) {
	for name, helper := range map[string][]string{"confined": {helperName}, "unconfined": nil} {
		t.Run(name, func(t *testing.T) {
			root := project(t, home(t))
			r := enter(t, root, Options{Helper: helper, Cache: Cache()})
			confined := r.Unconfined() == ""
			if helper != nil && !confined {
				t.Skip(r.Unconfined())
			}
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					s, res, err := in(t, r, []string{"sh", "-c", fmt.Sprintf("cat a.txt; echo %d >new%[1]d.txt", i)})
					if err != nil {
						t.Error(err)
						return
					}
					if confined && i%2 == 0 {
						err = s.Keep(t.Context())
					} else {
						_, err = s.End(t.Context())
					}
					if err != nil || string(res.Stdout.Head) != "changed since the commit\n" {
						t.Errorf("%d: %q, %v", i, res.Stdout.Head, err)
					}
				})
			}
			all.Wait()
		})
	}
}

// All files have one time, which is of the tree: no run before, and no line that writes in a room of commands kept apart, makes one of them the newer one.
func TestTimes(t *testing.T) {
	root := project(t, home(t))
	const look = "find . -name .git -prune -o -mindepth 1 -not -type d -printf '%T@\n' -o -mindepth 1 -printf '%T@\n' | sort -u"
	o := Options{Helper: []string{helperName}, Cache: Cache()}
	first, _ := sh(t, enter(t, root, o), look)
	if strings.Count(first, "\n") != 1 {
		t.Fatalf("the files have the times\n%s", first)
	}
	was, _ := os.ReadFile(filepath.Join(root, "a.txt"))
	put(t, root, "a.txt", "other\n")
	if out, _ := sh(t, enter(t, root, o), look); out == first || strings.Count(out, "\n") != 1 {
		t.Errorf("another tree has the times\n%s", out)
	}
	put(t, root, "a.txt", string(was))
	if out, _ := sh(t, enter(t, root, o), look); out != first {
		t.Errorf("the first tree has the times\n%s\nand once more\n%s", first, out)
	}
	o.Apart = true
	r := enter(t, root, o)
	wrote(t, r, "echo 1 > ignored.txt")
	wrote(t, r, "echo new > a.txt; echo 2 > ignored-out")
	if out, _ := sh(t, r, "rm -f ignored-out; "+look+"; [ a.txt -nt ignored.txt ] && echo older"); strings.Count(out, "\n") != 3 || !strings.HasSuffix(out, "older\n") {
		t.Errorf("after lines that wrote: %s", out)
	}
}
