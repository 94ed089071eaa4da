//go:build unix

package trial_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/cmd/dialect/internal/trial"
)

// listing returns what is in a folder: names, permissions, content and targets.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch all[rel] = info.Mode().String(); {
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			all[rel] += " " + target
			return err
		case e.Type().IsRegular():
			text, err := os.ReadFile(name)
			all[rel] += " " + string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differences returns what is not the same in two listings, without new files and what is in new folders.
func differences(before, after map[string]string) (list []string) {
	for name, was := range before {
		if is := after[name]; is != was {
			list = append(list, fmt.Sprintf("%s: %q, was %q", name, is, was))
		}
	}
	return list
}

func shell(t *testing.T, dir, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", text)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// work has commits, staged and unstaged edits, a deleted file, and files that git does not have.
const work = `mkdir -m 700 d; mkdir d/e; echo committed >a.txt; echo committed >gone.txt; echo committed >same.txt; echo d >d/e/f.txt; ln -s a.txt l; echo '*.log' >.gitignore
chmod 600 same.txt; echo x >tool; chmod 755 tool
if test -n "$GIT"; then git init -q; git add -A; git commit -qm x; fi
echo edited >a.txt; echo staged >s.txt; rm gone.txt; echo mine >u.txt; chmod 640 u.txt; echo ignored >i.log
if test -n "$GIT"; then git add s.txt; fi; echo more >>s.txt`

// withWork makes a folder with work in it and a line that runs the text lint, and one that runs the text test.
func withWork(t *testing.T, lint, test string, git bool) (dir string) {
	t.Helper()
	for _, program := range []string{"make", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not there")
		}
	}
	home := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COPIES", filepath.Join(cache, "dialect", "init"))
	dir = t.TempDir()
	for name, text := range map[string]string{"Makefile": "lint:\n\t@sh on-lint\ntest:\n\t@sh on-test\n", "on-lint": lint + "\n", "on-test": test + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT", map[bool]string{true: "1"}[git])
	shell(t, dir, work)
	return dir
}

func tried(t *testing.T, ctx context.Context, dir string, timeout time.Duration) ([]trial.Result, error) {
	t.Helper()
	p, err := survey.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return trial.Try(ctx, p, trial.Options{Timeout: timeout, Environ: os.Environ()})
}

// TestPutBack has lines change the files of a project with uncommitted work. After them it is there as before.
func TestPutBack(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("outside\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OUTSIDE", outside)
	for name, c := range map[string]struct {
		lint, test string
		why        string // of the first line
		git        bool   // it needs a repository
	}{
		"nothing":                      {"true", "true", "", false},
		"an edited file":               {"echo fixed >a.txt", "true", "it changed a.txt, put back as before", false},
		"several":                      {"for f in a.txt same.txt s.txt u.txt; do echo fixed >$f; done", "true", "it changed a.txt, s.txt, same.txt and 1 more, put back as before", false},
		"two lines":                    {"echo fixed >a.txt", "echo a >>a.txt; rm u.txt", "it changed a.txt, put back as before", false},
		"removed":                      {"rm a.txt same.txt u.txt l; rm -r d", "true", "it changed a.txt, d/e/f.txt, l and 2 more, put back as before", false},
		"moved":                        {"mv u.txt v.txt", "true", "it changed u.txt, put back as before", false},
		"executable":                   {"chmod +x u.txt; chmod -x tool", "true", "it changed tool, u.txt, put back as before", false},
		"permissions":                  {"chmod 666 u.txt same.txt; chmod 755 d", "true", "", false},
		"not readable":                 {"chmod 0 u.txt d", "true", "", false},
		"the whole not readable":       {"chmod 0 .", "true", "", false},
		"the whole":                    {"chmod 711 .", "true", "", false},
		"left not readable":            {"echo fixed >a.txt; mkdir n; echo n >n/n; echo n >m; chmod 0 n/n n m", "true", "it changed a.txt, put back as before", false},
		"another file":                 {"echo fixed >n; chmod 666 n; mv n same.txt", "true", "it changed same.txt, put back as before", false},
		"a link becomes a file":        {"rm l; echo l >l", "true", "it changed l, put back as before", false},
		"a file becomes a link":        {"rm a.txt u.txt; ln -s $OUTSIDE a.txt; ln -s $OUTSIDE u.txt", "true", "it changed a.txt, u.txt, put back as before", false},
		"a folder becomes a link":      {"mv d ../d$$; ln -s ../d$$ d", "rm -rf ../d[0-9]*", "it changed d/e/f.txt, put back as before", false},
		"a file becomes a folder":      {"rm u.txt; mkdir -p u.txt/n; echo n >u.txt/n/n; echo n >u.txt/m", "true", "it changed u.txt, put back as before", false},
		"a folder becomes a file":      {"rm -r d; echo d >d", "true", "it changed d/e/f.txt, put back as before", false},
		"an ignored file in the place": {"rm u.txt; mkdir u.txt; echo n >u.txt/n; echo fixed >a.txt", "true", "it changed a.txt, u.txt, put back as before", false},
		"a folder becomes another":     {"rm -r d; mkdir -p o/e; echo o >o/e/f.txt; chmod 777 o o/e/f.txt; ln -s o d", "true", "it changed d/e/f.txt, put back as before", false},
		"git throws it away":           {"git reset -q --hard; git clean -qfd", "true", "it changed a.txt, gone.txt, s.txt and 1 more, put back as before", true},
		"git stashes it":               {"git -c user.name=a -c user.email=a@b stash -qu", "true", "it changed a.txt, gone.txt, s.txt and 1 more, put back as before", true},
		"git commits it":               {"git add -A; git -c user.name=a -c user.email=a@b commit -qm y; echo x >a.txt", "true", "it changed a.txt, put back as before", true},
		"another ignore file":          {"echo 'u.txt' >>.gitignore; echo fixed >u.txt", "true", "it changed .gitignore, u.txt, put back as before", true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, git := range []bool{true, false} {
				if c.git && !git {
					continue
				}
				if strings.HasSuffix(name, "not readable") && os.Geteuid() == 0 {
					continue
				}
				dir := withWork(t, c.lint, c.test, git)
				before := listing(t, dir)
				results, err := tried(t, t.Context(), dir, time.Minute)
				if err != nil || len(results) != 2 {
					t.Fatalf("%+v, %v", results, err)
				}
				if d := differences(before, listing(t, dir)); len(d) > 0 {
					t.Errorf("git %v: %s", git, strings.Join(d, "\n"))
				}
				if _, err := os.Lstat(filepath.Join(dir, "gone.txt")); err == nil {
					t.Errorf("git %v: a file that was removed is there again", git)
				}
				if r := results[0]; r.Why != c.why || (r.Outcome == trial.Writes) != (c.why != "") || len(r.Stays) > 0 {
					t.Errorf("git %v: %+v", git, r)
				}
				if over := results[0].Over; over != "" { // what the line wrote, and nothing else
					if list, err := filepath.Glob(filepath.Join(over, "*")); err != nil || strings.Contains(strings.Join(list, " "), "kept") || strings.Contains(strings.Join(list, " "), "before") {
						t.Errorf("%q, %v", list, err)
					}
				} else if list, _ := os.ReadDir(os.Getenv("COPIES")); len(list) > 0 && c.why == "" {
					t.Errorf("%v is left", list)
				}
			}
		})
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "outside\n" {
		t.Errorf("%q, %v: it was written through a link", text, err)
	}
}

// TestPutBackEnded has a line end by its timeout, or with the trial, once it has changed files.
func TestPutBackEnded(t *testing.T) {
	const text = "echo fixed >a.txt; rm u.txt; echo new >new.txt; echo >began.log; sleep 600"
	dir := withWork(t, text, "true", true)
	before := listing(t, dir)
	began := func() bool { _, err := os.Stat(filepath.Join(dir, "began.log")); return err == nil }
	for timeout := time.Second; timeout < 2*time.Minute; timeout *= 4 { // a busy machine may not have begun by then
		results, err := tried(t, t.Context(), dir, timeout)
		if d := differences(before, listing(t, dir)); len(d) > 0 {
			t.Error(strings.Join(d, "\n"))
		}
		if began() {
			if err != nil || results[0].Why != "it changed a.txt, u.txt, put back as before" {
				t.Errorf("%+v, %v", results, err)
			}
			break
		}
	}
	dir = withWork(t, text, "true", true)
	before = listing(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for !began() {
			time.Sleep(10 * time.Millisecond)
		}
		cancel(why)
	}()
	results, err := tried(t, ctx, dir, time.Minute)
	if !errors.Is(err, why) || len(results) != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	if d := differences(before, listing(t, dir)); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	if facts := trial.Interrupted(results); len(facts) != 3 || facts[0] != "Check with make: it changed a.txt, u.txt, put back as before" || facts[1] != "trying the lines left new files: new.txt; list them in .gitignore, or commit them" {
		t.Errorf("%q", facts)
	}
}

// TestHeld has a process write a file while lines run, and afterwards: all that it wrote is there.
func TestHeld(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nothing says which files a process has open")
	}
	dir := withWork(t, "echo line >>u.txt", "echo line >>u.txt; echo fixed >a.txt", true)
	f, err := os.OpenFile(filepath.Join(dir, "u.txt"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Outcome != trial.Runs || results[1].Why != "it changed a.txt, put back as before" {
		t.Fatalf("%+v, %v", results, err)
	}
	if _, err := f.WriteString("more\n"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "u.txt")); err != nil || string(text) != "mine\nline\nline\nmore\n" {
		t.Errorf("%q, %v", text, err)
	}
	old := results[0].HeldOld
	if text, err := os.ReadFile(filepath.Join(old, "1", "u.txt")); err != nil || string(text) != "mine\n" {
		t.Errorf("%q, %v", text, err)
	}
	want := fmt.Sprintf("changed while Check with make ran, and left as it is, since a process has it open for writing: u.txt (process %d); what was there before is in %s", os.Getpid(), old)
	if facts := trial.Interrupted(results[:1]); len(facts) != 1 || facts[0] != want {
		t.Errorf("%q, want %q", facts, want)
	}
}

// TestOwner has root try lines on the files of another user: they are still that user's.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	dir := withWork(t, "rm -r d u.txt l; rm s.txt; mkdir s.txt; echo fixed >a.txt", "true", false)
	names := []string{"d", "d/e", "d/e/f.txt", "u.txt", "l", "s.txt", "a.txt"}
	for _, name := range names {
		if err := os.Lchown(filepath.Join(dir, name), 65534, 65533); err != nil {
			t.Skip(err)
		}
	}
	if _, err := tried(t, t.Context(), dir, time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var st syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(dir, name), &st); err != nil || st.Uid != 65534 || st.Gid != 65533 {
			t.Errorf("%s: %d:%d, %v", name, st.Uid, st.Gid, err)
		}
	}
}

// TestTracked has lines bring files that git tracks: those stay, but for one that the user had removed.
func TestTracked(t *testing.T) {
	dir := withWork(t, "git checkout -q gone.txt; git -c protocol.file.allow=always submodule --quiet update --init sub", "git sparse-checkout disable", true)
	shell(t, dir, `git init -q ../sub$$; cd ../sub$$; echo a >a; mkdir d; echo b >d/b; git add .; git commit -qm x; cd - >o.log
mkdir far; echo far >far/f.txt; git add far; git -c protocol.file.allow=always submodule --quiet add "$(cd ../sub$$; pwd)" sub; git commit -qm sub far .gitmodules sub; git submodule deinit -q -f sub
git update-index --skip-worktree far/f.txt; git config core.sparseCheckout true; printf '/*\n!/far/\n' >.git/info/sparse-checkout; rm -r far`)
	before := listing(t, dir)
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Why != "it changed gone.txt, put back as before" || results[1].Outcome != trial.Runs {
		t.Fatalf("%+v, %v", results, err)
	}
	if list := slices.Concat(results[0].Tracked, results[1].Tracked); !slices.Equal(list, []string{"sub/a", "sub/d/b", "far/f.txt"}) {
		t.Errorf("%q", list)
	}
	after := listing(t, dir)
	if d := differences(before, after); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	if after["sub/a"] == "" || after["sub/d/b"] == "" || after["far/f.txt"] == "" || after["gone.txt"] != "" {
		t.Errorf("%q", after)
	}
}

// TestNotPutBack has a line remove a FIFO, which cannot be put back: the result names it.
func TestNotPutBack(t *testing.T) {
	dir := withWork(t, "rm pipe; echo fixed >a.txt", "true", true)
	shell(t, dir, "mkfifo pipe")
	t.Setenv("HOME", dir) // that is in the project
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Why != "it changed a.txt, pipe; not put back: pipe" || len(results[0].Left)+len(results[1].Left) > 0 {
		t.Errorf("%+v, %v", results, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "edited\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNoRoom has lines after which nothing can be put into the folder of the copies: what they removed is back, and what they wrote over,
// of which no copy can be made, stays, with the copy of what was there.
func TestNoRoom(t *testing.T) {
	const full = `for d in $COPIES/*; do echo >$d/before-1; echo >$d/after-1; done; `
	dir := withWork(t, full+"rm u.txt", "rm s.txt; echo fixed >a.txt", true)
	before := listing(t, dir)
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Why != "it changed u.txt, put back as before" || results[1].Why != "it changed a.txt, s.txt, put back as before" {
		t.Errorf("%+v, %v", results, err)
	}
	if d := differences(before, listing(t, dir)); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	dir = withWork(t, full+"rm u.txt; echo fixed >a.txt", "true", true)
	before = listing(t, dir)
	results, err = tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || len(results[0].Old) != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	if why := "it changed a.txt, u.txt; not put back: a.txt; what was there before is in " + results[0].Old[0]; results[0].Why != why {
		t.Errorf("%q, want %q", results[0].Why, why)
	}
	if d := differences(before, listing(t, dir)); len(d) != 1 || !strings.HasPrefix(d[0], "a.txt: ") {
		t.Error(strings.Join(d, "\n"))
	}
	if text, err := os.ReadFile(filepath.Join(results[0].Old[0], "1", "a.txt")); err != nil || string(text) != "edited\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNotCommitted has lines take from git what no commit has, or what the last one had.
func TestNotCommitted(t *testing.T) {
	for _, text := range []string{
		"git reset -q --hard; git gc -q --prune=now",
		"rm -rf .git; git init -q; rm a.txt both.txt s.txt u.txt",
	} {
		dir := withWork(t, text, text, true)
		shell(t, dir, "echo both >both.txt; ln -s nowhere staged; git add both.txt staged a.txt")
		before := listing(t, dir)
		results, err := tried(t, t.Context(), dir, time.Minute)
		if err != nil || len(results) != 2 || len(results[0].Stays)+len(results[1].Stays) > 0 {
			t.Errorf("%+v, %v", results, err)
		}
		if d := differences(before, listing(t, dir)); len(d) > 0 {
			t.Errorf("%s: %s", text, strings.Join(d, "\n"))
		}
	}
	dir := withWork(t, "git -c user.name=a -c user.email=a@b commit -qm y --allow-empty; git reset -q --soft HEAD~2; git reflog expire --expire=now --all", "rm committed; git reset -q --hard; git gc -q --prune=now", true)
	shell(t, dir, "echo committed >committed; git add committed; git commit -qm z committed")
	before := listing(t, dir)
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || len(results[0].Stays)+len(results[1].Stays) > 0 {
		t.Errorf("%+v, %v", results, err)
	}
	if d := differences(before, listing(t, dir)); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
}

// TestEmptied has lines empty $TMPDIR, as a teardown may, where the user has a cache.
func TestEmptied(t *testing.T) {
	const text = `echo >$TMPDIR/x; rm -r ${TMPDIR:?}/*; rm u.txt`
	dir := withWork(t, text, text, true)
	before := listing(t, dir)
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Why != "it changed u.txt, put back as before" || results[1].Why != results[0].Why {
		t.Errorf("%+v, %v", results, err)
	}
	if d := differences(before, listing(t, dir)); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	shell(t, dir, "rm -r $COPIES; echo file >$COPIES") // no cache
	results, err = tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || len(results[0].Stays) != 1 || !results[0].Gone {
		t.Errorf("%+v, %v", results, err)
	}
}

// TestNoCopies has lines remove the copies, and then what they are of.
func TestNoCopies(t *testing.T) {
	dir := withWork(t, "rm -r $COPIES/*/kept", "rm u.txt", true)
	before := listing(t, dir)
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[1].Why != "it changed u.txt, put back as before" {
		t.Errorf("%+v, %v", results, err)
	}
	if d := differences(before, listing(t, dir)); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	dir = withWork(t, "rm -r $COPIES/*/kept u.txt", "true", true)
	results, err = tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Why != "it changed u.txt; not put back: u.txt; it removed or changed copies of what was there before, which init had made" {
		t.Errorf("%+v, %v", results, err)
	}
}

// TestTooMany has more in a folder without a repository than is copied: no line is tried, and all are written.
func TestTooMany(t *testing.T) {
	dir := withWork(t, "echo fixed >a.txt", "echo fixed >a.txt", false)
	shell(t, dir, "truncate -s 513M large")
	results, err := tried(t, t.Context(), dir, time.Minute)
	if err != nil || len(results) != 2 || results[0].Outcome != trial.Untried || results[1].Outcome != trial.Untried {
		t.Fatalf("%+v, %v", results, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "edited\n" {
		t.Errorf("%q, %v", text, err)
	}
	const want = "not tried: Check with make, Test with make: to put files back after a line, init copies those that are not committed, and these are more than 50000 files or 512 MiB: commit or ignore some"
	if settled, facts := trial.Settle(scaffold.Plan{}, results, ""); len(settled.Lines) != 2 || facts[0] != want {
		t.Errorf("%q", facts)
	}
}
