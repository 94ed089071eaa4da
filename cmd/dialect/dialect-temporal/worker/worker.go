// Package worker carries out attempts of runs that other machines have started: it fetches the files of a run, verifies
// them, resolves the script itself, has package attempt make the attempt in a checkout of its own, signs the receipt, and
// sends what became of it to the depot of the run. What comes in is a [flow.Task]; what goes out is a
// [remote.Attempted].
//
// # What it believes
//
// The depot and the key are its own options, never those of a run. A run says which commit, which digests of files,
// script and matrix: what differs is refused. Which command a line is is what the matrix in those files says: who may write to the
// depot can have any command run here, as this user.
//
// # The lease
//
// A worker says twice a second that an attempt goes on, and so knows as soon that it is cancelled. One that the server does not answer for half of the lease
// ends what it runs: the attempt may have been handed out again.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Options say what a worker is.
type Options struct {
	Client client.Client
	Queue  string
	Slots  int    // attempts at the same time
	Depot  string // the repository that carries files
	Signer *receipts.Signer
	Runs   note.Verifiers // whose runs it carries out; nil for everybody's
	Folder string         // of its own: checkouts and logs
	Guard  []string       // see [attempt.Options]
	Name   string

	// Sending is how long a result is offered to the server, and sent once its run is cut short; zero for half a minute.
	Sending time.Duration
}

// A Worker carries out attempts.
type Worker struct {
	o    Options
	pool pool

	mu      sync.Mutex
	outbox  map[string]*carry.Outbox // by the format of objects
	sending sync.WaitGroup
	room    chan struct{} // of those that are sent

	ending context.Context // of what is sent
	end    context.CancelFunc

	own   string           // the queue of this worker alone
	seats map[string]*seat // by run
}

// sendingPerSlot is how many results are on their way at most, for each slot: a depot that takes none keeps a worker from working on.
const sendingPerSlot = 4

// New returns a worker; [Worker.Start] starts it.
func New(o Options) (*Worker, error) {
	if err := carry.CheckRemote(o.Depot); err != nil {
		return nil, err
	}
	o.Sending = cmp.Or(o.Sending, 30*time.Second)
	w := &Worker{o: o, own: fmt.Sprintf("%s/%016x", o.Queue, rand.Uint64()), seats: make(map[string]*seat), outbox: make(map[string]*carry.Outbox), room: make(chan struct{}, sendingPerSlot*max(o.Slots, 1))}
	w.ending, w.end = context.WithCancel(context.Background())
	w.pool.init(o)
	if err := os.MkdirAll(w.pool.trees(), 0o700); err != nil {
		return nil, err
	}
	return w, nil
}

// Start begins to ask for work; the function that it returns ends that.
func (w *Worker) Start() (stop func(), err error) {
	sdk.SetBinaryChecksum(flow.Name) // otherwise the library reads the program, which its user may be allowed to execute and not to read
	s := sdk.New(w.o.Client, w.o.Queue, sdk.Options{
		MaxConcurrentActivityExecutionSize: w.o.Slots, WorkerStopTimeout: 2 * time.Second, Identity: w.o.Name,
		DisableRegistrationAliasing: true, OnFatalError: func(error) {},
	})
	s.RegisterWorkflowWithOptions(flow.Run, workflow.RegisterOptions{Name: flow.Name})
	s.RegisterWorkflowWithOptions(flow.Hold, workflow.RegisterOptions{Name: flow.Lock})
	s.RegisterActivityWithOptions(w.Resolve, activity.RegisterOptions{Name: flow.Resolve})
	s.RegisterActivityWithOptions(w.Attempt, activity.RegisterOptions{Name: flow.Attempt})
	s.RegisterActivityWithOptions(w.Claim, activity.RegisterOptions{Name: flow.Claim})
	if err := s.Start(); err != nil {
		return nil, err
	}
	seats := sdk.New(w.o.Client, w.own, sdk.Options{
		MaxConcurrentActivityExecutionSize: w.o.Slots, WorkerStopTimeout: 2 * time.Second, Identity: w.o.Name,
		DisableWorkflowWorker: true, DisableRegistrationAliasing: true, OnFatalError: func(error) {},
	})
	seats.RegisterActivityWithOptions(w.Attempt, activity.RegisterOptions{Name: flow.Attempt})
	if err := seats.Start(); err != nil {
		s.Stop()
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	go w.sweep(ctx)
	return func() {
		end()
		s.Stop()
		seats.Stop()
		sent := make(chan struct{})
		go func() {
			w.sending.Wait()
			close(sent)
		}()
		select {
		case <-sent:
		case <-time.After(endTimeout):
		}
		w.end()
		select {
		case <-sent: // what git had left is gone
		case <-time.After(2 * time.Second):
		}
		w.pool.close()
	}, nil
}

// refuse is the error of what this worker does not carry out.
func refuse(err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), flow.Refused, nil)
}

// Resolve resolves the script of a run.
func (w *Worker) Resolve(ctx context.Context, spec remote.Spec, lease time.Duration) (remote.Resolved, error) {
	ctx, done := w.lease(ctx, lease)
	defer done()
	if err := w.begun(&spec); err != nil {
		return remote.Resolved{}, refuse(err)
	}
	c, err := w.pool.take(ctx, &spec)
	if err != nil {
		return remote.Resolved{}, refuse(err)
	}
	defer w.pool.put(c)
	shape := engine.Shape(c.plan)
	packed, err := remote.Pack(shape)
	if err = errors.Join(err, shape.Check()); err != nil {
		return remote.Resolved{}, refuse(err)
	}
	if len(packed) > 1<<20 {
		return remote.Resolved{}, refuse(errors.New("the script is too long for a history: its order alone has more than a megabyte"))
	}
	return remote.Resolved{Shape: packed, Worker: w.o.Name}, nil
}

// Attempt makes one attempt. Its slot is free once the command has ended: the result is sent meanwhile.
func (w *Worker) Attempt(ctx context.Context, t flow.Task) (remote.Attempted, error) {
	own, done := w.lease(ctx, t.Lease)
	ended := context.AfterFunc(ctx, done) // the worker ends
	d, err := w.carryOut(own, t)
	if err != nil {
		done()
		return remote.Attempted{}, refuse(err)
	}
	w.room <- struct{}{}
	ended() // ctx ends with this call
	w.sending.Go(func() {
		defer func() { <-w.room }()
		defer done()
		res, err := w.deliver(own, t, d)
		if err != nil {
			err = refuse(err)
		}
		// Where the server does not take it, another dispatch of the attempt reports.
		within, end := context.WithTimeout(context.WithoutCancel(ctx), w.o.Sending)
		defer end()
		_ = w.o.Client.CompleteActivity(within, activity.GetInfo(ctx).TaskToken, res, err)
	})
	return remote.Attempted{}, activity.ErrResultPending
}

// endTimeout is how long a worker that is ended still sends results.
const endTimeout = 10 * time.Second

// linger returns a context that ends [Options].Sending after ctx: what was made is delivered although the run may have been cut short meanwhile.
func (w *Worker) linger(ctx context.Context) (_ context.Context, done func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(w.o.Sending):
			cancel(context.Cause(ctx))
		case <-own.Done():
		}
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}

func (w *Worker) carryOut(ctx context.Context, t flow.Task) (*attempt.Delivery, error) {
	if err := w.begun(&t.Spec); err != nil {
		return nil, err
	}
	if t.Seat {
		return w.sit(ctx, t)
	}
	c, err := w.pool.take(ctx, &t.Spec)
	if err != nil {
		return nil, err
	}
	defer w.pool.put(c)
	return w.attempt(ctx, c, t)
}

// deliver sends what became of an attempt to the depot.
func (w *Worker) deliver(ctx context.Context, t flow.Task, d *attempt.Delivery) (remote.Attempted, error) {
	packed, err := remote.Pack(d)
	if err == nil && len(packed) > attempt.MaxDelivery && d.Cases != nil {
		less := *d
		less.Cases = nil
		packed, err = remote.Pack(&less)
	}
	if err == nil && len(packed) > attempt.MaxDelivery {
		err = errors.New("what it delivers is too large")
	}
	if err != nil {
		return remote.Attempted{}, err
	}
	res := remote.Attempted{Brief: d.Brief, Ref: t.Spec.Ref(remote.DeliveryName(t.Action.Seq, t.Dispatch)), Body: receipts.Hash(sum(packed))}
	ctx, done := w.linger(ctx)
	defer done()
	if err := w.out(t.Spec.Format).Post(ctx, carry.Parcel{Ref: res.Ref, Text: packed}); err != nil {
		return remote.Attempted{}, fmt.Errorf("what became of it cannot be delivered: %w", err)
	}
	return res, nil
}

// out is where results go of runs whose repository has objects of a format.
func (w *Worker) out(format string) *carry.Outbox {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.outbox[format]
	if o == nil {
		o = &carry.Outbox{Depot: carry.Depot{Remote: w.o.Depot, Format: format}, Ending: w.ending}
		w.outbox[format] = o
	}
	return o
}

func (w *Worker) attempt(ctx context.Context, c *checkout, t flow.Task) (*attempt.Delivery, error) {
	step := t.Action.ID
	if q := c.queue(step); q != "" && q != w.o.Queue {
		return nil, fmt.Errorf("step %s is for the workers of the task queue %q, and this one is of %q", step, q, w.o.Queue)
	}
	var caught attempt.Catcher
	secret := redact.New(redact.Options{Environ: slices.Concat(os.Environ(), c.plan.Environ()), Declared: c.plan.Secrets()})
	x := attempt.New(ctx, ctx, c.plan, attempt.Options{
		Run: t.Spec.Run, Session: t.Spec.Session, Nonce: t.Spec.Nonce, Jobs: max(t.Spec.Rules.Slots, 1),
		Store: &caught, LogDir: string(w.pool.logs()), Redact: secret, Environ: os.Environ(), Workspace: c.tracker,
		Signer: w.o.Signer.ID(), Dispatch: t.Dispatch, MCP: mcpclient.Helper, Guard: w.o.Guard, DeferGate: t.Spec.DeferGate,
	}, nil)
	defer x.Close()
	x.Begin(t.Spec.Started)
	if why := x.NoTree(); why != "" {
		return nil, errors.New(why)
	}
	if !x.Knows(step) {
		return nil, fmt.Errorf("the script has no step %q that is carried out", step)
	}
	if err := w.opened(c, t); err != nil {
		return nil, err
	}
	writes := c.writes(step)
	if writes && !t.Seat {
		return nil, fmt.Errorf("step %s changes files, and is to be carried out where they stay", step)
	}
	past := ""
	if writes {
		past = c.past(ctx)
	}
	r := x.Attempt(ctx, t.Action)
	x.Finish()
	if writes && c.past(ctx) != past {
		return nil, fmt.Errorf("step %s changed the history of the repository, which is lost with the run: run it without --engine", step)
	}
	rec := caught.Caught()
	if rec == nil {
		return nil, errors.New("no receipt was made of it")
	}
	g, err := w.o.Signer.Sign(t.Spec.Origin, rec.SHA())
	if err != nil {
		return nil, err
	}
	ctx, done := w.linger(ctx)
	defer done()
	changed, left, err := c.changed(ctx)
	if err != nil {
		return nil, err
	}
	d := x.Deliver(r, t.Dispatch, *rec, g)
	d.Brief = remote.Fit(d.Brief)
	switch {
	case !writes:
		d.Changed = append(d.Changed, changed...)
	case r.Verdict == schedule.Passed && left.Bytes != c.snap.Bytes:
		files := carry.Depot{Remote: w.o.Depot, Format: t.Spec.Format}
		if d.Commit, err = files.SendTree(ctx, left, true, t.Spec.Ref(remote.FilesName(t.Action.Seq, t.Dispatch))); err != nil {
			return nil, fmt.Errorf("the files that it left cannot be sent: %w", err)
		}
	}
	if writes {
		c.snap = left
	}
	return d, nil
}

// errFenced is why a worker ends what it runs.
var errFenced = errors.New("the server has not answered for half of the lease")

// lease keeps the lease of an activity, also after its call has ended; the context ends with it.
func (w *Worker) lease(ctx context.Context, lease time.Duration) (context.Context, func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	token := activity.GetInfo(ctx).TaskToken
	every := min(500*time.Millisecond, lease/8)
	go func() {
		tick := time.NewTicker(max(every, 10*time.Millisecond))
		defer tick.Stop()
		heard := time.Now()
		for {
			select {
			case <-own.Done():
				return
			case <-tick.C:
			}
			within, done := context.WithTimeout(own, lease/4)
			err := w.o.Client.RecordActivityHeartbeat(within, token, nil)
			done()
			var gone *serviceerror.NotFound
			switch {
			case err == nil:
				heard = time.Now()
			case temporal.IsCanceledError(err), errors.As(err, &gone):
				cancel(err)
				return
			case time.Since(heard) > lease/2:
				cancel(errFenced)
				return
			}
		}
	}()
	return own, func() { cancel(nil) }
}
