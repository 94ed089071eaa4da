//go:build linux

package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// What a tool leaves running stays and is named, until the run is interrupted: then nothing
// stays, not even what cleared its environment in a session of its own.
func TestLeftRunning(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		b := newBuilder(t)
		daemon := b.sh("daemon", "setsid env -i /bin/sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 & until [ -s pid ] && grep -q sleep /proc/$(cat pid)/comm; do sleep 0.01; done")
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		o := engine.Options{Options: attempt.Options{Run: "r-1", Environ: os.Environ(), Store: open(t, t.TempDir())}}
		if interrupted {
			o.Listen = func(e engine.Event) {
				if s, ok := e.(attempt.Started); ok && s.Step.ID == "2" {
					time.AfterFunc(100*time.Millisecond, func() { cancel(engine.Signal{Name: "SIGINT"}) })
				}
			}
		}
		second := "exit 0"
		if interrupted {
			second = "sleep 60"
		}
		out := engine.Run(ctx, b.plan(daemon, b.sh("second", second)), o)
		text, _ := os.ReadFile(filepath.Join(b.dir, "pid"))
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		left := out.Results[0].Process.Left
		if len(left) != 1 || left[0].PID != pid || left[0].Name != "sleep" {
			t.Errorf("interrupted %t: named %v, want %d", interrupted, left, pid)
		}
		alive := syscall.Kill(pid, 0) == nil
		if alive == interrupted {
			t.Errorf("interrupted %t: alive %t", interrupted, alive)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
}
