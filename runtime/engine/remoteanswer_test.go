package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A run that is taken up again ends where its history answers otherwise than this process does, as one does that was never left.
func TestResumedAnsweredOtherwise(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		return []*plan.Step{b.sh("a", "exit 1"), gate(), b.sh("b", "true"), gate()}
	}
	f, r, o := newFarm(t, steps)
	o.Resumed = true
	f.answer = func(e *schedule.Event) {
		if e.Op == schedule.Gate && e.ID == "2" {
			e.Brief = schedule.Brief{Verdict: schedule.Passed}
		}
	}
	out := r.run(t, o, steps(r.builder)...)
	if out.Gate.Verdict == attempt.GatePassed || out.ExitStatus() != 2 || out.Limit == "" {
		t.Errorf("status %d, %q, gate %s", out.ExitStatus(), out.Limit, out.Gate.Verdict)
	}
}

// A worker that says without a receipt that a line failed ends the run, before anything starts that comes only then.
func TestUnsignedFailure(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		back := b.sh("back", "touch ran")
		back.WhenFailure, back.Effect = true, plan.Write
		return []*plan.Step{b.sh("a", "true"), back, gate()}
	}
	for _, verdict := range []schedule.Verdict{schedule.Failed, schedule.Cancelled, schedule.Fault, schedule.Skipped, "no verdict"} {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			f, r, o := newFarm(t, steps)
			f.deliver = func(d *attempt.Delivery, a *engine.Arrived) {
				if d.Step == "1" {
					a.Brief, a.Delivery = schedule.Brief{Verdict: verdict, Reason: "made\x1b[2Jup", By: "\x1b[31m", Text: "no"}, nil
					a.Problem = "it cannot be fetched"
				} else {
					t.Errorf("step %s was carried out", d.Step)
				}
			}
			out := r.run(t, o, steps(r.builder)...)
			got := out.Results[0]
			if got.Verdict != schedule.Fault || got.Reason != receipts.StopUntrusted || out.Degraded != "" || out.ExitStatus() != 2 {
				t.Errorf("%s %q: %s, degraded %q, status %d", got.Verdict, got.Reason, got.Detail, out.Degraded, out.ExitStatus())
			}
		})
	}
}

// An interrupted run of whose other machines nothing is heard ends soon, and says that it may go on there.
func TestInterruptUnheard(t *testing.T) {
	steps := func(b *builder) []*plan.Step { return []*plan.Step{b.sh("a", "true"), b.sh("b", "true"), gate()} }
	f, r, o := newFarm(t, steps)
	f.deaf = true
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	defer close(ended)
	f.lose = func(schedule.Action, int) bool {
		cancel(engine.Signal{Name: "SIGINT"})
		<-ended
		return true
	}
	o.Store, o.Workspace = r.store, workspace.NewTracker(r.dir, workspace.Options{})
	done := make(chan *engine.Outcome, 1)
	go func() { done <- engine.Run(ctx, r.plan(steps(r.builder)...), o) }()
	select {
	case out := <-done:
		first := out.Results[0]
		if out.Signal != "SIGINT" || first.Verdict != schedule.Cancelled || !strings.Contains(first.Detail, "may go on elsewhere") || out.Gate.Verdict == attempt.GatePassed {
			t.Errorf("%q, %s: %s, %s", out.Signal, first.Verdict, first.Detail, out.Gate.Verdict)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
