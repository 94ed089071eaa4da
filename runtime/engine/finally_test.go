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
	const short, long = 700 * time.Millisecond, 10 * time.Minute
	helper := mcpHelper(t)
	kinds := map[string]func(b *builder) *plan.Step{
		"process": func(b *builder) *plan.Step { return b.sh("write clean", "echo clean >>log; sleep 600") },
		"mcp": func(b *builder) *plan.Step {
			s := b.sh("write clean", "")
			s.Kind, s.Argv, s.Target = plan.MCP, nil, "hangs:tool"
			return s
		},
		"task": func(b *builder) *plan.Step {
			s := b.sh("write clean", "echo clean >>log; sleep 600")
			s.Kind = plan.Task
			return s
		},
		"composite": func(b *builder) *plan.Step {
			return group(false, b.sh("write one", "echo clean >>log; sleep 600"), b.sh("write two", "sleep 600"), b.sh("write three", "sleep 600"))
		},
	}
	for kind, make := range kinds {
		for _, why := range []string{"signal", "timeout", "caller", "after fail-fast", "killed"} {
			t.Run(kind+" "+why, func(t *testing.T) {
				t.Parallel()
				b := newBuilder(t)
				first := b.sh("first", "touch begun")
				o := engine.Options{Options: attempt.Options{Run: "r-1", Environ: os.Environ(), Store: open(t, t.TempDir()), MCP: helper}, JobControl: new(engine.JobControl)}
				// What is killed waits for no grace, and what is not does not end before it.
				grace := short
				if why == "killed" {
					grace = long
				}
				engine.SetFinallyGrace(&o, grace)
				begun := time.Now()
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				after := time.Duration(0)
				switch why {
				case "timeout":
					o.Budget.Timeout, after = 400*time.Millisecond, 400*time.Millisecond
					engine.SetClock(&o, from(filepath.Join(b.dir, "begun"))) // else it could be over before there is anything to clean up
				case "after fail-fast":
					first, o.FailFast = b.sh("first", "false"), true
				}
				if why != "timeout" {
					// Once the clean-up runs.
					o.Listen = func(e engine.Event) {
						if s, ok := e.(attempt.Started); ok && strings.HasPrefix(s.Step.ID, "1.2") && after == 0 {
							after = time.Since(begun) + 300*time.Millisecond
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
				// What cleans up sleeps ten minutes, and so does the grace of what is killed.
				least := after + grace
				if why == "killed" {
					least = after
				}
				if took > 5*time.Minute || took < least {
					t.Errorf("took %v, want at least %v", took, least)
				}
				if out.ExitStatus() == 0 {
					t.Error("exit status 0")
				}
			})
		}
	}
}
