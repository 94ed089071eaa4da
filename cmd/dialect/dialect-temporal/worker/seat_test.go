package worker

import (
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// sent is a worker, and the spec of a run whose files its depot has.
func sent(t *testing.T) (*Worker, remote.Spec) {
	t.Helper()
	dir, depot := t.TempDir(), filepath.Join(t.TempDir(), "depot.git")
	for name, text := range map[string]string{
		"routing.toml": "[commands.fast]\nverb = \"check\"\nnoun = \"speed\"\ntool = \"test -e a\"\neffect = \"read\"\n",
		"a.dlct":       "Check speed\nGate against results\n",
		"a":            "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "--bare", depot}, {"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	path := filepath.Join(dir, "a.dlct")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	script := &project.Script{Name: "a.dlct", Path: path, Text: text}
	p, err := project.Load(script, filepath.Join(dir, "routing.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p.Resolve(nil, nil)
	snap, err := workspace.Take(t.Context(), dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hash := func(text string) receipts.Hash {
		h, err := receipts.ParseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	s := remote.Spec{
		Version: remote.Version, Run: "r-1", Origin: "dialect-log/1", Key: make([]byte, ed25519.PublicKeySize), Started: time.Now(), Name: "a.dlct", Script: "a.dlct", Matrix: "routing.toml",
		ScriptSHA: hash(script.SHA256()), MatrixSHA: hash(p.Plan.Matrix.SHA256), Tree: receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes, Exact: snap.Exact},
	}
	if s.Commit, err = (carry.Depot{Remote: depot}).SendTree(t.Context(), snap, false, s.Ref("tree")); err != nil {
		t.Fatal(err)
	}
	w, err := New(Options{Depot: depot, Folder: t.TempDir(), Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.close)
	return w, s
}

// TestClaimTwice has a run claimed several times at once, as after a claim whose worker was not heard: it keeps one checkout, and
// what else was made waits for the next run.
func TestClaimTwice(t *testing.T) {
	w, spec := sent(t)
	seats := make([]*seat, 4)
	w.pool.mu.Lock()
	time.AfterFunc(100*time.Millisecond, w.pool.mu.Unlock) // by then each has found no seat
	var claims sync.WaitGroup
	for i := range seats {
		claims.Go(func() {
			var err error
			if seats[i], err = w.seat(t.Context(), &spec); err != nil {
				t.Error(err)
			}
		})
	}
	claims.Wait()
	for _, s := range seats {
		if s != seats[0] || s != w.seats[spec.Run] {
			t.Fatalf("the run has several checkouts: %v", seats)
		}
	}
	if got := len(w.pool.free) + 1; got != len(w.pool.all) {
		t.Errorf("of %d checkouts %d are accounted for", len(w.pool.all), got)
	}
	other := spec
	other.Place = "sub"
	if _, err := w.seat(t.Context(), &other); err == nil {
		t.Error("a run has the checkout of another one's files")
	}
}

// A line with a queue is carried out by the workers of that queue alone, no matter who hands it out.
func TestQueue(t *testing.T) {
	w, spec := sent(t)
	w.o.Queue = "quality"
	c, err := w.pool.take(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	c.plan.Steps[0].Queue = "deploy"
	_, err = w.attempt(t.Context(), c, flow.Task{Spec: spec, Action: schedule.Action{Seq: 1, Op: schedule.Start, ID: "1", Attempt: 1}, Dispatch: 1})
	if err == nil || !strings.Contains(err.Error(), `for the workers of the task queue "deploy"`) {
		t.Errorf("%v", err)
	}
}

// A knowing server answers what it knows of the runs of a test.
type knowing struct {
	client.Client
	answers map[string]any // by run: an error, or a status
}

func (k knowing) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	switch v := k.answers[strings.TrimPrefix(id, flow.WorkflowID(""))].(type) {
	case error:
		return nil, v
	case enums.WorkflowExecutionStatus:
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: v}}, nil
	}
	return nil, errors.New("nobody asked for it")
}

// The checkout of a run goes once the run is over, or the server has forgotten it; one that goes on keeps it, and so does one that
// cannot be asked for, or whose lines are carried out.
func TestLeave(t *testing.T) {
	w, spec := sent(t)
	answers := map[string]any{
		"over": enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, "forgotten": serviceerror.NewNotFound("no such workflow"),
		"goes on": enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "unheard": serviceerror.NewUnavailable("restarting"), "in use": enums.WORKFLOW_EXECUTION_STATUS_TERMINATED,
		"new": enums.WORKFLOW_EXECUTION_STATUS_TERMINATED,
	}
	w.o.Client = knowing{answers: answers}
	for run := range answers {
		c, err := w.pool.take(t.Context(), &spec)
		if err != nil {
			t.Fatal(err)
		}
		c.dirty = true
		w.seats[run] = &seat{c: c}
	}
	w.seats["in use"].mu.RLock()
	w.seats["new"].used.Store(time.Now().Unix())
	w.leave(t.Context(), time.Unix(1000, 0))
	for run, want := range map[string]bool{"over": false, "forgotten": false, "goes on": true, "unheard": true, "in use": true, "new": true} {
		if got := w.seats[run] != nil; got != want {
			t.Errorf("%s: it has a checkout: %v", run, got)
		}
	}
	if len(w.pool.all) != 4 {
		t.Errorf("%d checkouts are there", len(w.pool.all))
	}
}
