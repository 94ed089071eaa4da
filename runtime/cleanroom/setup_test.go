//go:build linux

package cleanroom

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/process"
)

// A packaged is a project whose setup installs what its lock file says.
type packaged struct {
	root string
	ran  atomic.Int32 // commands of setups
	text string       // of the setup, for a shell
	more [][]string   // commands instead of it
	keep []string
	own  map[string]string // variables that the matrix sets
	o    Options
}

func newPackaged(t testing.TB, text string, keep ...string) *packaged {
	t.Helper()
	dir := home(t)
	p := &packaged{root: filepath.Join(dir, "project"), text: text, keep: keep, o: Options{Helper: []string{helperName}, Cache: Cache()}}
	put(t, p.root, "lock", "one\n")
	put(t, p.root, "src/a.txt", "a\n")
	put(t, p.root, ".gitignore", "modules\n*.so\n")
	gitIn(t, p.root, "init", "-q", "-b", "main")
	gitIn(t, p.root, "add", "-A")
	gitIn(t, p.root, "commit", "-qm", "first")
	confined(t, p.root).Close()
	return p
}

// install makes a room in which the setup was carried out, or says why it was not.
func (p *packaged) install(t testing.TB, ctx context.Context) (*Room, *Installed, error) {
	t.Helper()
	l, err := process.New(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := enter(t, p.root, p.o)
	commands := p.more
	if commands == nil {
		commands = [][]string{{"sh", "-c", p.text}}
	}
	s := Setup{
		Commands: commands, Keep: p.keep, Env: os.Environ(), Own: p.own,
		Locks: func(name string) bool { return name == "lock" || strings.HasPrefix(name, "lock/") },
	}
	in, err := r.Install(ctx, s, func(ctx context.Context, c *process.Command) error {
		p.ran.Add(1)
		res := l.Run(ctx, c)
		if res.Err != nil || res.Stop != "" || res.ExitCode != 0 {
			return fmt.Errorf("it ended with %d, %s %v: %s", res.ExitCode, res.Stop, res.Err, res.Tail)
		}
		return nil
	})
	return r, in, err
}

func (p *packaged) room(t testing.TB) (*Room, *Installed) {
	t.Helper()
	r, in, err := p.install(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, in
}

// left are the kept results, and what else is in their directory.
func (p *packaged) left(t testing.TB) (names []string) {
	t.Helper()
	list, _ := os.ReadDir(filepath.Join(Cache(), "setup"))
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}

const installs = `ls -A . > /tmp/seen; mkdir -p modules/bin ~/.store/a/empty ~/.other; cat lock > modules/a; cp /tmp/seen modules/seen
ln -s ../a modules/bin/a; echo s > ~/.store/a/s; chmod 555 ~/.store/a; echo junk > ~/.other/x; echo planted > /tmp/planted
mkdir .git; echo planted > .git/config; mkdir -p src/__pycache__; echo planted > src/__pycache__/x.pyc; touch lock; umask 077; echo so > lib.so; chmod 700 lib.so`

// Links that a setup installs into the toolchain of one of its commands, as a venv has one to its Python, lead there for the commands after it and
// for lines, which name it; a link to anything else of the home directory leads nowhere.
func TestToolchainOfSetup(t *testing.T) {
	p := newPackaged(t, "")
	tools := filepath.Join(p.home(), ".tools")
	put(t, tools, "bin/venv", "#!/bin/sh\nmkdir -p modules/bin; ln -s "+tools+"/lib/python modules/bin/python; ln -s "+p.home()+"/.secret/key modules/key\n")
	put(t, tools, "lib/python", "#!/bin/sh\necho python \"$@\"\n")
	put(t, p.home(), ".secret/key", "secret\n")
	for _, name := range []string{"bin/venv", "lib/python"} {
		if err := os.Chmod(filepath.Join(tools, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", tools+"/bin:"+os.Getenv("PATH"))
	p.more = [][]string{{"venv"}, {"modules/bin/python", "installs"}}
	for _, kept := range []bool{false, true} {
		r, was := p.room(t)
		s, res, err := in(t, r, []string{"sh", "-c", "modules/bin/python line; cat modules/key"})
		if err != nil {
			t.Fatal(err)
		}
		if out := string(res.Stdout.Head); was.Kept != kept || out != "python line\n" || !slices.Contains(s.Shared(), "tools in ~/.tools") {
			t.Errorf("kept %t: %q, %q, shared %q", was.Kept, out, res.Stderr.Head, s.Shared())
		}
		if _, err := s.End(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

// What a setup installs is there for commands at its own place, below the files of the project; it is made of the lock files alone, and made
// once. What it left elsewhere is gone.
func TestSetup(t *testing.T) {
	p := newPackaged(t, installs, ".store", ".none")
	for i := range 2 {
		r, in := p.room(t)
		if in.Kept != (i == 1) || in.Took > 0 == in.Kept || len(in.Lowered) > 0 || !slices.Equal(in.Locks, []string{"lock"}) {
			t.Errorf("installed %+v", in)
		}
		out, changed := sh(t, r, `find . -path ./.git -prune -o -type f -printf '%P %m\n' -o -type l -printf '%P %l\n' | sort; cat modules/bin/a modules/seen; cat .git/config | grep planted
			find ~ -mindepth 1 -not -path '*/project*' -printf '%P\n' | sort; ls /tmp | grep planted; echo x > modules/x; rm modules/a; rm -r ~/.store/a`)
		want(t, "the room", out, ".gitignore 644", "lib.so 755", "lock 644", "modules/a 644", "modules/bin/a ../a", "modules/seen 644", "src/__pycache__/x.pyc 644", "src/a.txt 644",
			"one", "lock", ".store", ".store/a", ".store/a/empty", ".store/a/s")
		if len(changed) > 0 {
			t.Errorf("changed %q", changed)
		}
		out, _ = sh(t, r, "ls modules ~/.store/a")
		want(t, "the next command", out, p.home()+"/.store/a:", "empty", "s", "", "modules:", "a", "bin", "seen")
		r.Forget()
		if _, err := r.Take(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	}
	if n := p.ran.Load(); n != 1 {
		t.Errorf("the setup ran %d times for one lock file", n)
	}
	if list := p.left(t); len(list) != 1 {
		t.Errorf("left %q", list)
	}
	if _, err := os.Lstat(filepath.Join(p.root, "modules")); err == nil {
		t.Error("it was installed in the working tree")
	}
	put(t, p.root, "src/a.txt", "changed\n")
	r, in := p.room(t)
	if !in.Kept {
		t.Error("an edit of another file had it installed anew")
	}
	r.Close()
	put(t, p.root, "lock", "two\n")
	r, in = p.room(t)
	if out, _ := sh(t, r, "cat modules/a"); in.Kept || out != "two\n" {
		t.Errorf("after another lock file: %+v, %q", in, out)
	}
	for i := range maxKept { // the least used go
		r.Close()
		put(t, p.root, "lock", strings.Repeat("x", i+1)+"\n")
		r, _ = p.room(t)
	}
	if list := p.left(t); len(list) != maxKept {
		t.Errorf("kept %q", list)
	}
}

func (p *packaged) home() string { return os.Getenv("HOME") }

// What decides is in the key: the lock files with their modes, the commands, the environment, what is kept, the place of the project.
func TestSetupKey(t *testing.T) {
	p := newPackaged(t, "mkdir modules; env > modules/env")
	p.room(t)
	for name, change := range map[string]func(){
		"the mode of a lock file": func() {
			if err := os.Chmod(filepath.Join(p.root, "lock"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"a variable":      func() { t.Setenv("NODE_ENV", "production") },
		"the user's name": func() { t.Setenv("LOGNAME", "other") },
		"a variable of the matrix, though it is of the terminal elsewhere": func() {
			t.Setenv("TERM", "matrix")
			p.own = map[string]string{"TERM": "matrix"}
		},
		"a command":   func() { p.text += " " },
		"a directory": func() { p.keep = []string{".x"} },
		"a share": func() {
			put(t, p.root, "../shared", "x")
			p.o.Share = []string{filepath.Join(filepath.Dir(p.root), "shared")}
		},
		"a tool": func() {
			put(t, p.root, "../bin/node", "#!/bin/sh\n")
			if err := os.Chmod(filepath.Join(p.root, "../bin/node"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", filepath.Join(filepath.Dir(p.root), "bin")+":"+os.Getenv("PATH"))
		},
		"the place": func() {
			other := p.root + "2"
			if err := os.Rename(p.root, other); err != nil {
				t.Fatal(err)
			}
			p.root = other
		},
	} {
		was := p.ran.Load()
		change()
		if _, in := p.room(t); in.Kept || p.ran.Load() != was+1 {
			t.Errorf("%s changed, and the setup did not run again", name)
		}
		if _, in := p.room(t); !in.Kept {
			t.Errorf("after %s the setup runs each time", name)
		}
	}
	p.own = nil
	p.room(t)
	t.Setenv("TERM", "other")
	r, in := p.room(t)
	if !in.Kept {
		t.Error("the terminal had it run again")
	}
	if out, _ := sh(t, r, "grep -E '^(TERM|SHLVL)=' modules/env"); strings.Contains(out, "TERM") {
		t.Errorf("the setup saw %q", out)
	}
}

// What cannot be installed is refused, with its name, to each command, and nothing of it is kept.
func TestSetupRefused(t *testing.T) {
	p := newPackaged(t, "true")
	for text, why := range map[string]string{
		"true": "it left nothing",
		"mkdir src; echo planted > src/b.txt; mkdir modules; touch modules/a":  "src/b.txt; ignore them",
		"mkdir src; ln -s /etc src/etc":                                        "src/etc; ignore them",
		"mkdir modules; echo x > modules/a; echo three > lock":                 "it changed lock",
		"mkdir modules; echo x > modules/a; rm lock":                           "it changed lock",
		"mkdir modules; echo x > modules/a; rm lock; mkdir lock; touch lock/x": "it changed lock",
		"mkdir modules; echo half > modules/a; exit 3":                         "it ended with 3",
	} {
		p.text = text
		r, _, err := p.install(t, t.Context())
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
		if _, again := r.Install(t.Context(), Setup{}, nil); again != err {
			t.Errorf("%s: the second command is told %v", text, again)
		}
		if list := p.left(t); len(list) > 0 {
			t.Errorf("%s left %q", text, list)
		}
	}
	p.text = "mkdir modules; echo a > modules/a"
	p.room(t)
	put(t, p.root, ".gitignore", "*.so\n") // what is kept is a part of this project
	if _, _, err := p.install(t, t.Context()); err == nil || !strings.Contains(err.Error(), "modules/a; ignore them") {
		t.Errorf("files that are not ignored: %v", err)
	}
	put(t, p.root, ".gitignore", "*.so\nmodules\n")
	gitIn(t, p.root, "rm", "-q", "--cached", "lock")
	if err := os.Remove(filepath.Join(p.root, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.install(t, t.Context()); err == nil || !strings.Contains(err.Error(), "none of the files") {
		t.Errorf("without a lock file: %v", err)
	}
}

// Two runs at once install once; so do the commands of one run.
func TestSetupOnce(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a; sleep 1")
	type result struct {
		in  *Installed
		err error
	}
	results := make(chan result)
	const runs = 3
	for range runs {
		go func() {
			_, in, err := p.install(t, t.Context())
			results <- result{in, err}
		}()
	}
	kept := 0
	for range runs {
		x := <-results
		if x.err != nil {
			t.Fatal(x.err)
		}
		if x.in.Kept {
			kept++
		}
	}
	if n := p.ran.Load(); n != 1 || kept != runs-1 {
		t.Errorf("%d runs installed %d times, and %d took what was kept", runs, n, kept)
	}
}

// What a setup installed is kept under a umask that shuts others out, too.
func TestSetupUmask(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a")
	defer syscall.Umask(syscall.Umask(0o077))
	for range 2 {
		if _, _, err := p.install(t, t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.ran.Load(); n != 1 {
		t.Errorf("the setup ran %d times", n)
	}
}

// A setup that is ended leaves nothing, and who waits for one that another run carries out can be ended, too.
func TestSetupEnded(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a; echo begun; sleep 600")
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, err := p.install(t, ctx)
		first <- err
	}()
	for p.ran.Load() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	waiting, stop := context.WithCancelCause(t.Context())
	second := make(chan error, 1)
	go func() {
		_, _, err := p.install(t, waiting)
		second <- err
	}()
	time.Sleep(4 * again)
	stop(ended)
	if err := <-second; err != ended || p.ran.Load() != 1 {
		t.Errorf("who waited: %v, %d commands", err, p.ran.Load())
	}
	cancel(ended)
	if err := <-first; err != ended {
		t.Errorf("who installed: %v", err)
	}
	if list := p.left(t); len(list) > 0 {
		t.Errorf("left %q", list)
	}
}

// What is kept is read again by each run: an edit of it has no effect. A change while the run lasts is found at its gate.
func TestSetupDamaged(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a; echo b > modules/b; ln -s a modules/l")
	r, _ := p.room(t)
	r.Close()
	for name, damage := range map[string]func(dir string) error{
		"an edit":       func(dir string) error { return os.WriteFile(dir+"/files/tree/modules/a", []byte("b\n"), 0o644) },
		"a file more":   func(dir string) error { return os.WriteFile(dir+"/files/tree/modules/c", nil, 0o644) },
		"a file less":   func(dir string) error { return os.Remove(dir + "/files/tree/modules/b") },
		"a mode":        func(dir string) error { return os.Chmod(dir+"/files/tree/modules/b", 0o755) },
		"a second name": func(dir string) error { return os.Link(dir+"/files/tree/modules/b", dir+"/b") },
		"another link": func(dir string) error {
			return errors.Join(os.Remove(dir+"/files/tree/modules/l"), os.Symlink("b", dir+"/files/tree/modules/l"))
		},
		"a file outside":   func(dir string) error { return os.WriteFile(dir+"/files/tree/evil", nil, 0o644) },
		"an empty list":    func(dir string) error { return os.WriteFile(dir+"/manifest.json", nil, 0o600) },
		"a list that ends": func(dir string) error { return os.Truncate(dir+"/manifest.json", 50) },
		"no list":          func(dir string) error { return os.Remove(dir + "/manifest.json") },
		"a link for it": func(dir string) error {
			return errors.Join(os.Rename(dir+"/manifest.json", dir+"/m"), os.Symlink("m", dir+"/manifest.json"))
		},
		"no files": func(dir string) error { return os.RemoveAll(dir + "/files") },
		"a link for them": func(dir string) error {
			return errors.Join(os.Rename(dir+"/files", dir+"/f"), os.Symlink("f", dir+"/files"))
		},
	} {
		list := p.left(t)
		if len(list) != 1 {
			t.Fatalf("left %q", list)
		}
		if err := damage(filepath.Join(Cache(), "setup", list[0])); err != nil {
			t.Fatal(err)
		}
		r, in := p.room(t)
		if out, _ := sh(t, r, "ls -A modules; cat modules/a; readlink modules/l; stat -c %a modules/b; ls"); in.Kept || out != "a\nb\nl\na\na\n644\nlock\nmodules\nsrc\n" {
			t.Errorf("%s: %+v\n%s", name, in, out)
		}
		r.Close()
		if r, in := p.room(t); !in.Kept {
			t.Errorf("%s: it is not repaired", name)
		} else {
			r.Close()
		}
	}
	// That of another lock file under its name.
	one := filepath.Join(Cache(), "setup", p.left(t)[0])
	put(t, p.root, "lock", "two\n")
	r, _ = p.room(t)
	r.Close()
	if err := os.RemoveAll(one); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(Cache(), "setup", p.left(t)[0]), one); err != nil {
		t.Fatal(err)
	}
	put(t, p.root, "lock", "one\n")
	r, in := p.room(t)
	if in.Kept {
		t.Error("what was installed for another lock file was used")
	}
	r.Close()
	r, _ = p.room(t)
	dir := filepath.Join(Cache(), "setup", p.left(t)[0])
	put(t, dir, "files/tree/modules/a", "poisoned\n")
	// Another run does not take away what this one uses, nor use it.
	other, in := p.room(t)
	if out, _ := sh(t, other, "cat modules/a"); in.Kept || out != "a\n" {
		t.Errorf("another run has %q, %+v", out, in)
	}
	r.Forget()
	if _, err := r.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "installed tree/modules/a") {
		t.Errorf("after a change in mid-run: %v", err)
	}
}

// What is kept has one time, also after somebody changed it between two runs, or while another run uses it. A change while the run lasts is found at its gate.
func TestSetupTimes(t *testing.T) {
	p := newPackaged(t, "mkdir -p modules/d modules/empty ~/.store; echo a > modules/d/a; echo b > modules/d/b; ln -s a modules/d/l; echo s > ~/.store/s", ".store")
	const look = "find modules ~/.store/s -printf '%f %T@\n' | sort; find modules ~/.store -printf '%A@\n' | grep -c ^4"
	r, _ := p.room(t)
	first, _ := sh(t, r, look)
	r.Close()
	files := filepath.Join(Cache(), "setup", p.left(t)[0], "files")
	chosen := []unix.Timespec{{Sec: 4_000_000_000}, {Sec: 1_500_000_000}}
	touch := func(name string) {
		t.Helper()
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(files, name), chosen, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			t.Fatal(err)
		}
	}
	for _, used := range []bool{false, true} {
		for _, name := range []string{"tree/modules/d/a", "tree/modules/d/l", "tree/modules/d", "tree/modules/empty", "tree/modules", "home/.store/s", "home/.store", ""} {
			r, in := p.room(t)
			if !used {
				r.Close()
			}
			touch(name)
			other, in2 := p.room(t)
			if out, _ := sh(t, other, look); out != first || !in.Kept || !in2.Kept {
				t.Errorf("%q, used %t: %+v\n%s\nfirst\n%s", name, used, in2, out, first)
			}
			touch(name)
			other.Forget()
			if _, err := other.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "installed "+cmp.Or(name, ".")) {
				t.Errorf("%q after a change in mid-run: %v", name, err)
			}
			other.Close()
			r.Close()
		}
	}
	if n := p.ran.Load(); n != 1 {
		t.Errorf("the setup ran %d times", n)
	}
}

// A run that signs uses nothing that was kept without a signature of its key: who writes the files can write their list.
func TestSetupSealed(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a")
	r, _ := p.room(t)
	r.Close()
	seal := func(key string) {
		p.o.Seal = func(sum [32]byte) (string, error) { return fmt.Sprintf("%s %x", key, sum), nil }
		p.o.Sealed = func(sum [32]byte, seal string) bool { return seal == fmt.Sprintf("%s %x", key, sum) }
	}
	for _, key := range []string{"mine", "another"} {
		seal(key)
		for i := range 2 {
			r, in := p.room(t)
			if in.Kept != (i == 1) {
				t.Errorf("key %s, run %d: %+v", key, i+1, in)
			}
			r.Close()
		}
	}
	dir := filepath.Join(Cache(), "setup", p.left(t)[0])
	text, err := os.ReadFile(dir + "/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "manifest.json", strings.TrimSpace(string(text))+" \n") // other bytes of the same list
	if _, in := p.room(t); in.Kept {
		t.Error("a list that nobody signed was used")
	}
}

// A line that changes the lock file has the lines after it see what that asks for.
func TestSetupFollows(t *testing.T) {
	p := newPackaged(t, "mkdir modules; cat lock > modules/a")
	r, first := p.room(t)
	s, res, err := in(t, r, []string{"sh", "-c", "echo two > lock"})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(err, res)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := process.New(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	second, err := r.Install(t.Context(), Setup{Commands: [][]string{{"sh", "-c", p.text}}, Env: os.Environ(), Locks: func(name string) bool { return name == "lock" }},
		func(ctx context.Context, c *process.Command) error { return l.Run(ctx, c).Err })
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := sh(t, r, "cat modules/a"); out != "two\n" || second.Key == first.Key {
		t.Errorf("the line after it sees %q", out)
	}
}

// Commands do not see where rooms are made and kept, wherever that is: what they changed there would be for the next run.
func TestOwnIsMasked(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a")
	r, _ := p.room(t)
	s, err := r.Enter()
	if err != nil {
		t.Fatal(err)
	}
	defer s.discard()
	room, err := r.namespace(s, s.lower())
	if err != nil {
		t.Fatal(err)
	}
	var f furniture
	if err := json.Unmarshal(room.Spec, &f); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{Cache(), r.dir} {
		if !slices.ContainsFunc(f.Mounts, func(m mount) bool { return m.Mask && string(m.To) == dir }) {
			t.Errorf("%s is not masked", dir)
		}
	}
}

// A setup that leaves a process behind ends with it, and what that writes later is in nothing.
func TestSetupAlone(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a; (while :; do echo later >> modules/a; done) >/dev/null 2>&1 &\nsleep 0.1")
	r, _ := p.room(t)
	before, _ := sh(t, r, "cat modules/a")
	time.Sleep(100 * time.Millisecond)
	r.Forget()
	if _, err := r.Take(t.Context()); err != nil {
		t.Error(err)
	}
	if after, _ := sh(t, r, "cat modules/a"); after != before {
		t.Error("it goes on to write")
	}
}

// A link that leads to what the user can change lowers the claim of each command, also where it is kept.
func TestSetupLinks(t *testing.T) {
	p := newPackaged(t, "mkdir modules; ln -s /usr/bin/env modules/env; ln -s ../src modules/src; ln -s ~/.x modules/x; ln -s /dev/shm/tool modules/tool")
	for range 2 {
		_, in := p.room(t)
		var lowered []string
		if os.Geteuid() != 0 {
			lowered = []string{"/dev/shm/tool, which an installed link leads to"}
		}
		if !slices.Equal(in.Lowered, lowered) {
			t.Errorf("lowered by %q", in.Lowered)
		}
	}
}

// In an unconfined room a setup runs in the checkout, and nothing is kept.
func TestSetupUnconfined(t *testing.T) {
	p := newPackaged(t, "mkdir -p modules ~/.store; cat lock src/a.txt > modules/a; echo s > ~/.store/s")
	p.o.Helper = nil
	for range 2 {
		r, in := p.room(t)
		if in.Kept || in.Sum != [32]byte{} || in.Key == [32]byte{} {
			t.Errorf("installed %+v", in)
		}
		if out, _ := sh(t, r, "cat modules/a ~/.store/s"); out != "one\na\ns\n" {
			t.Errorf("the room: %q", out)
		}
		r.Forget()
		if _, err := r.Take(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	}
	if list := p.left(t); len(list) > 0 || p.ran.Load() != 2 {
		t.Errorf("left %q after %d commands", list, p.ran.Load())
	}
	p.text = "mkdir modules; touch modules/a; echo x > src/a.txt"
	if _, _, err := p.install(t, t.Context()); err == nil || !strings.Contains(err.Error(), "it changed files of the project: src/a.txt") {
		t.Errorf("a setup that changes the project: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema":"dialect.setup/1","key":"","files":[{"path":"dHJlZS9h","kind":"link","target":"Yg=="},{"path":"dHJlZS9i","kind":"directory"}]}` + "\n"))
	f.Add([]byte(`{"schema":"dialect.setup/1","key":"","files":[{"path":"dHJlZS8uLi9h","kind":"directory"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, files, err := parseManifest(text)
		if err != nil {
			return
		}
		again, same, err := parseManifest(m.encode())
		if err != nil || len(same) != len(files) || !bytes.Equal(again.encode(), m.encode()) {
			t.Errorf("%s is not read as it was written: %v", text, err)
		}
		for _, file := range files {
			if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
				t.Errorf("%q leaves the directory", file.Path)
			}
		}
		newCheckout(t.TempDir(), files)
	})
}

// A line that writes and takes away what a setup installed beside files that count is named, whatever it puts in their place.
func TestSetupHidden(t *testing.T) {
	for _, step := range []struct{ text, names string }{
		{"rm -r src; mkdir src; echo b > src/a.txt", "src, left by an earlier line that ran on other files"},
		{"echo b > src/a.txt", ""},
	} {
		p := newPackaged(t, "mkdir src; echo so > src/lib.so")
		r, _ := p.room(t)
		wrote(t, r, step.text)
		if _, err := r.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, names := seen(t, r, "true"); strings.Join(names, "; ") != step.names {
			t.Errorf("%s: %q, want %q", step.text, names, step.names)
		}
		r.Close()
	}
}

// What is kept of a setup is the same whatever the snapshot has in the place of what it installs: else one tree would decide what others see.
func TestSetupUnclassified(t *testing.T) {
	p := newPackaged(t, "mkdir -p modules/empty out/empty other; echo a > modules/a; echo a > other/a")
	put(t, p.root, ".gitignore", "modules\nother\nout\n")
	for _, change := range []func(){
		func() { put(t, p.root, ".gitignore", "other\n") },
		func() {
			if err := os.Symlink("modules", filepath.Join(p.root, "modules")); err != nil {
				t.Fatal(err)
			}
			gitIn(t, p.root, "add", "-f", "modules")
		},
	} {
		change()
		if _, _, err := p.install(t, t.Context()); err == nil || !strings.Contains(err.Error(), "modules/a; ignore them") {
			t.Errorf("with another tree: %v", err)
		}
		gitIn(t, p.root, "rm", "-qf", "--cached", "--ignore-unmatch", "modules")
		_ = os.Remove(filepath.Join(p.root, "modules")) // not there at first
		put(t, p.root, ".gitignore", "modules\nother\nout\n")
	}
	put(t, p.root, ".gitignore", "modules\nother\n") // the empty one of out would count
	p.room(t)
	put(t, p.root, ".gitignore", "modules\nother\nout\n")
	r, in := p.room(t)
	if out, _ := sh(t, r, "ls -d out/empty modules/empty modules/a other/a"); !in.Kept || strings.Count(out, "\n") != 4 {
		t.Errorf("%+v: %s", in, out)
	}
}

// A run does not wait for ever for what has the folder of a setup locked, which need not be a run: it says so, and makes its own.
func TestSetupLocked(t *testing.T) {
	p := newPackaged(t, "mkdir modules; echo a > modules/a")
	r, _ := p.room(t)
	r.Close()
	for _, how := range []int{syscall.LOCK_EX, syscall.LOCK_SH} {
		dir := filepath.Join(Cache(), "setup", p.left(t)[0])
		if how == syscall.LOCK_SH { // of one that nobody makes
			if err := os.Remove(filepath.Join(dir, "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Open(dir)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), how)
		}
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		p.o.patience, p.o.Waits = 600*time.Millisecond, func(text string) { said = append(said, text) }
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, in, err := p.install(t, ctx)
		cancel()
		if err != nil || in.Kept {
			t.Fatalf("%+v, %v", in, err)
		}
		if out, _ := sh(t, r, "cat modules/a"); out != "a\n" {
			t.Errorf("%q", out)
		}
		if len(said) != 1 || said[0] != "waiting for the setup of another run, which has "+dir+" locked; after 600ms this run makes its own" {
			t.Errorf("%q", said)
		}
		r.Close()
		f.Close()
	}
}
