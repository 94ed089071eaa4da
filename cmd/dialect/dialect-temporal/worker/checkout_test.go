//go:build unix

package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/tempdir"
)

// A checkout is used again as it was made, and not once anything in it is another: not what git ignores either, and not what is git's own.
func TestUsedAgain(t *testing.T) {
	w, spec := sent(t)
	take := func() *checkout {
		t.Helper()
		c, err := w.pool.take(t.Context(), &spec)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	same := take()
	w.pool.put(same)
	if c := take(); c != same {
		t.Error("a checkout that nothing changed is not used again")
	}
	for name, command := range map[string]string{
		"ignored": "echo '*.cache' >>.git/info/exclude", "new": "echo x >new", "folder": "mkdir new", "config": "git config alias.evil status",
		"tag": "git tag evil", "hook": "mkdir -p .git/hooks; echo x >.git/hooks/pre-commit", "mode": "chmod +x a", "removed": "rm a",
		"put back": "cp -p a b; echo x >a; cat b >a; touch -r b a; rm b", "fifo": "mkfifo .git/x", "link": "ln -s /etc x",
	} {
		t.Run(name, func(t *testing.T) {
			c := take()
			cmd := exec.Command("sh", "-ec", "mkdir -p .git/info; "+command)
			cmd.Dir = c.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			w.pool.put(c)
			next := take()
			defer w.pool.put(next)
			if next == c {
				t.Error("it is used again")
			}
			if _, err := os.Lstat(c.dir); err == nil {
				t.Error("it is still there")
			}
		})
	}
	w.pool.close()
	if list, err := os.ReadDir(w.pool.trees()); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// What a killed worker left is removed, whatever its process was called, and what another worker uses is not.
func TestLeftByOthers(t *testing.T) {
	w, spec := sent(t)
	used, err := w.pool.take(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	left, remove, err := tempdir.NewIn(w.pool.trees(), tempdir.Tree)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	dead := filepath.Join(w.pool.trees(), "dialect-tree-1.tmp") // nobody has its lock
	if err := os.MkdirAll(filepath.Join(dead, "files", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{left, dead, filepath.Dir(used.dir)} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	w.pool.sweep()
	if _, err := os.Lstat(dead); err == nil {
		t.Error("what a killed worker left is still there")
	}
	for _, dir := range []string{left, used.dir} {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
	// Two workers that are the same process of their containers have the same folder.
	other, err := New(w.o)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c, err := other.pool.take(t.Context(), &spec)
		if err != nil {
			t.Fatal(err)
		}
		defer other.pool.put(c)
	}
	other.pool.close()
	if _, err := os.Lstat(used.dir); err != nil {
		t.Error(err)
	}
	w.pool.close()
}

// What a line puts in the place of the files of git is not waited for, and is a change.
func TestPastFIFO(t *testing.T) {
	for _, name := range []string{"HEAD", "config", "packed-refs", "refs/heads/x", "refs/heads/run"} {
		w, spec := sent(t)
		c, err := w.pool.take(t.Context(), &spec)
		if err != nil {
			t.Fatal(err)
		}
		before := c.past(t.Context())
		path := filepath.Join(c.dir, ".git", filepath.FromSlash(name))
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		past := make(chan string, 1)
		go func() { past <- c.past(t.Context()) }()
		select {
		case now := <-past:
			if now == before {
				t.Errorf("%s: nothing has changed", name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is waited for", name)
		}
		w.pool.close()
	}
}
