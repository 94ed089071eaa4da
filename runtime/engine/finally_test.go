package engine_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// mcpHelper builds the program that speaks to MCP servers.
func mcpHelper(t *testing.T) func() []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dialect-mcp")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/dialect/dialect-mcp").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func() []string { return []string{path, "client"} }
}

// A step with finally = true that runs when the interruption comes has the same time as one
// that starts after it, whatever interrupts the run; a second interruption ends it at once.
func TestInterruptedDuringFinally(t *testing.T) {
	const grace = 700 * time.Millisecond
	helper := mcpHelper(t)
	kinds := map[string]func(b *builder) *plan.Step{
		"process": func(b *builder) *plan.Step { return b.sh("write clean", "echo clean >>log; sleep 60") },
		"mcp": func(b *builder) *plan.Step {
			s := b.sh("write clean", "")
			s.Kind, s.Argv, s.Target = plan.MCP, nil, "hangs:tool"
			return s
		},
		"task": func(b *builder) *plan.Step {
			s := b.sh("write clean", "echo clean >>log; sleep 60")
			s.Kind = plan.Task
			return s
		},
		"composite": func(b *builder) *plan.Step {
			return group(false, b.sh("write one", "echo clean >>log; sleep 60"), b.sh("write two", "sleep 60"), b.sh("write three", "sleep 60"))
		},
	}
	for kind, make := range kinds {
		for _, why := range []string{"signal", "timeout", "caller", "after fail-fast", "killed"} {
			t.Run(kind+" "+why, func(t *testing.T) {
				t.Parallel()
				b := newBuilder(t)
				first := b.sh("first", "true")
				o := engine.Options{Options: attempt.Options{Run: "r-1", Environ: os.Environ(), Store: open(t, t.TempDir()), MCP: helper}, JobControl: new(engine.JobControl)}
				engine.SetFinallyGrace(&o, grace)
				begun := time.Now()
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				after := time.Duration(0)
				switch why {
				case "timeout":
					o.Budget.Timeout, after = 400*time.Millisecond, 400*time.Millisecond
				case "after fail-fast":
					first, o.FailFast = b.sh("first", "false"), true
				}
				if why != "timeout" {
					// Once the clean-up runs.
					o.Listen = func(e engine.Event) {
						if s, ok := e.(attempt.Started); ok && strings.HasPrefix(s.Step.ID, "1.2") && after == 0 {
							time.AfterFunc(300*time.Millisecond, func() {
								if why == "caller" {
									cancel(errors.New("the caller's own reason"))
								} else {
									cancel(engine.Signal{Name: "SIGTERM"})
								}
								if why == "killed" {
									o.JobControl.Kill()
								}
							})
							after = time.Since(begun) + 300*time.Millisecond
						}
					}
				}
				p := b.plan(group(false, first, finally(make(b))))
				p.Servers = map[string]plan.Server{"hangs": {Argv: []string{"sleep", "600"}}}
				out := engine.Run(ctx, p, o)
				took := time.Since(begun)
				clean := out.Results[0].Members[1]
				if clean.Verdict != schedule.Fault {
					t.Errorf("got %s", verdicts(out.Results))
				}
				if why != "killed" && (clean.Reason != receipts.StopTimeout || !strings.Contains(clean.Detail, "finally")) {
					t.Errorf("got %s: %s", clean.Reason, clean.Detail)
				}
				// The grace of killed processes, and of the helper, comes on top of it.
				bound, least := after+grace+5*time.Second, after+grace
				if why == "killed" {
					bound, least = after+2500*time.Millisecond, 0
				}
				if took > bound || took < least {
					t.Errorf("took %v, want between %v and %v", took, least, bound)
				}
				if out.ExitStatus() == 0 {
					t.Error("exit status 0")
				}
			})
		}
	}
}
