//go:build linux

package cleanroom

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// A meter adds up the time of processors that this process and its children take, which a loaded machine changes least.
type meter struct{ from, sum int64 }

func used(b *testing.B) (ns int64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		ns += u.Utime.Nano() + u.Stime.Nano()
	}
	return ns
}

func (m *meter) start(b *testing.B) { m.from = used(b); b.StartTimer() }
func (m *meter) stop(b *testing.B)  { b.StopTimer(); m.sum += used(b) - m.from }
func (m *meter) report(b *testing.B) {
	b.ReportMetric(float64(m.sum)/float64(b.N)/1e6, "cpu-ms/op")
}

// BenchmarkRoom makes a room of 10,000 files: warm over a checkout that is kept, cold without one, and, to compare,
// `git worktree add`. The snapshot is taken beforehand. CLEANROOM_BENCH names another folder than that of the
// system for temporary files.
func BenchmarkRoom(b *testing.B) {
	parent, err := os.MkdirTemp(os.Getenv("CLEANROOM_BENCH"), "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(parent) })
	for name, value := range map[string]string{"HOME": parent + "/home", "TMPDIR": parent + "/tmp", "XDG_CACHE_HOME": ""} {
		b.Setenv(name, value)
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	root := filepath.Join(parent, "project")
	for i := range 10_000 {
		put(b, root, fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%300, i), fmt.Sprintf("%d\n%04000d\n", i, i))
	}
	gitIn(b, root, "init", "-q")
	gitIn(b, root, "add", "-A")
	gitIn(b, root, "commit", "-qm", "all")
	tracker := workspace.NewTracker(root, workspace.Options{})
	s, err := tracker.Take(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	room := func(cache string, apart bool) *Room {
		r := New(nil, Options{Root: root, Cache: cache, Apart: apart, Helper: []string{helperName}})
		r.asked, r.snapshot = true, s
		if err := r.make(b.Context()); err != nil {
			b.Fatal(err)
		}
		if r.open != "" {
			b.Fatal(r.open)
		}
		return r
	}
	made := func(b *testing.B, cache string, apart bool) {
		room(cache, apart).Close()
		var m meter
		for range b.N {
			m.start(b)
			r := room(cache, apart)
			m.stop(b)
			r.Close()
		}
		m.report(b)
	}
	b.Run("warm", func(b *testing.B) { made(b, Cache(), false) })
	b.Run("warm, apart", func(b *testing.B) { made(b, Cache(), true) })
	b.Run("cold", func(b *testing.B) { made(b, "", false) })
	b.Run("cold, apart", func(b *testing.B) { made(b, "", true) })
	b.Run("worktree", func(b *testing.B) {
		var m meter
		for range b.N {
			to := filepath.Join(parent, "worktree")
			m.start(b)
			if out, err := exec.Command("git", "-C", root, "worktree", "add", "-q", "--detach", to).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			m.stop(b)
			if out, err := exec.Command("git", "-C", root, "worktree", "remove", "--force", to).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
		m.report(b)
	})
}
