package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/remote"
)

// A seat is the checkout that a worker keeps for a run: steps that change files, and those after them, are carried out in it, since
// they may need what no snapshot has, such as modules that a step has installed.
type seat struct {
	mu   sync.RWMutex // a step that changes files is alone
	c    *checkout
	used atomic.Int64 // seconds, of a clock that starts in 1970
}

// Claim keeps a checkout for a run.
func (w *Worker) Claim(ctx context.Context, spec remote.Spec, lease time.Duration) (flow.Claimed, error) {
	ctx, done := w.lease(ctx, lease)
	defer done()
	if err := w.begun(&spec); err != nil {
		return flow.Claimed{}, refuse(err)
	}
	if _, err := w.seat(ctx, &spec); err != nil {
		return flow.Claimed{}, refuse(err)
	}
	return flow.Claimed{Queue: w.own}, nil
}

// seat returns the seat of a run, which it gives a checkout if it has none yet.
func (w *Worker) seat(ctx context.Context, spec *remote.Spec) (*seat, error) {
	s := w.seated(spec.Run)
	if s == nil {
		c, err := w.pool.take(ctx, spec)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		if s = w.seats[spec.Run]; s == nil {
			c.dirty = true // it is for this run
			s = &seat{c: c}
			s.used.Store(time.Now().Unix())
			w.seats[spec.Run] = s
		}
		w.mu.Unlock()
		if s.c != c { // another claim of the run, whose worker was taken for lost, came first
			w.pool.put(c)
		}
	}
	if s.c.key != keyOf(spec) {
		return nil, errors.New("the run has another checkout here")
	}
	return s, nil
}

func (w *Worker) seated(run string) *seat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seats[run]
}

// sit carries out an attempt in the checkout of its run.
func (w *Worker) sit(ctx context.Context, t flow.Task) (*attempt.Delivery, error) {
	s := w.seated(t.Spec.Run)
	if s == nil || s.c.key != keyOf(&t.Spec) {
		return nil, errors.New("this worker has no files of the run that steps before it have changed")
	}
	lock, unlock := s.mu.RLock, s.mu.RUnlock
	if s.c.writes(t.Action.ID) {
		lock, unlock = s.mu.Lock, s.mu.Unlock
	}
	lock()
	defer unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	defer func() { s.used.Store(time.Now().Unix()) }()
	return w.attempt(ctx, s.c, t)
}

// How often a worker looks for seats whose run is over, and how long one is left alone.
const sweepEvery = 30 * time.Second

// sweep gives up seats whose run is over, and removes what others left.
func (w *Worker) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		w.pool.sweep()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.leave(ctx, time.Now().Add(-sweepEvery))
	}
}

// leave gives up the seats that were not used since a time and whose run is over, or is one that the server does not know any more.
func (w *Worker) leave(ctx context.Context, since time.Time) {
	w.mu.Lock()
	idle := make(map[string]*seat)
	for run, s := range w.seats {
		if s.mu.TryLock() {
			if time.Unix(s.used.Load(), 0).Before(since) {
				idle[run] = s
			}
			s.mu.Unlock()
		}
	}
	w.mu.Unlock()
	for run, s := range idle {
		d, err := w.o.Client.DescribeWorkflowExecution(ctx, flow.WorkflowID(run), "")
		var forgotten *serviceerror.NotFound
		switch {
		case errors.As(err, &forgotten):
		case err != nil || d.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			continue
		}
		w.mu.Lock()
		delete(w.seats, run)
		w.mu.Unlock()
		w.pool.put(s.c)
	}
}

// queue is that of the workers that a step of the plan is for; empty for those of its run.
func (c *checkout) queue(id string) (queue string) {
	plan.Walk(c.plan.Steps, func(s *plan.Step) {
		if s.ID == id && s.Kind != plan.Composite {
			queue = s.Queue
		}
	})
	return queue
}

// writes reports whether a step of the plan may change files.
func (c *checkout) writes(id string) (writes bool) {
	plan.Walk(c.plan.Steps, func(s *plan.Step) {
		writes = writes || s.ID == id && s.Effect == plan.Write && s.Kind != plan.Composite
	})
	return writes
}

// maxPast bounds a file of git that is looked at for its history, in bytes.
const maxPast = 64 << 20

// past is what of .git a command means to last that makes a commit, a branch or a tag.
func (c *checkout) past(ctx context.Context) string {
	h := sha256.New()
	dot := filepath.Join(c.dir, ".git")
	add := func(path string) {
		text, err := regular.ReadOwn(path, maxPast)
		fmt.Fprintf(h, "%s %d %v\n%s", path, len(text), err, text)
	}
	for _, name := range []string{"HEAD", "packed-refs", "config"} {
		add(filepath.Join(dot, name))
	}
	_ = filepath.WalkDir(filepath.Join(dot, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			add(path)
		}
		return ctx.Err()
	})
	return string(h.Sum(nil))
}
