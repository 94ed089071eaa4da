//go:build linux

package cleanroom

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// What a line that writes changed comes back to the working tree, file by file, and the next command sees it, with what it
// wrote of files that do not count.
func TestKeep(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	keep := func(text string) (err error) {
		t.Helper()
		s, res, err := in(t, r, []string{"sh", "-c", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%v %+v", err, res)
		}
		return s.Keep(t.Context())
	}
	before, _ := r.Take(t.Context())
	if err := os.Chmod(filepath.Join(root, "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for name, want := range map[string]os.FileMode{"a.txt": 0o600, "key": 0o600} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
			}
		}
	}()
	if err := keep(`umask 077; echo k > key; umask 022; echo new > a.txt; rm -r dir/sub; mkdir -p made/deep; echo x > made/deep/x; chmod +x dir/untracked.txt; rm link; ln -s a.txt link; echo mine > ignored.txt; echo out > ignored-out; rm run.sh; mkdir run.sh; echo in > run.sh/in`); err != nil {
		t.Fatal(err)
	}
	after, err := r.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live, err := workspace.Take(t.Context(), root, workspace.Options{})
	if err != nil || !live.Same(after) || after.Same(before) {
		t.Errorf("the snapshot after the line is not that of the working tree: %v", err)
	}
	files := `find . -path ./.git -prune -o -printf '%P %y %l\n' | sort | grep -v ignored; cat a.txt made/deep/x run.sh/in; test -x dir/untracked.txt && echo x`
	cmd := exec.Command("sh", "-c", files)
	cmd.Dir = root
	text, _ := cmd.Output()
	if out, _ := sh(t, r, files); out != string(text) || !strings.Contains(out, "made/deep/x f") || strings.Contains(out, "dir/sub") {
		t.Errorf("the next command sees\n%s\nand the working tree is\n%s", out, text)
	}
	if out, _ := sh(t, r, "cat ignored.txt ignored-out"); out != "mine\nout\n" {
		t.Errorf("what does not count: %s", out)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "ignored.txt")); string(text) != "live\n" {
		t.Errorf("an ignored file was written over: %s", text)
	}
	// Over somebody's edit nothing is brought back, not even the other files.
	put(t, root, "a.txt", "edited meanwhile\n")
	if err := keep("echo third > a.txt; echo third > third.txt"); err == nil || !strings.Contains(err.Error(), "edited meanwhile: a.txt") {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(text) != "edited meanwhile\n" {
		t.Errorf("an edit was written over: %s", text)
	}
	if _, err := os.Lstat(filepath.Join(root, "third.txt")); err == nil {
		t.Error("a part was brought back")
	}
	if out, _ := sh(t, r, "cat a.txt; ls third.txt 2>/dev/null"); out != "new\n" {
		t.Errorf("what was not kept is seen: %s", out)
	}
	// An edit of another file leaves later lines without a name for what they run on.
	put(t, root, "a.txt", "new\n")
	put(t, root, "other.txt", "edited elsewhere\n")
	if err := keep("echo fourth > fourth.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Enter(); err == nil || !strings.Contains(err.Error(), "other.txt") {
		t.Errorf("%v", err)
	}
	if _, err := r.Take(t.Context()); err == nil {
		t.Error("there is a snapshot of what has no name")
	}
}

// TestKeepSame has a line that writes leave the files as they were: those after it run.
func TestKeepSame(t *testing.T) {
	for _, text := range []string{"touch a.txt", "cp a.txt b && mv b a.txt", "chmod 600 a.txt", "cp dir/sub/x y; mv y dir/sub/x", "true"} {
		root := project(t, home(t))
		if err := os.MkdirAll(filepath.Join(root, "dir/sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, root, "dir/sub/x", "x\n")
		r := confined(t, root)
		s, res, err := in(t, r, []string{"sh", "-c", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %v %+v", text, err, res)
		}
		if err := s.Keep(t.Context()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if s, err := r.Enter(); err != nil {
			t.Errorf("after %s: %v", text, err)
		} else if _, err := s.End(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestKeepUnignored has a line change what is ignored: what it left, or a line before it, counts then and is in no snapshot, or does
// not count any more. Nothing runs after it.
func TestKeepUnignored(t *testing.T) {
	for name, c := range map[string]struct {
		first, then string
		ok          bool
	}{
		"made, and shown":               {"true", "mkdir out; echo o > out/o; sed -i /^out/d .gitignore", false},
		"made by an earlier line":       {"mkdir out; echo o > out/o", "sed -i /^out/d .gitignore", false},
		"made, and hidden":              {"true", "echo o > x.tmp; echo '*.tmp' >> .gitignore", false},
		"another rule":                  {"mkdir out; echo o > out/o", "echo '*.tmp' >> .gitignore", true},
		"shown, and nothing is left":    {"true", "sed -i /^out/d .gitignore", true},
		"made, and a file in its place": {"mkdir out; echo o > out/o", "rm -r out; sed -i /^out/d .gitignore; echo o > out", true},
	} {
		root := project(t, home(t))
		put(t, root, ".gitignore", "out/\n")
		r := confined(t, root)
		for i, text := range []string{c.first, c.then} {
			s, res, err := in(t, r, []string{"sh", "-c", text})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("%s, line %d: %v %+v", name, i, err, res)
			}
			if err := s.Keep(t.Context()); err != nil {
				t.Errorf("%s, line %d: %v", name, i, err)
			}
		}
		s, err := r.Enter()
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "changed what is ignored") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if _, err := s.End(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A waning context ends once it was asked some times.
type waning struct {
	context.Context
	left *atomic.Int64
}

func (w waning) Err() error {
	if w.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// What is brought back is as long as its files say, and not as what they store: the end of the run ends it, and holes stay holes.
func TestKeepSparse(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	keep := func(ctx context.Context, text string) error {
		l, err := process.New(process.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s, err := r.Enter()
		if err != nil {
			t.Fatal(err)
		}
		c := &process.Command{Argv: []string{"sh", "-c", text}, Dir: root, Env: os.Environ()}
		if err := s.Prepare(c); err != nil {
			t.Fatal(err)
		}
		if res := l.Run(t.Context(), c); res.Err != nil || res.ExitCode != 0 {
			t.Fatalf("%v %s", res.Err, res.Stderr.Head)
		}
		return s.Keep(ctx)
	}
	if err := keep(t.Context(), "echo begin > hole; truncate -s 64M hole; echo end >> hole"); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(root, "hole"), &st); err != nil || st.Size != 64<<20+4 || st.Blocks*512 > 8<<20 {
		t.Errorf("%v, %d bytes in %d blocks", err, st.Size, st.Blocks)
	}
	if out, _ := sh(t, r, "head -c 6 hole; tail -c 4 hole"); out != "begin\nend\n" {
		t.Errorf("the next command sees %q", out)
	}
	text, err := os.ReadFile(filepath.Join(root, "hole"))
	if err != nil || !strings.HasPrefix(string(text), "begin\n\x00") || !strings.HasSuffix(string(text), "\x00end\n") {
		t.Errorf("%v, %d bytes that are others", err, len(text))
	}
	w := waning{t.Context(), new(atomic.Int64)}
	w.left.Store(500) // there are a thousand parts of the file
	if err := keep(w, "truncate -s 64M more"); err == nil {
		t.Error("the file was brought back after the end")
	}
	if list, err := filepath.Glob(filepath.Join(root, ".*dialect-back*")); err != nil || len(list) > 0 {
		t.Errorf("%v: %v are left", err, list)
	}
}

// wrote runs a shell command that is meant to write, and brings back what it wrote.
func wrote(t testing.TB, r *Room, text string) {
	t.Helper()
	s, res, err := in(t, r, []string{"sh", "-c", text})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%s: %v %+v", text, err, res)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// seen is what a shell command prints, and what its stay names.
func seen(t testing.TB, r *Room, text string) (out string, names []string) {
	t.Helper()
	s, res, err := in(t, r, []string{"sh", "-c", text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	return string(res.Stdout.Head) + string(res.Stderr.Head), s.Shared()
}

// A line that writes hands on to those after it the files of the new snapshot as a clone has them, and nothing that no snapshot names:
// no mode, no empty directory, nothing of .git, no cache.
func TestKeepNoMore(t *testing.T) {
	root := project(t, home(t))
	gitIn(t, root, "add", "dir")
	gitIn(t, root, "commit", "-qm", "second")
	r := confined(t, root)
	wrote(t, r, `chmod 600 dir/sub/b.txt dir; chmod 777 run.sh; chmod 600 dir/sub; mkdir -p none/at/all __pycache__; echo x > __pycache__/x.pyc; rm dir/untracked.txt
rm -r .git/index .git/objects; mkdir -p .git/hooks .git/info; echo x > .git/hooks/x; echo x > .git/info/exclude; echo x > .git/commondir; echo new > a.txt; chmod 444 a.txt`)
	const look = `find . -path ./.git -prune -o -printf '%y %m %P\n' | sort; git status --porcelain; ls .git/hooks .git/commondir 2>/dev/null; git ls-files dir`
	after, _ := seen(t, r, look)
	r.Close()
	if fresh, _ := seen(t, confined(t, root), look); after != fresh {
		t.Errorf("after the line\n%s\nand in a fresh room\n%s", after, fresh)
	}
	if !strings.Contains(after, "f 644 a.txt\n") || strings.Contains(after, "f 644 dir/untracked") {
		t.Errorf("after the line\n%s", after)
	}
	// Nor is an empty directory left of files that are gone.
	r = confined(t, root)
	wrote(t, r, "rm dir/sub/b.txt dir/up")
	if out, _ := seen(t, r, "ls -d dir dir/sub 2>/dev/null; git ls-files dir"); out != "" {
		t.Errorf("the directories are left: %s", out)
	}
}

// Ignored files that a line made are there for those after it. Where it ran on other files than these, or saw more than they, the stay
// names it.
func TestKeepIgnored(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	r := confined(t, root)
	for i, step := range []struct {
		text, names string
	}{
		{"echo 1 > ignored.txt", ""},
		{"mkdir -p ignored/d; echo 1 > ignored/d/x; touch -d 2001-02-03 ignored/d/x; ln -s x ignored/d/l", ""},
		{"echo new > a.txt", "ignored.txt, ignored/d/l and 1 more, left by an earlier line that ran on other files"},
		{"rm -r ignored", "ignored.txt, ignored/d/l and 1 more, left by an earlier line that ran on other files"},
	} {
		wrote(t, r, step.text)
		_, names := seen(t, r, "true")
		if got := strings.Join(names, "; "); got != step.names {
			t.Errorf("after line %d: %q, want %q", i, got, step.names)
		}
		if i == 1 {
			if out, _ := seen(t, r, "cat ignored.txt ignored/d/l; date -r ignored/d/x +%Y"); out != "1\n1\n2001\n" {
				t.Errorf("the next line sees %q", out)
			}
		}
	}
	if out, _ := seen(t, r, "cat ignored.txt a.txt; ls -d ignored 2>/dev/null"); out != "1\nnew\n" {
		t.Errorf("the last line sees %q", out)
	}
	// What is of these files and of the room alone, and what comes of a program that its user can change.
	put(t, dir, "home/bin/make-it", "#!/bin/sh\necho 2 > ignored.txt\n")
	if err := os.Chmod(filepath.Join(dir, "home/bin/make-it"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Close()
	r = confined(t, root)
	s, res, err := in(t, r, []string{filepath.Join(dir, "home/bin/make-it")})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(err, res)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, names := seen(t, r, "cat ignored.txt"); out != "2\n" || len(names) != 1 || names[0] != "tools in ~/bin" {
		t.Errorf("%q, %q", out, names)
	}
}

// What a line left is copied: who holds a descriptor of it changes nothing that later lines see. What is copied is looked at again when a
// gate asks.
func TestKeepCopies(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	s, res, err := in(t, r, []string{"sh", "-c", "echo new > a.txt; echo 1 > ignored.txt; touch dir/sub/b.txt"})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(err, res)
	}
	var held []*os.File
	for _, name := range []string{"a.txt", "ignored.txt"} {
		f, err := os.OpenFile(filepath.Join(s.dir, "upper", name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		held = append(held, f)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range held {
		if _, err := f.WriteAt([]byte("bad"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if out, _ := seen(t, r, "cat a.txt ignored.txt"); out != "new\n1\n" {
		t.Errorf("the next line sees %q", out)
	}
	for _, name := range []string{"a.txt", "ignored.txt"} {
		r.Forget()
		if _, err := r.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(r.layers[0].has.dir, name)
		was, err := os.ReadFile(file)
		if err := errors.Join(err, os.WriteFile(file, []byte("bad"), 0o644)); err != nil {
			t.Fatal(err)
		}
		r.Forget()
		if _, err := r.Take(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was changed: %v", name, err)
		}
		if err := os.WriteFile(file, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What takes the place of a directory or file while it is read leads to nothing outside of what the line wrote.
func TestKeepBeneath(t *testing.T) {
	dir := home(t)
	put(t, dir, "secret/key", "secret\n")
	put(t, dir, "upper/x", "x\n")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "secret/key"), 0), os.Chmod(filepath.Join(dir, "secret"), 0o100),
		os.Symlink("../secret", filepath.Join(dir, "upper/d")), os.Symlink("../secret/key", filepath.Join(dir, "upper/f"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "upper"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if f, _, err := openDir(root, "d"); err == nil {
		f.Close()
		t.Error("a link is read as a directory")
	}
	for _, name := range []string{"d/key", "f"} {
		f := workspace.File{Path: name}
		if err := copyOut(t.Context(), root, name, filepath.Join(dir, "out"), &f, make([]byte, 64)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	for name, mode := range map[string]os.FileMode{"secret": 0o100, "secret/key": 0} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	f := workspace.File{Path: "x"}
	if err := copyOut(t.Context(), root, "x", filepath.Join(dir, "out"), &f, make([]byte, 64)); err != nil || f.Size != 2 || f.Kind != workspace.Regular {
		t.Errorf("%+v, %v", f, err)
	}
}

// A commit in the room would be lost without a word: it is refused.
func TestKeepCommit(t *testing.T) {
	root := project(t, home(t))
	r := confined(t, root)
	for _, text := range []string{"git -c user.name=t -c user.email=t commit -qm x", "git tag x", "git config a.b c", "git checkout -qb new"} {
		s, res, err := in(t, r, []string{"sh", "-c", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %v %+v", text, err, res)
		}
		if err := s.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), "it changed .git/") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever takes the place of the working tree is neither read nor written.
func TestSwappedTree(t *testing.T) {
	dir := home(t)
	root, other := project(t, dir), filepath.Join(dir, "other")
	r := confined(t, root)
	swap := func() {
		t.Helper()
		if err := errors.Join(os.CopyFS(other, os.DirFS(root)), os.Rename(root, root+".away"), os.Symlink(other, root)); err != nil {
			t.Fatal(err)
		}
	}
	back := func() {
		t.Helper()
		if err := errors.Join(os.Remove(root), os.Rename(root+".away", root), os.RemoveAll(other)); err != nil {
			t.Fatal(err)
		}
	}
	s, res, err := in(t, r, []string{"sh", "-c", "echo written > a.txt; echo new > new.txt"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%v %+v", err, res)
	}
	swap()
	if err := s.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), "not the directory any more") {
		t.Errorf("brought back: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(other, "a.txt")); string(text) != "changed since the commit\n" {
		t.Errorf("written: %s", text)
	}
	back()
	snapshot, err := r.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		if !there {
			swap()
		}
		live, err := snapshot.Open()
		if (err == nil) != there {
			t.Errorf("the tree is there: %v, and is opened: %v", there, err)
		}
		if err == nil {
			live.Close()
		}
	}
	from := filepath.Join(dir, "from")
	if err := errors.Join(os.Mkdir(from, 0o700), os.WriteFile(filepath.Join(from, "a.txt"), []byte("from a worker\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := BringBack(t.Context(), snapshot, Below(from), []string{"a.txt"}); err == nil || !strings.Contains(err.Error(), "not the directory any more") {
		t.Errorf("files of a worker were brought back: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(other, "a.txt")); string(text) == "from a worker\n" {
		t.Error("what took the place of the tree was written")
	}
}

// What beside the files decided what a line left is named to the lines after it that see that, and so is where its links lead that its user can
// change. A link of the files that leads out of the tree lets in nobody, whichever line made it.
func TestKeepNamed(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	o := Options{Helper: []string{helperName}, Cache: Cache()}
	r := enter(t, root, o)
	for _, step := range []struct{ text, names string }{
		{"echo new > a.txt", ""},
		{"echo 1 > ignored.txt", "ignored.txt, left by an earlier line of another script"},
	} {
		s, res, err := in(t, r, []string{"sh", "-c", step.text})
		if err != nil || res.ExitCode != 0 {
			t.Fatal(err, res)
		}
		s.Lower("another script")
		if err := s.Keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, names := seen(t, r, "true"); strings.Join(names, "; ") != step.names {
			t.Errorf("after %s: %q", step.text, names)
		}
	}
	now, err := r.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("new\n"))
	if hex := hex.EncodeToString(sum[:]); !r.Holds(filepath.Join(now.Root, "a.txt"), hex) || r.Holds(filepath.Join(now.Root, "run.sh"), hex) || r.Holds(filepath.Join(now.Root, "ignored.txt"), hex) || r.Holds("", hex) || r.Holds("/etc/passwd", hex) {
		t.Error("it is not known what the files hold")
	}
	wrote(t, r, "ln -sf /etc/passwd run.sh")
	if _, err := r.Enter(); err == nil || !strings.Contains(err.Error(), "leads out of the tree") {
		t.Errorf("after a link that leads out: %v", err)
	}
}

// TestKeepOwner has a line write files that others have a part in: their owner, group and ACL stay.
func TestKeepOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	root := project(t, home(t))
	path := filepath.Join(root, "a.txt")
	if err := errors.Join(os.Chown(path, 1234, 100), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	r := confined(t, root)
	s, res, err := in(t, r, []string{"sh", "-c", "echo new >a.txt; chmod +x a.txt"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%v %+v", err, res)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 100 || info.Mode().Perm() != 0o750 {
		t.Errorf("%d:%d, mode %o", st.Uid, st.Gid, info.Mode().Perm())
	}
	if text, err := os.ReadFile(path); string(text) != "new\n" {
		t.Errorf("%q, %v", text, err)
	}
}
