//go:build linux

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/runtime/archive"
	"time"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// TestTrackerReadsWhatChanged makes sure that the second snapshot does not read the
// files again, and that it does where a change could be missed.
func TestTrackerReadsWhatChanged(t *testing.T) {
	t.Parallel()
	if !statTrusted {
		t.Skip("every file is read here")
	}
	r := newRepo(t)
	wrote := time.Now()
	r.write("a", "a")
	r.write("b", "b")
	tracker := NewTracker(r.dir, Options{})
	take := func() (*Snapshot, map[string]bool) {
		s := r.takeBoth(tracker)
		settled := make(map[string]bool)
		for _, e := range s.entries {
			settled[e.path] = e.settled
		}
		return s, settled
	}
	if _, settled := take(); settled["a"] && time.Since(wrote) < settling {
		t.Error("a file that was just written is believed not to change")
	}
	time.Sleep(settling + 50*time.Millisecond)
	first, settled := take()
	if !settled["a"] || !settled["b"] {
		t.Fatalf("after %v: settled %v", settling, settled)
	}
	// What is remembered is used: a false memory shows.
	m := tracker.memory[r.dir]
	m.entries = slices.Clone(m.entries)
	lie := *m.entries[0]
	lie.sum[0] ^= 1
	m.entries[0] = &lie
	lied, err := tracker.Take(context.Background())
	r.do(err)
	equal(t, "with a false memory", changes(first, lied), []string{"changed a (untracked)"})
	tracker.Forget()
	if again, _ := take(); !again.Same(first) {
		t.Error("Forget does not forget")
	}
	wrote = time.Now()
	putBack(r, "a", "A")
	second, settled := take()
	equal(t, "changes", changes(first, second), []string{"changed a (untracked)"})
	if settled["a"] && time.Since(wrote) < settling || !settled["b"] {
		t.Errorf("settled %v", settled)
	}
}

// TestMapping writes through a mapping, which need not move the ctime: a tracker
// may miss that, as the documentation says, and a snapshot that reads does not.
func TestMapping(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "0")
	f, err := os.OpenFile(r.path("a"), os.O_RDWR, 0)
	r.do(err)
	defer func() { _ = f.Close() }()
	m, err := syscall.Mmap(int(f.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	r.do(err)
	defer func() { _ = syscall.Munmap(m) }()
	m[0] = '1'
	time.Sleep(settling + 50*time.Millisecond)
	tracker := NewTracker(r.dir, Options{})
	changed := func() syscall.Timespec {
		var st syscall.Stat_t
		r.do(syscall.Stat(r.path("a"), &st))
		return st.Ctim
	}
	before, was := r.takeBoth(tracker), changed()
	m[0] = '2'
	after, err := tracker.Take(context.Background())
	r.do(err)
	var want []string // the kernel may move the ctime, and then the tracker sees it
	if changed() != was {
		want = []string{"changed a (untracked)"}
	}
	equal(t, "by the tracker", changes(before, after), want)
	tracker.Forget()
	equal(t, "after Forget", changes(before, r.takeBoth(tracker)), []string{"changed a (untracked)"})
}

// TestTrackerAndConversions: what a filter made is remembered only as long as the
// settings that led to it.
func TestTrackerAndConversions(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	calls := filepath.Join(t.TempDir(), "calls")
	r.git("config", "filter.up.clean", "echo >>"+calls+"; tr a-z A-Z")
	r.write(".gitattributes", "*.up filter=up\n")
	r.write("a.up", "a")
	r.write("b.txt", "b\r\n")
	time.Sleep(settling + 50*time.Millisecond)
	tracker := NewTracker(r.dir, Options{})
	count := func() int {
		b, _ := os.ReadFile(calls)
		return bytes.Count(b, []byte{'\n'})
	}
	take := func(what string, filtered int) *Snapshot {
		t.Helper()
		n := count()
		s, err := tracker.Take(context.Background())
		r.do(err)
		if got := count() - n; got != filtered {
			t.Errorf("%s: the filter ran %d times, want %d", what, got, filtered)
		}
		if fresh := r.take(Options{}); fresh.Tree != s.Tree {
			t.Errorf("%s: tree %s, fresh %s", what, s.Tree, fresh.Tree)
		}
		return s
	}
	one := take("first", 1)
	take("again", 0)
	r.git("config", "core.autocrlf", "true")
	two := take("autocrlf", 1)
	equal(t, "autocrlf", changes(one, two), []string{"changed b.txt (untracked)"})
	r.git("config", "--unset", "core.autocrlf")
	if back := take("autocrlf off", 1); !back.Same(one) {
		t.Errorf("autocrlf off: %v", changes(one, back))
	}
	r.write(".gitattributes", "*.txt text\n")
	take("no filter", 0)
	r.git("config", "filter.up.clean", "tr a-z b-z")
	r.write(".gitattributes", "*.up filter=up\n")
	take("another filter", 0)
}

// TestWhileItChanges takes snapshots of a tree that others write to: there is a
// snapshot or an error that names a file, and nothing hangs.
func TestWhileItChanges(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, n := range []string{"a", "b", "d/c", "d/e/f"} {
		r.write(n, strings.Repeat(n, 1000))
	}
	r.commit()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(r.path("a"), bytes.Repeat([]byte{byte(i)}, i%5000), 0o644)
			_ = os.Remove(r.path("b"))
			_ = syscall.Mkfifo(r.path("b"), 0o600)
			_ = os.Remove(r.path("b"))
			_ = os.WriteFile(r.path("b"), []byte("b"), 0o644)
			_ = os.Rename(r.path("d"), r.path("moved"))
			_ = os.Symlink("/proc", r.path("d"))
			_ = os.Remove(r.path("d"))
			_ = os.Rename(r.path("moved"), r.path("d"))
			runtime.Gosched()
		}
	}()
	tracker := NewTracker(r.dir, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		s, err := tracker.Take(ctx)
		var named *Error
		if err != nil && !errors.As(err, &named) {
			t.Errorf("%v", err)
		}
		if err == nil {
			for _, e := range s.entries {
				if strings.HasPrefix(e.path, "d/") && !slices.Contains([]string{"d/c", "d/e/f"}, e.path) {
					t.Fatalf("a link was followed: %s", e.path)
				}
			}
		}
	}
	close(stop)
	<-done
}

// TestCut ends snapshots that would take for ever: nothing of them is left.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(r *repo)
	}{
		{"a file of 4 TB", func(r *repo) {
			r.write("big", "")
			r.do(os.Truncate(r.path("big"), 4<<40))
		}},
		{"git waits for a FIFO that its configuration includes", func(r *repo) {
			r.git("config", "include.path", r.path("pipe"))
			r.do(syscall.Mkfifo(r.path("pipe"), 0o600))
		}},
		{"a filter that sleeps", func(r *repo) {
			r.git("config", "filter.slow.clean", "sleep 60 & sleep 60")
			r.write(".gitattributes", "a filter=slow\n")
			r.write("a", "a")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			c.build(r)
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			start := time.Now()
			if s, err := Take(ctx, r.dir, Options{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v, %v", s, err)
			}
			if d := time.Since(start); d > 15*time.Second {
				t.Errorf("it took %v", d)
			}
			links, _ := filepath.Glob("/proc/[0-9]*/cwd")
			for _, l := range links {
				for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // what was killed is there until it is scheduled
					if dir, err := os.Readlink(l); err != nil || dir != r.dir {
						break
					}
					if time.Now().After(deadline) {
						text, _ := os.ReadFile(filepath.Join(filepath.Dir(l), "cmdline"))
						t.Fatalf("left behind: %q", text)
					}
				}
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ctx, r.dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled snapshot: %v", err)
	}
	// A filter that never ends, with a child that holds its pipes.
	r.git("config", "filter.slow.clean", "sleep 60 & sleep 60")
	r.write(".gitattributes", "a filter=slow\n")
	ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Take(ctx, r.dir, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a slow filter: %v", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestHeavyIgnoreFile matches names against patterns that take minutes: a snapshot ends with its context, and
// without one when its budget is spent, with an error that names the file.
func TestHeavyIgnoreFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	long := strings.Repeat("a", 200)
	for i := range 40 {
		r.write(fmt.Sprintf("d/%s_%d", long, i), "")
	}
	r.write("d/.gitignore", strings.Repeat(strings.Repeat("*a", 60)+"*b*c\n", 4000))
	r.git("add", "d/.gitignore")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Take(ctx, r.dir, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a context: %v", err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	if testing.Short() {
		return
	}
	var file *Error
	if _, err := Take(context.Background(), r.dir, Options{}); !errors.As(err, &file) || file.Path != "d/.gitignore" {
		t.Errorf("without a context: %v", err)
	}
}

// TestExceptedWhileItIsMade has the folder of an excepted file be made after the walk has begun, as that of a new store is.
func TestExceptedWhileItIsMade(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	tracker := NewTracker(r.dir, Options{Except: []archive.Exempt{{Path: r.path("new/folder/s.db")}}})
	w, err := tracker.begin(t.Context(), r.dir, git.FormatSHA1)
	if err != nil {
		t.Fatal(err)
	}
	if !w.exempt("new/folder/s.db", false) {
		t.Errorf("excepted: %v", w.except)
	}
}
