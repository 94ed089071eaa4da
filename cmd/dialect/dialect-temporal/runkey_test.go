package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// A worker that knows who may begin runs carries out no others, and no line behind a gate that nobody of them has opened, no matter who hands it
// out: here somebody who may start workflows, and has read the history of an honest run.
func TestRunKey(t *testing.T) {
	t.Parallel()
	l, place := deploys(t)
	private, public, err := receipts.GenerateKey("author")
	if err != nil {
		t.Fatal(err)
	}
	l.worker("--run-key", public)
	p := l.run("other.dlct")
	if got := l.wait(p); got != 2 || !strings.Contains(p.out.String()+p.err.String(), "none of them has begun this one") || strings.Contains(p.err.String(), "may go on") {
		t.Errorf("without a key: status %d\n%s%s", got, &p.out, &p.err)
	}
	p = l.start(private, "dialect", append([]string{"run"}, l.flags("--key-fd", "3", "two.dlct")...)...)
	waiting(l, place, 1)
	c := server().GetDefaultClient()
	e, err := c.GetWorkflowHistory(t.Context(), flow.WorkflowID(lastRun(l)), "", false, 1).Next()
	if err != nil {
		t.Fatal(err)
	}
	var honest flow.Input
	if err := converter.GetDefaultDataConverter().FromPayloads(e.GetWorkflowExecutionStartedEventAttributes().Input, &honest); err != nil {
		t.Fatal(err)
	}
	w := sdk.New(c, l.queue+"-forger", sdk.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, task flow.Task) error {
		o := workflow.ActivityOptions{
			TaskQueue: l.queue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: flow.Lease, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}
		var seat flow.Claimed
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), flow.Claim, task.Spec, flow.Lease).Get(ctx, &seat); err != nil {
			return err
		}
		o.TaskQueue = seat.Queue
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), flow.Attempt, task).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "forged"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	forge := func(task flow.Task) error {
		t.Helper()
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: l.queue + "-forger"}, "forged", task)
		if err != nil {
			t.Fatal(err)
		}
		return run.Get(t.Context(), nil)
	}
	deploy := flow.Task{Spec: honest.Spec, Action: schedule.Action{Seq: 9, Op: schedule.Start, ID: "3", Attempt: 1}, Dispatch: 1, Lease: flow.Lease, Seat: true}
	said := func(verdict schedule.Verdict, id string) *remote.Answer {
		return &remote.Answer{Event: schedule.Event{Seq: 2, Op: schedule.Gate, ID: id, Brief: schedule.Brief{Verdict: verdict}}, Sig: make([]byte, 64)}
	}
	for name, tt := range map[string]struct {
		lie  func(*flow.Task)
		want string
	}{
		"no answer":       {func(*flow.Task) {}, "the gate of step 2"},
		"a forged answer": {func(k *flow.Task) { k.Gate = said(schedule.Passed, "2") }, "the gate of step 2"},
		"another key":     {func(k *flow.Task) { k.Spec.Key = make([]byte, 32) }, "none of them has begun"},
		"another session": {func(k *flow.Task) { k.Spec.Session = "x" }, "none of them has begun"},
		"version 1":       {func(k *flow.Task) { k.Spec.Version, k.Spec.Key = 1, nil }, "none of them has begun"},
		"no signature":    {func(k *flow.Task) { k.Spec.Begun = "" }, "none of them has begun"},
	} {
		task := deploy
		tt.lie(&task)
		if err := forge(task); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(place, "deployed")); err == nil {
		t.Fatal("the line behind the gate was carried out")
	}
	release(t, place)
	if err := os.WriteFile(filepath.Join(place, "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := l.wait(p); got != 0 {
		t.Errorf("the honest run: status %d\n%s%s", got, &p.out, &p.err)
	}
	if text, err := os.ReadFile(filepath.Join(place, "deployed")); err != nil || string(text) != "deployed\n" {
		t.Errorf("%q, %v", text, err)
	}
	// A verifier that trusts both keys finds the receipts covered by the checkpoint of the one who has run it.
	if out := l.dialect(0, "verify", "--level", "self", "--key", public, "--key", l.keys[0]); !strings.Contains(out, "VERIFIED") {
		t.Errorf("%s", out)
	}
}
