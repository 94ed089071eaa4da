package flow

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/command-dialect/dialect/runtime/schedule"
)

// # Locks
//
// A lock is a workflow whose id is its name: as long as it runs, the server starts no other one of that id. It is a child of the run that
// holds the lock, so that the server ends it with the run, however that ends. The orchestrator takes the lock of its own machine first; its
// signed answer has the workflow try for that of the server.
//
// Each try is in the history, and says whether it is the last one: it was had, or denied, by what the server made of it. The server does not
// say when a lock is free, so that a run tries again after a tenth of the time that it has waited: a long wait makes few events.
//
// A child ends with the history that has started it: while a run has a lock, or tries to have one, it does not go on in a new history.

// Lock is the name of the workflow of a lock.
const Lock = "dialect.lock/1"

// LockID is the id of the workflow of a lock.
func LockID(name string) string { return "dialect-lock-" + name }

// How long a try is put off.
const (
	shortestPause = 250 * time.Millisecond
	longestPause  = 30 * time.Second
)

// cutPatience is how long a lock of what comes in any case is waited for in a run that was cut short.
const cutPatience = 10 * time.Second

// A Try is what the workflow of a lock begins with.
type Try struct {
	Run  string `json:"run"`
	Seq  int    `json:"seq"`            // of the action
	Last bool   `json:"last,omitempty"` // where the lock is not free now, it is denied
}

// Hold is the workflow of a lock: it runs until it is cancelled.
func Hold(ctx workflow.Context, _ Try) error {
	ctx.Done().Receive(ctx, nil)
	return nil
}

// Denied is the arrival of a lock that another run did not give back in time. e is the answer that allowed it.
func Denied(e schedule.Event) schedule.Arrival {
	e.Why = "another run holds it at the Temporal server"
	return schedule.Arrival{Event: e}
}

// A hold is a lock that the run has, or tries to have.
type hold struct {
	schedule.Action
	answer   schedule.Event
	began    time.Time
	patience time.Duration
	paused   bool                // the next thing to do is a try
	wake     workflow.CancelFunc // ends the pause; nil outside of one
	free     workflow.CancelFunc // gives the lock back; nil while the run does not have it
	ended    workflow.Future     // once it was given back
}

// allow begins to try for a lock that the orchestrator allows.
func (r *run) allow(ctx workflow.Context, e schedule.Event) {
	for _, o := range r.relay.Pending() {
		if o.Seq == e.Seq && o.Op == e.Op && o.ID == e.ID && r.locks[o.ID] == nil {
			h := &hold{Action: o, answer: e, began: workflow.Now(ctx), patience: r.relay.Wait(o.ID), paused: true}
			if r.locks[o.ID] = h; r.killed {
				r.hurry(ctx, h)
			}
			r.due = append(r.due, h)
		}
	}
}

// hurry has the run not wait for a lock any longer, or, for what comes in any case, not for long.
func (r *run) hurry(ctx workflow.Context, h *hold) {
	most := workflow.Now(ctx).Sub(h.began)
	if h.Always != "" && !r.kill {
		most += cutPatience
	}
	if most >= h.patience {
		return
	}
	if h.patience = most; h.wake != nil {
		h.wake()
	}
}

// try goes on with what waits for a lock.
func (r *run) try(ctx workflow.Context, h *hold) {
	if before := r.given[h.Lock]; before != nil { // it was this run's, and the server may not have heard yet that it is free
		delete(r.given, h.Lock)
		r.sel.AddFuture(before, func(workflow.Future) { r.due = append(r.due, h) })
		return
	}
	waited := workflow.Now(ctx).Sub(h.began)
	own, cancel := workflow.WithCancel(ctx)
	if !h.paused && waited < h.patience {
		h.wake = cancel
		pause := min(max(waited/10, shortestPause), longestPause, h.patience-waited)
		r.sel.AddFuture(workflow.NewTimer(own, pause), func(workflow.Future) {
			h.wake, h.paused = nil, true
			r.due = append(r.due, h)
		})
		return
	}
	h.paused = false
	last := waited >= h.patience
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(own, workflow.ChildWorkflowOptions{
		WorkflowID: LockID(h.Lock), ParentClosePolicy: enums.PARENT_CLOSE_POLICY_TERMINATE,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WaitForCancellation: true,
	}), Lock, Try{Run: r.in.Spec.Run, Seq: h.Seq, Last: last})
	r.sel.AddFuture(child.GetChildWorkflowExecution(), func(f workflow.Future) {
		switch err := f.Get(ctx, nil); {
		case err == nil:
			h.free, h.ended = cancel, child
			r.arrived = append(r.arrived, schedule.Arrival{Event: h.answer})
		case last:
			delete(r.locks, h.ID)
			r.arrived = append(r.arrived, Denied(h.answer))
		default:
			r.due = append(r.due, h)
		}
	})
}

// release gives a lock back that the run has.
func (r *run) release(a schedule.Action) {
	if h := r.locks[a.ID]; h != nil && h.free != nil {
		h.free()
		r.given[h.Lock] = h.ended
		delete(r.locks, a.ID)
	}
}
