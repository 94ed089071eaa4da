package engine_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
)

// lock holds the file of a store as another process would, until the test ends.
func lock(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)") // a commit may be under way
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err == nil {
		_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
		conn.Close()
		db.Close()
	})
}

// A run that is cut short, by a signal or its budget, does not wait out the lock that
// another process holds on the store, wherever it asks; it is degraded, and says so.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		at     string // what the store is locked at: the id of a step that starts, or "" for the start of the run
		steps  func(b *builder) []*plan.Step
		budget time.Duration
		end    func(cancel context.CancelCauseFunc, c *engine.JobControl)
	}{
		{"the start of the run, by a signal", "", func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "exit 0")} }, 0,
			func(cancel context.CancelCauseFunc, _ *engine.JobControl) { cancel(engine.Signal{Name: "SIGINT"}) }},
		{"the start of the run, by its budget", "", func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "exit 0")} }, 300 * time.Millisecond, nil},
		{"a line that writes", "1", func(b *builder) []*plan.Step {
			return []*plan.Step{b.sh("a", "exit 0"), b.sh("write", "exit 0")}
		}, 0, func(cancel context.CancelCauseFunc, _ *engine.JobControl) { cancel(engine.Signal{Name: "SIGINT"}) }},
		{"the gate", "1", func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "exit 0")} }, 0,
			func(cancel context.CancelCauseFunc, _ *engine.JobControl) { cancel(engine.Signal{Name: "SIGINT"}) }},
		{"the gate, by a second signal", "1", func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "exit 0")} }, 0,
			func(cancel context.CancelCauseFunc, c *engine.JobControl) {
				cancel(engine.Signal{Name: "SIGINT"})
				c.Kill()
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts.db")
			store, err := sqlite.Open(context.Background(), path, sqlite.Options{BusyTimeout: 10 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() }) // after the lock is gone
			if c.at == "" {
				lock(t, path)
			}
			b := newBuilder(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			control := new(engine.JobControl)
			// Locked says that the lock is held: the end comes while the run waits for it, or before.
			locked := func() {
				if c.end != nil {
					time.AfterFunc(500*time.Millisecond, func() { c.end(cancel, control) })
				}
			}
			if c.at == "" {
				locked()
			}
			began := time.Now()
			o := engine.Run(ctx, b.plan(c.steps(b)...), engine.Options{
				Budget: plan.Budget{Timeout: c.budget}, JobControl: control, Options: attempt.Options{Run: "r-1", Store: store, Patience: 300 * time.Millisecond, Environ: os.Environ(),
					Listen: func(e engine.Event) {
						if e, ok := e.(attempt.Started); ok && e.Step.ID == c.at {
							lock(t, path)
							locked()
						}
					}},
			})
			if took := time.Since(began); took > 2*time.Minute { // the store waits for ten
				t.Errorf("it took %v", took)
			}
			if o.Degraded == "" || o.ExitStatus() == 0 || o.Gate.Verdict == attempt.GatePassed {
				t.Errorf("degraded %q, gate %s, exit status %d", o.Degraded, o.Gate.Verdict, o.ExitStatus())
			}
		})
	}
}

// What waits for git, and not for a command, does not hold a run that is cut short.
func TestPolicyThatDoesNotAnswer(t *testing.T) {
	b := newBuilder(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	began := time.Now()
	o := run(t, b.plan(b.sh("a", "exit 0")), engine.Options{
		Budget:  plan.Budget{Timeout: 300 * time.Millisecond},
		Options: attempt.Options{Store: open(t, t.TempDir()), Policy: func(string) string { <-never; return "unpinned" }},
	})
	if took := time.Since(began); took > 30*time.Second || o.Gate.Verdict != attempt.GateNotRun || o.ExitStatus() == 0 {
		t.Errorf("after %v: gate %s, exit status %d", took, o.Gate.Verdict, o.ExitStatus())
	}
}
