//go:build linux

package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// apart is a room whose commands are kept apart.
func apart(t *testing.T, root string, o Options) *Room {
	t.Helper()
	confined(t, root).Close()
	o.Helper, o.Apart = []string{helperName}, true
	return enter(t, root, o)
}

func away(t *testing.T, hide, mask []string) *Away {
	t.Helper()
	a, err := NewAway(hide, mask)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What a command leaves in the home directory and the temporary ones decides nothing of the next one, which finds them as the first
// one did.
func TestApartPlaces(t *testing.T) {
	root := project(t, home(t))
	r := apart(t, root, Options{})
	const look = `for d in ~ /tmp /var/tmp /dev/shm; do ls "$d/planted" 2>/dev/null; touch "$d/planted" || echo "$d cannot be written"; done; stat -c %a /tmp`
	for _, n := range []string{"first", "second"} {
		if out, _ := sh(t, r, look); out != "1777\n" {
			t.Errorf("the %s command finds\n%s", n, out)
		}
	}
}

// A command reaches no socket at a path that is masked, in whichever way the room has it; what the mask does not name stays, and
// what is not there is no error.
func TestMask(t *testing.T) {
	parent := home(t)
	root := project(t, parent)
	dir, err := os.MkdirTemp("/var/lib", "dialect-test-")
	if err != nil {
		if dir, err = os.MkdirTemp("/run", "dialect-test-"); err != nil {
			dir = filepath.Join(parent, "seen") // hidden by the room as it is
			err = os.Mkdir(dir, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "open"), 0o755), os.Mkdir(filepath.Join(dir, "d"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open/s", "d/s", "s"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	look := `for s in open/s d/s s; do test -S ` + dir + `/$s && echo $s; done; ls -A ` + dir + `/d; exit 0`
	mask := []string{filepath.Join(dir, "s"), filepath.Join(dir, "d"), filepath.Join(dir, "none"), filepath.Join(dir, "none/at/all")}
	masked := func(mask []string) string {
		t.Helper()
		room, err := Masked([]string{helperName}, away(t, nil, mask))
		if err != nil {
			t.Fatal(err)
		}
		l, err := process.New(process.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		res := l.Run(context.WithoutCancel(t.Context()), &process.Command{Argv: []string{"sh", "-c", look}, Dir: "/", Env: os.Environ(), Room: room})
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		return string(res.Stdout.Head) + string(res.Stderr.Head)
	}
	share := func(mask []string) string {
		t.Helper()
		out, _ := sh(t, apart(t, root, Options{Away: away(t, nil, mask), Share: []string{dir}}), look)
		return out
	}
	ways := map[string]func([]string) string{"the machine as it is": masked}
	if !strings.HasPrefix(dir, parent) {
		ways["a checkout that shares it"] = share
	}
	for name, run := range ways {
		if out := run(nil); out != "open/s\nd/s\ns\ns\n" {
			t.Fatalf("%s, without masks:\n%s", name, out)
		}
		if out := run(mask); out != "open/s\n" {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// Where the environment leads to what the asker can change, the result is of that: the stay names it. What the room hides, and the
// system's, are not named.
func TestReach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to make a directory that the room does not hide")
	}
	const asker = 65534
	parent := home(t)
	root := project(t, parent)
	dir, err := os.MkdirTemp("/opt", "dialect-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := func(name string, uid int, mode os.FileMode) {
		t.Helper()
		put(t, dir, name, "#!/bin/sh\n")
		if err := errors.Join(os.Chmod(filepath.Join(dir, name), mode), os.Chown(filepath.Join(dir, name), uid, 0)); err != nil {
			t.Fatal(err)
		}
	}
	program("root/check", 0, 0o755)
	program("one/check", asker, 0o755)
	program("all/check", 0, 0o777)
	program("own/check", 0, 0o755)
	program("held/by/check", 0, 0o755)
	program("my dir/rc", asker, 0o644)
	program("a=b/rc", asker, 0o644)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "link"), 0o755), os.Mkdir(filepath.Join(dir, "into"), 0o755), os.Mkdir(filepath.Join(dir, "pipes"), 0o755),
		os.Chown(filepath.Join(dir, "own"), asker, 0), os.Chown(filepath.Join(dir, "held"), asker, 0),
		os.Symlink(filepath.Join(dir, "own"), filepath.Join(dir, "alias")),
		os.Symlink("../own/check", filepath.Join(dir, "link", "check")),
		os.Symlink("../held/root", filepath.Join(dir, "into", "x")), os.Symlink(filepath.Join(dir, "root"), filepath.Join(dir, "held", "root")),
		unix.Mkfifo(filepath.Join(dir, "own", "fifo"), 0o644), unix.Mkfifo(filepath.Join(dir, "pipes", "fifo"), 0o666), unix.Mkfifo(filepath.Join(dir, "pipes", "closed"), 0o644),
		unix.Chmod(filepath.Join(dir, "pipes", "fifo"), 0o666)); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "own", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, test := range map[string]struct{ env, named string }{
		"the system's":                    {"PATH=/usr/bin:/bin", ""},
		"root's":                          {"PATH=/usr/bin:" + dir + "/root", ""},
		"hidden":                          {"PATH=/usr/bin:/tmp/x:" + os.Getenv("HOME") + "/bin", ""},
		"the asker's":                     {"PATH=/usr/bin:" + dir + "/own", dir + "/own"},
		"below one of the asker's":        {"PATH=/usr/bin:" + dir + "/held/by", dir + "/held/by"},
		"a link to it":                    {"PATH=/usr/bin:" + dir + "/alias", dir + "/alias"},
		"not there, and can be made":      {"PATH=/usr/bin:" + dir + "/own/new/bin", dir + "/own/new/bin"},
		"a program of the asker's":        {"PATH=/usr/bin:" + dir + "/one", dir + "/one/check"},
		"a program that all can write":    {"PATH=/usr/bin:" + dir + "/all", dir + "/all/check"},
		"a link to a program":             {"PATH=/usr/bin:" + dir + "/link", dir + "/link/check"},
		"a link by one of the asker's":    {"PATH=/usr/bin:" + dir + "/into/x", dir + "/into/x"},
		"another variable":                {"PYTHONPATH=/usr/lib:" + dir + "/own", dir + "/own"},
		"an option of another variable":   {"NODE_OPTIONS=--trace-warnings --require=" + dir + "/own/x.js", dir + "/own/x.js"},
		"a flag and its path in one word": {"CFLAGS=-O2 -I" + dir + "/own", dir + "/own"},
		"a variable that leads to a file": {"BASH_ENV=" + dir + "/own/check", dir + "/own/check"},
		"a FIFO, which a shell reads":     {"BASH_ENV=" + dir + "/own/fifo", dir + "/own/fifo"},
		"a FIFO that all can write":       {"BASH_ENV=" + dir + "/pipes/fifo", dir + "/pipes/fifo"},
		"root's FIFO":                     {"BASH_ENV=" + dir + "/pipes/closed", ""},
		"a path with spaces":              {"PYTEST_ADDOPTS=-c " + dir + "/my dir/rc -q", dir + "/my dir/rc"},
		"a path with an equals sign":      {"X_OPTS=--rc=" + dir + "/a=b/rc", dir + "/a=b/rc"},
		"a path in brackets":              {"X_OPTS=[" + dir + "/own]", dir + "/own"},
		"a file in a list of directories": {"PYTHONPATH=/usr/lib:" + dir + "/one", dir + "/one/check"},
		"a socket":                        {"BASH_ENV=" + dir + "/own/socket", dir + "/own/socket"},
		"a device":                        {"BASH_ENV=/dev/null", ""},
	} {
		t.Setenv("PATH", "/usr/bin:/bin")
		variable, value, _ := strings.Cut(test.env, "=")
		t.Setenv(variable, value)
		for _, who := range []int{asker, 0} {
			s, _, err := in(t, apart(t, root, Options{Asker: who}), []string{"true"})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.named != "" && who == asker {
				want = []string{test.named + ", which " + variable + " leads to"}
			}
			if got := s.Shared(); !slices.Equal(got, want) {
				t.Errorf("%s, for user %d: %q, want %q", name, who, got, want)
			}
			if _, err := s.End(t.Context()); err != nil {
				t.Error(err)
			}
		}
		os.Unsetenv(variable)
	}
}

// Where commands are kept apart from their asker nothing of .git is the repository's: neither its objects, whose content need not be what their
// names say, nor its commits, which no tree names, nor its tags.
func TestApartGit(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "run.sh", "#!/bin/sh\necho edited\n")
	cache := Cache()
	const look = `git status --porcelain; git describe --tags 2>/dev/null; git log --format='%an %s'; git rev-list --objects --all | wc -l; git fsck --full --strict 2>&1; for f in a.txt dir/sub/b.txt link; do git show HEAD:$f; echo; done; git diff HEAD --exit-code && echo same; ls .git`
	first, _ := sh(t, apart(t, root, Options{Cache: cache}), look+"; git rev-parse HEAD")
	seen, _ := sh(t, apart(t, root, Options{Cache: cache}), look)
	want(t, "git", seen, "dialect The files of a clean checkout", "11", "changed since the commit", "", "b", "", "dir/sub", "same", "HEAD", "config", "index", "info",
		"objects", "packed-refs", "refs")
	// Another history of the same files is the same.
	id := strings.TrimSpace(gitIn(t, root, "rev-parse", "HEAD:dir/sub/b.txt"))
	loose := filepath.Join(root, ".git", "objects", id[:2], id[2:])
	if err := errors.Join(os.Chmod(loose, 0o644), os.WriteFile(loose, git.Loose("blob", []byte("forged\n")), 0o644)); err != nil {
		t.Fatal(err)
	}
	gitIn(t, root, "commit", "-q", "--amend", "-m", "reviewed")
	gitIn(t, root, "tag", "v9")
	r := apart(t, root, Options{Cache: cache})
	if again, _ := sh(t, r, look+"; git rev-parse HEAD"); again != first {
		t.Errorf("with another history\n%s\nwant\n%s", again, first)
	}
	// A line that writes, and files that are edited later.
	wrote(t, r, "echo third > a.txt; git add -A")
	if out, _ := sh(t, r, "git show HEAD:a.txt; git status --porcelain"); out != "third\n" {
		t.Errorf("after a line that writes: %s", out)
	}
	r.Close()
	put(t, root, "more.txt", "more\n")
	if out, _ := sh(t, apart(t, root, Options{Cache: cache}), "git show HEAD:more.txt HEAD:dir/sub/b.txt; git fsck --full 2>&1; git status --porcelain"); out != "more\nb\n" {
		t.Errorf("with another file: %s", out)
	}
	// The history is a share, which lowers the claim.
	s, res, err := in(t, apart(t, root, Options{Cache: cache, Share: []string{".git"}}), []string{"git", "describe", "--tags", "--abbrev=0"})
	if err != nil {
		t.Fatal(err)
	}
	if out := string(res.Stdout.Head); out != "v9\n" || !slices.Contains(s.Shared(), ".git") {
		t.Errorf("shared: %s%s, %q", out, res.Stderr.Head, s.Shared())
	}
}

// What is put in the place of a part of .git does not show a command what the room hides, nor what this process alone can read.
func TestSwappedGit(t *testing.T) {
	parent := home(t)
	secret := filepath.Join(parent, "secret")
	put(t, secret, "key", "PRIVATE\n")
	put(t, secret, "objects/key", "PRIVATE\n")
	open := func(t *testing.T, root string, apart bool) (*Room, error) {
		confined(t, root).Close()
		rename := func(name, to string) {
			t.Helper()
			full := filepath.Join(root, ".git", name)
			if err := os.Rename(full, full+".was"); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.Symlink(to, full); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case strings.Contains(t.Name(), "shallow"):
			rename("shallow", filepath.Join(secret, "key"))
		case strings.Contains(t.Name(), "no_list"):
			put(t, root, ".git/shallow", "PRIVATE\n")
		case strings.Contains(t.Name(), "link"):
			rename("objects", "objects.was")
		}
		r := New(workspace.NewTracker(root, workspace.Options{}), Options{Root: root, Helper: []string{helperName}, Apart: apart, Away: away(t, []string{secret}, nil)})
		t.Cleanup(r.Close)
		if _, err := r.Take(t.Context()); err != nil {
			return nil, err
		}
		if strings.Contains(t.Name(), "objects") {
			rename("objects", filepath.Join(secret, "objects"))
		}
		return r, nil
	}
	for name, text := range map[string]string{
		"shallow": "shallow commits cannot be read", "no list": "is not a list of commits", "objects": "open without links", "a link": "objects.was, which is not in it",
	} {
		for _, apart := range []bool{false, true} { // where they are kept apart they see nothing of it
			t.Run(fmt.Sprintf("%s, apart: %v", name, apart), func(t *testing.T) {
				r, err := open(t, project(t, t.TempDir()), apart)
				if err == nil {
					var s *Stay
					if s, err = r.Enter(); err == nil {
						c := &process.Command{Argv: []string{"sh", "-c", "cat .git/shallow .git/shared-objects/key; git status --porcelain"}, Dir: r.o.Root, Env: os.Environ()}
						if err = s.Prepare(c); err == nil {
							l, e := process.New(process.Options{})
							if e != nil {
								t.Fatal(e)
							}
							defer l.Close()
							res := l.Run(context.WithoutCancel(t.Context()), c)
							if err = res.Err; len(res.Stdout.Head) > 0 {
								t.Errorf("the command read %s", res.Stdout.Head)
							}
						}
						_, _ = s.End(t.Context())
					}
				}
				if apart && err != nil || !apart && (err == nil || !strings.Contains(err.Error(), text)) {
					t.Errorf("%v, want %q", err, text)
				}
			})
		}
	}
}

// A command sees no terminal of others, and has no shared memory with them.
func TestApartTerminals(t *testing.T) {
	root := project(t, home(t))
	r := apart(t, root, Options{})
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(fd)
	ours, err := os.Readlink("/proc/self/ns/ipc")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, r, "ls /dev/pts; readlink /proc/self/ns/ipc")
	if out == "" || strings.Contains(out, ours) || slices.ContainsFunc(strings.Fields(out), func(name string) bool { return strings.Trim(name, "0123456789") == "" }) {
		t.Errorf("it sees\n%s", out)
	}
}

// What is hidden stays hidden where it is moved to, and nothing runs once the directory that it is in is not where it was.
func TestAwayMoved(t *testing.T) {
	parent := home(t)
	root := project(t, parent)
	apart(t, root, Options{}).Close()
	dir := filepath.Join(parent, "d")
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "in", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := away(t, nil, []string{filepath.Join(dir, "in", "s")})
	look := func() (string, error) {
		t.Helper()
		room, err := Masked([]string{helperName}, a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := process.New(process.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		res := p.Run(context.WithoutCancel(t.Context()), &process.Command{
			Argv: []string{"sh", "-c", "mv in moved; mkdir in; touch in/s; ls; test -S moved/s && echo seen; exit 0"}, Dir: dir, Env: os.Environ(), Room: room,
		})
		return string(res.Stdout.Head) + string(res.Stderr.Head), res.Err
	}
	if out, err := look(); err != nil || out != "in\nmoved\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := look(); err == nil || !strings.Contains(err.Error(), "not the directory any more") {
		t.Errorf("it was moved, and a command runs: %q, %v", out, err)
	}
}

// A server that ends removes its socket, and the directory that it made for that: commands run on. Where both are there anew they are hidden.
func TestAwayRemoved(t *testing.T) {
	parent := home(t)
	apart(t, project(t, parent), Options{}).Close()
	dir := filepath.Join(parent, "d")
	serve := func() net.Listener {
		t.Helper()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := serve()
	a := away(t, nil, []string{filepath.Join(dir, "s")})
	look := func() string {
		t.Helper()
		room, err := Masked([]string{helperName}, a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := process.New(process.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		res := p.Run(context.WithoutCancel(t.Context()), &process.Command{Argv: []string{"sh", "-c", "ls d; test -S d/s && echo seen; exit 0"}, Dir: parent, Env: os.Environ(), Room: room})
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		return string(res.Stdout.Head)
	}
	if out := look(); out != "s\n" {
		t.Errorf("%q", out)
	}
	l.Close()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if out := look(); out != "" {
		t.Errorf("%q", out)
	}
	defer serve().Close()
	if out := look(); out != "s\n" {
		t.Errorf("anew: %q", out)
	}
}

// What is hidden in something that is hidden is hidden once, in either order.
func TestAwayNested(t *testing.T) {
	parent := home(t)
	root := project(t, parent)
	apart(t, root, Options{}).Close()
	outer := filepath.Join(parent, "outer")
	put(t, outer, "inner/key", "secret\n")
	inner := filepath.Join(outer, "inner")
	for _, hide := range [][]string{{outer, inner}, {inner, outer}} {
		r := apart(t, root, Options{Away: away(t, hide, nil)})
		if out, _ := sh(t, r, "cat "+inner+"/key 2>/dev/null || echo none"); out != "none\n" {
			t.Errorf("hidden: %q; it reads %s", hide, out)
		}
	}
}

// A room that has to be confined lets nobody in where it cannot be, and is never put elsewhere.
func TestConfined(t *testing.T) {
	parent := home(t)
	root := project(t, parent)
	r := enter(t, root, Options{Confined: true})
	if _, err := r.Enter(); err == nil || !strings.Contains(err.Error(), "no command can be kept") {
		t.Errorf("without namespaces: %v", err)
	}
	inside := filepath.Join(root, "temp")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := enter(t, root, Options{Confined: true, Helper: []string{helperName}, Temp: inside}).Enter(); err == nil {
		t.Error("its folder is in the working tree")
	}
}

// A mask covers the sockets that it is for: no file, nor a directory that took their place, and nothing of the checkout or of what is bound into it,
// at whichever path that is.
func TestMaskCoversNoFile(t *testing.T) {
	root := project(t, home(t))
	shared, err := os.MkdirTemp("/opt", "dialect-test-")
	if err == nil {
		defer os.RemoveAll(shared)
		err = os.Chmod(shared, 0o755)
	}
	if err != nil {
		t.Skipf("no directory can be made that a room does not hide: %v", err)
	}
	for _, dir := range []string{root, shared} {
		tests := filepath.Join(dir, "tests")
		if err := errors.Join(os.Mkdir(tests, 0o755), os.WriteFile(filepath.Join(tests, "a"), []byte("bad\n"), 0o644), os.WriteFile(filepath.Join(dir, "data"), []byte("bad\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var mask []string
	for _, dir := range []string{root, shared} {
		mask = append(mask, filepath.Join(dir, "data"), filepath.Join(dir, "tests"))
		if err := os.Rename(filepath.Join(dir, "tests"), filepath.Join(dir, "moved")); err != nil {
			t.Fatal(err)
		}
	}
	a := away(t, nil, mask) // there are no tests in that moment
	for _, dir := range []string{root, shared} {
		if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "tests")); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := sh(t, apart(t, root, Options{Away: a, Share: []string{shared}}), "cat data tests/a "+shared+"/data "+shared+"/tests/a")
	if out != strings.Repeat("bad\n", 4) {
		t.Errorf("a mask covers files:\n%s", out)
	}
	// Nor the directory of the checkout where the one of the working tree was there already.
	out, _ = sh(t, apart(t, root, Options{Away: away(t, nil, mask)}), "cat data tests/a")
	if out != strings.Repeat("bad\n", 2) {
		t.Errorf("a mask covers the checkout:\n%s", out)
	}
}

// The group of a file and its bits tell what an access list grants at most, and the groups of another user are not known.
func TestChangeableByGroup(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o644: false, 0o664: true, 0o646: true} {
		path := filepath.Join(t.TempDir(), "f")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if got := changeableBy(4711, path); got != want {
			t.Errorf("mode %o: %v", mode, got)
		}
	}
}
