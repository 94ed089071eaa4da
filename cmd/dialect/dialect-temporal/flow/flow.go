// Package flow is the workflow of a run: [schedule.Relay] and nothing else. Each attempt is an activity; what the
// orchestrator answers, such as a gate, comes as a signal. What comes in is a [remote.Spec]; all that goes out is the history,
// which the orchestrator reads and keeps its own relay by.
//
// # Determinism
//
// A workflow is replayed from its history, by other builds too. It has no clock and no randomness; what arrives in one
// workflow task is put into the order of [schedule.Sort]. A change of the order in package schedule is a new
// version of [Name]: a worker keeps the old ones as long as there are runs of them.
//
// # Limits
//
// At most Window attempts are under way. A history that has grown is drained: nothing more is started, and once all
// that was has reported the state goes on in a new history.
package flow

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// The names that histories have.
const (
	Name    = "dialect.run/1"
	Resolve = "dialect.resolve/1"
	Attempt = "dialect.attempt/1"
	Claim   = "dialect.claim/1"
	Answer  = "answer" // a signal: [remote.Answer]
	Cut     = "cut"    // a signal: [remote.Cut]

	// Refused is the type of an error that says that a worker does not carry something out.
	Refused = "dialect.refused"
)

// Window is how many attempts are under way at the same time, at most.
const Window = 256

// Lease is how long a worker that is not heard is waited for.
const Lease = 5 * time.Second

// WorkflowID is the id of the workflow of a run.
func WorkflowID(run string) string { return "dialect-" + run }

// An Input is what a history begins with.
type Input struct {
	Spec  remote.Spec     `json:"spec"`
	State []byte          `json:"state,omitempty"` // of the history before, compressed
	Seat  string          `json:"seat,omitempty"`  // see [Claimed]
	Gates []remote.Answer `json:"gates,omitempty"` // of the histories before
	Most  int             `json:"most,omitempty"`  // events, before the history is drained; 0 for a default
	Lease time.Duration   `json:"lease,omitempty"` // 0 for [Lease]
}

const mostEvents = 6000

// mostState bounds a state and a shape, in bytes, once they are unpacked.
const mostState = 16 << 20

// A Task is what an activity is asked for.
type Task struct {
	Spec     remote.Spec     `json:"spec"`
	Action   schedule.Action `json:"action"`
	Dispatch int             `json:"dispatch"`
	Seat     bool            `json:"seat,omitempty"` // in the checkout that the worker keeps for the run
	Lease    time.Duration   `json:"lease"`
	Gate     *remote.Answer  `json:"gate,omitempty"` // of [schedule.Relay.GateBefore]
}

// Claimed is the queue of the one worker that keeps a checkout for what changes files, and for all that comes after that.
type Claimed struct {
	Queue string `json:"queue"`
}

// ActivityID names a dispatch of an attempt.
func ActivityID(seq, dispatch int) string { return fmt.Sprintf("%d-%d", seq, dispatch) }

// ClaimID names the claim that an attempt waits for.
func ClaimID(seq, dispatch int) string { return Claims + ActivityID(seq, dispatch) }

// Claims is how a [ClaimID] begins.
const Claims = "claim-"

// ParseID reads what [ActivityID] made.
func ParseID(id string) (seq, dispatch int, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	seq, err := strconv.Atoi(a)
	dispatch, err2 := strconv.Atoi(b)
	return seq, dispatch, err == nil && err2 == nil && seq > 0 && dispatch > 0
}

// Reported is the arrival of an attempt that was made.
func Reported(seq, dispatch int, a remote.Attempted) schedule.Arrival {
	return schedule.Arrival{Event: schedule.Event{Seq: seq, Brief: a.Brief}, Dispatch: dispatch}
}

// Lost is the arrival of an attempt whose worker is not heard any more.
func Lost(seq, dispatch int) schedule.Arrival {
	return schedule.Arrival{Event: schedule.Event{Seq: seq}, Dispatch: dispatch, Lost: "it was not heard within its lease"}
}

// Failed is the arrival of an attempt that a worker could not make, and says why.
func Failed(seq, dispatch int, why string) schedule.Arrival {
	b := schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopStartFailed, Text: why}
	return schedule.Arrival{Event: schedule.Event{Seq: seq, Last: true, Brief: remote.Fit(b)}, Dispatch: dispatch}
}

// Canceled is the arrival of an attempt that was not made because the run was cut short.
func Canceled(seq, dispatch int) schedule.Arrival {
	b := schedule.Brief{Verdict: schedule.Cancelled, Reason: receipts.StopInterrupted, Text: "it was not started: the run was cut short"}
	return schedule.Arrival{Event: schedule.Event{Seq: seq, Last: true, Brief: b}, Dispatch: dispatch}
}

// CutShort is the arrival of the end of a run. Anybody who can send signals may have said why.
func CutShort(c remote.Cut) schedule.Arrival {
	if !remote.Fits(c.Why) {
		c.Why = schedule.Brief{Reason: receipts.StopInterrupted, Text: "the run was cut short"}
	}
	return schedule.Arrival{Event: schedule.Event{Brief: c.Why}, Cut: true}
}

// FromServer is the cut of a workflow that was cancelled at the server.
var FromServer = remote.Cut{Why: schedule.Brief{Reason: receipts.StopInterrupted, Text: "the run was cancelled at the Temporal server"}}

// A run is one history.
type run struct {
	in      Input
	relay   *schedule.Relay
	arrived []schedule.Arrival
	sel     workflow.Selector
	queue   []schedule.Action // attempts that wait for the window
	flying  map[int]flight    // by Seq
	kill    bool
	claims  bool // a claim is under way
	killed  bool // what does not come in any case was ended

	locks map[string]*hold           // by the step
	due   []*hold                    // with which the run goes on
	given map[string]workflow.Future // by the lock: how the workflow ends of one that was given back
}

type flight struct {
	cancel workflow.CancelFunc
	always bool
}

// Run is the workflow.
func Run(ctx workflow.Context, in Input) error {
	if err := in.Spec.Check(); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), Refused, nil)
	}
	if in.Most == 0 {
		in.Most = mostEvents
	}
	if in.Lease == 0 {
		in.Lease = Lease
	}
	r := &run{in: in, flying: make(map[int]flight), locks: make(map[string]*hold), given: make(map[string]workflow.Future), sel: workflow.NewSelector(ctx)}
	// A cancelled context ends activities at once; here a cut does, in its order.
	r.listen(ctx)
	own, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if err := r.start(own); err != nil {
		return err
	}
	for !r.relay.Over() {
		r.sel.Select(own)
		for r.sel.HasPending() {
			r.sel.Select(own)
		}
		batch := r.arrived
		r.arrived = nil
		schedule.Sort(batch)
		for _, a := range batch {
			actions, _ := r.relay.Take(a)
			r.begin(actions)
		}
		if r.killed || r.kill {
			for _, a := range r.relay.Pending() {
				if h := r.locks[a.ID]; h != nil && h.free == nil {
					r.hurry(own, h)
				}
			}
		}
		r.launch(own)
		if r.full(own) && len(r.flying) == 0 && !r.claims && !r.relay.Over() {
			return r.goOn(own)
		}
	}
	return nil
}

// listen takes in what comes from outside.
func (r *run) listen(ctx workflow.Context) {
	r.sel.AddReceive(workflow.GetSignalChannel(ctx, Answer), func(c workflow.ReceiveChannel, _ bool) {
		var a remote.Answer
		if !c.ReceiveAsync(&a) || !r.in.Spec.Signed(a) {
			return // it is not one of ours
		}
		if r.in.Spec.Allows(a.Event) {
			r.allow(ctx, a.Event)
			return
		}
		if a.Op == schedule.Gate {
			r.in.Gates = slices.DeleteFunc(r.in.Gates, func(old remote.Answer) bool { return old.ID == a.ID })
			r.in.Gates = append(r.in.Gates, a)
		}
		r.arrived = append(r.arrived, schedule.Arrival{Event: a.Event})
	})
	r.sel.AddReceive(workflow.GetSignalChannel(ctx, Cut), func(c workflow.ReceiveChannel, _ bool) {
		var cut remote.Cut
		if !c.ReceiveAsync(&cut) {
			return
		}
		r.kill = r.kill || cut.Kill
		r.arrived = append(r.arrived, CutShort(cut))
	})
	// What the server cancels comes after all else of its workflow task.
	cancelled := workflow.NewBufferedChannel(ctx, 1)
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		cancelled.SendAsync(true)
	})
	r.sel.AddReceive(cancelled, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		r.arrived = append(r.arrived, CutShort(FromServer))
	})
}

// start resolves the script, or goes on with the state of the history before.
func (r *run) start(ctx workflow.Context) error {
	if r.in.State != nil {
		var text []byte
		err := remote.UnpackWithin(mostState, r.in.State, &text)
		if err == nil {
			r.relay, err = schedule.LoadRelay(text)
		}
		if err != nil {
			return err
		}
		r.begin(r.relay.Pending())
		r.launch(ctx)
		return nil
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: r.in.Lease,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 5, NonRetryableErrorTypes: []string{Refused}},
	})
	var res remote.Resolved
	if err := workflow.ExecuteActivity(ctx, Resolve, r.in.Spec, r.in.Lease).Get(ctx, &res); err != nil {
		return err
	}
	var shape schedule.Shape
	if err := remote.UnpackWithin(mostState, res.Shape, &shape); err != nil {
		return err
	}
	if err := shape.Check(); err != nil {
		return err
	}
	r.relay = schedule.NewRelay(shape, r.in.Spec.Rules)
	r.begin(r.relay.Begin())
	r.launch(ctx)
	return nil
}

// begin takes up actions. Those that the orchestrator carries out wait for its answer.
func (r *run) begin(actions []schedule.Action) {
	for _, a := range actions {
		switch {
		case r.relay.Remote(a):
			r.queue = append(r.queue, a)
		case a.Op == schedule.Release:
			r.release(a)
		case a.Op == schedule.Kill:
			r.killed = true
			for _, o := range r.relay.Pending() {
				if f, ok := r.flying[o.Seq]; ok && (!f.always || r.kill) {
					f.cancel()
				}
			}
		}
	}
	if r.kill {
		for _, o := range r.relay.Pending() {
			if f, ok := r.flying[o.Seq]; ok {
				f.cancel()
			}
		}
	}
}

// full reports whether the history has grown so far that nothing more is started in it.
func (r *run) full(ctx workflow.Context) bool {
	if len(r.locks) > 0 {
		return false // they would be free as soon as the next history begins
	}
	info := workflow.GetInfo(ctx)
	return info.GetCurrentHistoryLength() > r.in.Most || info.GetCurrentHistorySize() > 8<<20
}

// launch starts what waits, as far as the window goes.
func (r *run) launch(ctx workflow.Context) {
	due := r.due
	r.due = nil
	for _, h := range due {
		r.try(ctx, h)
	}
	for len(r.queue) > 0 && len(r.flying) < Window && !r.full(ctx) {
		a := r.queue[0]
		stays := r.relay.Stays(a.ID)
		if stays && r.in.Seat == "" {
			r.claim(ctx, a)
			return
		}
		r.queue = r.queue[1:]
		seq, dispatch := a.Seq, r.relay.Dispatch(a.Seq)
		own, cancel := workflow.WithCancel(ctx)
		o := workflow.ActivityOptions{
			ActivityID: ActivityID(seq, dispatch), StartToCloseTimeout: 7 * 24 * time.Hour, HeartbeatTimeout: r.in.Lease,
			WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}
		o.TaskQueue = r.relay.Queue(a.ID) // empty for that of the workflow
		if stays {                        // nobody else asks for the work of its worker
			o.TaskQueue, o.ScheduleToStartTimeout = r.in.Seat, 2*r.in.Lease
		}
		own = workflow.WithActivityOptions(own, o)
		r.flying[seq] = flight{cancel, a.Always != ""}
		task := Task{Spec: r.in.Spec, Action: a, Dispatch: dispatch, Lease: r.in.Lease, Seat: stays, Gate: r.gate(a.ID)}
		r.sel.AddFuture(workflow.ExecuteActivity(own, Attempt, task), func(f workflow.Future) {
			delete(r.flying, seq)
			var res remote.Attempted
			err := f.Get(ctx, &res)
			r.arrived = append(r.arrived, arrival(seq, dispatch, res, err))
		})
		if r.kill {
			cancel()
		}
	}
}

// gate is the answer that opened the way to a leaf; nil if none had to.
func (r *run) gate(id string) *remote.Answer {
	if len(r.in.Gates) == 0 {
		return nil
	}
	before := r.relay.GateBefore(id)
	for i := range r.in.Gates {
		if a := r.in.Gates[i]; a.ID == before {
			return &a
		}
	}
	return nil
}

// claim has one worker keep a checkout. Where none does, the attempt has failed that asked for it.
func (r *run) claim(ctx workflow.Context, a schedule.Action) {
	if r.claims {
		return
	}
	r.claims = true
	seq, dispatch := a.Seq, r.relay.Dispatch(a.Seq)
	own := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: ClaimID(seq, dispatch), TaskQueue: r.relay.Queue(a.ID), StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: r.in.Lease,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 5, NonRetryableErrorTypes: []string{Refused}},
	})
	r.sel.AddFuture(workflow.ExecuteActivity(own, Claim, r.in.Spec, r.in.Lease), func(f workflow.Future) {
		r.claims = false
		var c Claimed
		err := f.Get(ctx, &c)
		if err == nil && c.Queue != "" {
			r.in.Seat = c.Queue
			return
		}
		if err == nil {
			err = temporal.NewNonRetryableApplicationError("its worker named no queue", Refused, nil)
		}
		r.queue = r.queue[1:] // it waits, and so it is still the first
		r.arrived = append(r.arrived, arrival(seq, dispatch, remote.Attempted{}, err))
	})
}

// arrival is what became of an activity. Package client reads the same from the events of the history.
func arrival(seq, dispatch int, res remote.Attempted, err error) schedule.Arrival {
	var failed *temporal.ApplicationError
	switch {
	case err == nil:
		return Reported(seq, dispatch, res)
	case temporal.IsCanceledError(err):
		return Canceled(seq, dispatch)
	case errors.As(err, &failed):
		return Failed(seq, dispatch, failed.Message())
	}
	return Lost(seq, dispatch)
}

// goOn continues in a new history.
func (r *run) goOn(ctx workflow.Context) error {
	text, err := r.relay.Save()
	if err != nil {
		return err
	}
	in := r.in
	if in.State, err = remote.Pack(text); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, Name, in)
}
