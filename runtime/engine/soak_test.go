//go:build linux

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// forever is how long what hangs sleeps, in seconds: another number in each process, as tests may run beside these.
var forever = fmt.Sprint("86400.", os.Getpid())

// wild makes a step that ends in one of the ways in which tools end, and says how.
func (b *builder) wild(r *rand.Rand, n int) (s *plan.Step, want string) {
	name := fmt.Sprint("w", n)
	switch k := r.IntN(100); {
	case k < 60:
		return b.sh(name, "echo out; echo err >&2"), "passed"
	case k < 75:
		return b.sh(name, fmt.Sprintf("echo no; exit %d", 1+r.IntN(255))), "failed"
	case k < 83: // 126 and 127 are a shell's own
		signal := []int{6, 9, 10, 11, 12, 13, 15}[r.IntN(7)] // not what nohup has ignored
		want := "fault/killed"
		if signal == 6 || signal == 11 {
			want = "fault/crashed"
		}
		return b.sh(name, fmt.Sprintf("kill -%d $$", signal)), want
	case k < 90:
		return b.sh(name, fmt.Sprintf("head -c %d /dev/zero; exit %d", r.IntN(1<<20), r.IntN(2))), "flood"
	case k < 92:
		s = b.sh(name, "yes")
		s.Budget.MaxOutput = 100_000
		return s, "fault/output_limit"
	case k < 93: // hangs, and has a child in a session of its own that ignores everything
		s = b.sh(name, "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep "+forever+"' & sleep "+forever)
		s.Budget.Timeout = 100 * time.Millisecond
		return s, "fault/timeout"
	case k < 94:
		s = b.sh(name, "sleep "+forever)
		s.Budget.Stall = 100 * time.Millisecond
		return s, "fault/stall"
	case k < 95:
		s = b.sh(name, "true")
		s.Argv = []string{"/no/such/tool"}
		return s, "fault/env_missing"
	case k < 97:
		s = b.sh(name, "test -e "+name+" || { touch "+name+"; exit 1; }")
		s.Budget.Retries = 2
		return s, "flaky"
	default:
		return b.sh(name, "(setsid sleep 0.2 >/dev/null 2>&1 &); echo daemon"), "passed"
	}
}

func pidsWith(word string) (list []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, s := range stats {
		if text, err := os.ReadFile(s); err == nil && strings.Contains(string(text), word) {
			list = append(list, s)
		}
	}
	return list
}

func openFiles() int {
	d, _ := os.ReadDir("/proc/self/fd")
	return len(d)
}

// A long script and a wide one, of tools that exit, die, flood, hang and leave daemons:
// each line has one verdict and one receipt, in the order of the script, memory stays
// flat, and nothing is left behind. DIALECT_SOAK=1 makes it 10,000 lines and 1,000
// members.
func TestSoak(t *testing.T) {
	lines, members := 150, 40
	if os.Getenv("DIALECT_SOAK") != "" {
		lines, members = 10_000, 1000
	}
	for _, c := range []struct {
		name string
		wide bool
		n    int
	}{{"lines", false, lines}, {"members", true, members}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuilder(t)
			r := rand.New(rand.NewPCG(uint64(c.n), 7))
			var steps []*plan.Step
			var want []string
			for i := range c.n {
				s, w := b.wild(r, i)
				steps, want = append(steps, s), append(want, w)
			}
			p := b.plan(steps...)
			if c.wide {
				p = b.plan(group(true, steps...))
			}
			s := open(t, t.TempDir())
			fds := openFiles()
			finished := make(map[string]int)
			var heap []uint64
			began := time.Now()
			o := run(t, p, engine.Options{
				KeepGoing: true, Options: attempt.Options{Store: s, LogDir: filepath.Join(b.dir, "log"), Jobs: 64, Output: true, Run: "r-soak",
					Listen: func(e engine.Event) {
						f, ok := e.(engine.StepFinished)
						if !ok || f.Result.Step.Kind == plan.Composite {
							return
						}
						finished[f.Result.Step.ID]++
						if n := len(finished); n == c.n/5 || n == c.n {
							runtime.GC()
							var m runtime.MemStats
							runtime.ReadMemStats(&m)
							heap = append(heap, m.HeapAlloc)
						}
					}},
			})
			t.Logf("%d steps in %v", c.n, time.Since(began))
			var leaves []*engine.Result
			engine.Leaves(o.Results, func(r *engine.Result) { leaves = append(leaves, r) })
			seen := make(map[receipts.Hash]bool)
			attempts := 0
			for i, leaf := range leaves {
				if leaf.Step != steps[i] || finished[leaf.Step.ID] != 1 {
					t.Fatalf("step %d is %s, finished %d times", i, leaf.Step.ID, finished[leaf.Step.ID])
				}
				got := verdicts([]*engine.Result{leaf})
				if got != want[i] && !(want[i] == "flood" && (got == "passed" || got == "failed")) {
					t.Errorf("%s: got %s (%s), want %s: %q", leaf.Step.ID, got, leaf.Detail, want[i], leaf.Step.Argv)
				}
				for _, h := range append(leaf.Earlier, leaf.Receipt) {
					attempts++
					if h.IsZero() || seen[h] {
						t.Errorf("%s: receipt %v", leaf.Step.ID, h)
					}
					seen[h] = true
				}
			}
			if len(leaves) != c.n {
				t.Errorf("%d results", len(leaves))
			}
			es, err := s.List(t.Context(), sqlite.Filter{Run: "r-soak", Kinds: []receipts.Kind{receipts.KindReceipt}})
			if err != nil || len(es) != attempts {
				t.Errorf("%d receipts in the store, %d attempts, %v", len(es), attempts, err)
			}
			if grown := int64(heap[1]) - int64(heap[0]); grown > int64(c.n)*8<<10+8<<20 {
				t.Errorf("%d bytes of memory more after %d steps", grown, c.n*4/5)
			} else {
				t.Logf("memory: %d kB after a fifth, %d kB after all", heap[0]>>10, heap[1]>>10)
			}
			if left := pidsWith(forever); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if n := openFiles(); n > fds {
				t.Errorf("%d open files before, %d after", fds, n)
			}
		})
	}
}
