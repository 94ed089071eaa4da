package client

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/remote"
)

// All runs are listed, however many pages they take, and nothing that has the name of none.
func TestList(t *testing.T) {
	c := server().GetDefaultClient()
	var runs []string
	for range 5 {
		runs = append(runs, archive.NewRun())
	}
	hostile := []string{"dialect-r-00  fake", "dialect-r-0123456789ABCDEF", "x-r-0123456789abcdef", "dialect-r-0123456789abcdef0"}
	for _, id := range append(slices.Clone(hostile), runs...) {
		if strings.HasPrefix(id, "r-") {
			id = flow.WorkflowID(id)
		}
		_, err := c.WorkflowService().StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
			Namespace: server().GetDefaultNamespace(), WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: flow.Name}, RequestId: id,
			TaskQueue: &taskqueuepb.TaskQueue{Name: "nobody"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.TerminateWorkflow(t.Context(), id, "", "") }()
	}
	ask := func(mostPages int) (r remote.Reply) {
		t.Helper()
		var b bytes.Buffer
		s := &session{c: c, complain: os.Stderr}
		s.out.w = &b
		if err := s.list(t.Context(), 2, mostPages); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for range 1200 { // the server lists what was started a little later
		r := ask(100)
		found := 0
		for _, l := range r.Runs {
			if !archive.IsRun(l.Run) {
				t.Fatalf("listed: %q", l.Run)
			}
			if slices.Contains(runs, l.Run) {
				found++
			}
		}
		if r.More {
			t.Fatal("there are more")
		}
		if found == len(runs) {
			if r := ask(1); !r.More {
				t.Errorf("of several pages one has all: %+v", r)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("not all runs are listed")
}
