// Package client is the helper of one run: it starts the workflow, follows its history, and tells dialect over pipes what
// arrived, in the order in which the workflow took it in. It makes nothing of it: dialect keeps its own relay.
package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Dial connects to the server: what s leaves empty comes from TEMPORAL_ADDRESS and its like, or the profile of the
// temporal program.
func Dial(ctx context.Context, s remote.Server) (client.Client, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	if s.Address != "" {
		o.HostPort = s.Address
	}
	if s.Namespace != "" {
		o.Namespace = s.Namespace
	}
	o.Logger = quiet{}
	within, done := context.WithTimeout(ctx, dialPatience)
	defer done()
	for {
		c, err := client.DialContext(within, o)
		if err == nil {
			return c, nil
		}
		if passing(err) { // it may be about to start
			select {
			case <-within.Done():
			case <-time.After(pause):
				continue
			}
		}
		return nil, fmt.Errorf("no Temporal server answers at %s: %w", o.HostPort, err)
	}
}

// dialPatience is how long a server is waited for that has not answered yet: less than for one that has, since its address may be wrong.
const dialPatience = 10 * time.Second

// Quiet drops what the SDK logs: what a user has to know the replies say.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// A session is the helper of one run.
type session struct {
	c   client.Client
	id  string
	of  *remote.Spec // the run
	out struct {
		sync.Mutex
		w io.Writer
	}
	complain io.Writer
}

// Serve reads requests until their end, and carries them out.
func Serve(ctx context.Context, in io.Reader, out, complain io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := bufio.NewReaderSize(in, 1<<16)
	s := &session{complain: complain}
	s.out.w = out
	var first remote.Request
	if err := (mcpclient.Lines{}).ReadObject(r, &first); err != nil {
		return err
	}
	if first.Server == nil {
		return s.say(remote.Reply{Error: "the first request names no server"})
	}
	// The end of the requests is the end of dialect.
	requests := make(chan remote.Request)
	go func() {
		defer cancel()
		for {
			var q remote.Request
			if (mcpclient.Lines{}).ReadObject(r, &q) != nil {
				return
			}
			select {
			case requests <- q:
			case <-ctx.Done():
				return
			}
		}
	}()
	c, err := Dial(ctx, *first.Server)
	if err != nil {
		return s.say(remote.Reply{Error: err.Error()})
	}
	defer c.Close()
	s.c = c
	if err := s.serve(ctx, first, requests); err != nil && ctx.Err() == nil {
		var end ended
		return s.say(remote.Reply{Error: err.Error(), Over: errors.As(err, &end)})
	}
	return nil
}

func (s *session) say(r remote.Reply) error {
	s.out.Lock()
	defer s.out.Unlock()
	return mcpclient.Lines{}.WriteObject(s.out.w, r)
}

func (s *session) serve(ctx context.Context, q remote.Request, requests <-chan remote.Request) error {
	switch {
	case q.List:
		return s.list(ctx, 1000, 10)
	case q.Start != nil:
		s.id, s.of = flow.WorkflowID(q.Start.Run), q.Start
		if err := s.start(ctx, q.Server.Queue); err != nil {
			return fmt.Errorf("the run was not started: %w", err)
		}
		if err := s.say(remote.Reply{Started: q.Start}); err != nil {
			return err
		}
		for _, queue := range append([]string{q.Server.Queue}, q.Queues...) {
			go s.watchQueue(ctx, queue)
		}
	case q.Attach != "":
		s.id = flow.WorkflowID(q.Attach)
		spec, err := s.spec(ctx)
		if err != nil {
			return err
		}
		s.of = spec
		if q.Cut != nil {
			if err := s.signal(ctx, flow.Cut, *q.Cut); err != nil {
				return err
			}
			return s.say(remote.Reply{Started: spec})
		}
		if err := s.say(remote.Reply{Started: spec}); err != nil {
			return err
		}
	default:
		return errors.New("the first request asks for nothing")
	}
	failed := make(chan error, 1)
	go func() {
		for q := range requests {
			var err error
			switch {
			case q.Answer != nil:
				err = s.signal(ctx, flow.Answer, *q.Answer)
			case q.Cut != nil:
				err = s.signal(ctx, flow.Cut, *q.Cut)
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	done := make(chan error, 1)
	go func() { done <- s.follow(ctx) }()
	select {
	case err := <-failed:
		return err
	case err := <-done:
		return err
	}
}

// start starts the run, once: a server that was gone for a moment may have started it without an answer.
func (s *session) start(ctx context.Context, queue string) error {
	again := false
	return retry(ctx, func() error {
		_, err := s.c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: s.id, TaskQueue: queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, flow.Name, flow.Input{Spec: *s.of})
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if again && errors.As(err, &started) {
			spec, failed := s.spec(ctx)
			if failed != nil {
				return failed
			}
			if bytes.Equal(spec.Key, s.of.Key) {
				return nil
			}
		}
		again = true
		return err
	})
}

// The patience with a server that does not answer.
const (
	patience = 2 * time.Minute
	pause    = 250 * time.Millisecond
)

// passing: the server may answer the same question a moment later.
func passing(err error) bool {
	var gone *serviceerror.Unavailable
	return errors.As(err, &gone) || errors.Is(err, context.DeadlineExceeded)
}

// retry calls f until the server answers it, or patience ends.
func retry(ctx context.Context, f func() error) error {
	began := time.Now()
	for {
		err := f()
		if err == nil || ctx.Err() != nil || time.Since(began) > patience || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// events hands the events of a history to take, in order and each once, until take says that it was the last. The patience
// with a server that is gone begins anew whenever it has answered.
func (s *session) events(ctx context.Context, run string, take func(*historypb.HistoryEvent) (over bool, err error)) error {
	last := int64(0)
	for {
		answered := false
		err := retry(ctx, func() error {
			it := s.c.GetWorkflowHistory(ctx, s.id, run, true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for page := false; it.HasNext(); page = true {
				e, err := it.Next()
				if err != nil {
					// The token of a page goes stale where events are written meanwhile: CurrentBranchChanged, which is an
					// InvalidArgument on the wire. A first page has no token.
					if invalid := new(serviceerror.InvalidArgument); page && errors.As(err, &invalid) {
						return serviceerror.NewUnavailable(invalid.Error())
					}
					return err
				}
				answered = true
				if e.EventId <= last {
					continue
				}
				last = e.EventId
				if over, err := take(e); err != nil || over {
					return err
				}
			}
			return nil
		})
		if !answered || ctx.Err() != nil || !passing(err) {
			return err
		}
	}
}

func (s *session) signal(ctx context.Context, name string, v any) error {
	err := retry(ctx, func() error { return s.c.SignalWorkflow(ctx, s.id, "", name, v) })
	var over *serviceerror.NotFound
	if errors.As(err, &over) {
		return nil // the history says how it ended
	}
	return err
}

// watchQueue says once that no worker asks for work.
func (s *session) watchQueue(ctx context.Context, queue string) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(2 * time.Second):
	}
	d, err := s.c.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err == nil && len(d.Pollers) == 0 {
		fmt.Fprintf(s.complain, "dialect: no worker asks for the work of the task queue %q: start `dialect-temporal worker --task-queue %s`\n", queue, queue)
	}
}

// spec reads what a run was started with.
func (s *session) spec(ctx context.Context) (*remote.Spec, error) {
	first := ""
	for hop := 0; ; hop++ {
		var e *historypb.HistoryEvent
		err := retry(ctx, func() (err error) {
			it := s.c.GetWorkflowHistory(ctx, s.id, first, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			if !it.HasNext() {
				return errors.New("the run has no history")
			}
			e, err = it.Next()
			return err
		})
		if unknown := new(serviceerror.NotFound); errors.As(err, &unknown) {
			return nil, fmt.Errorf("the run is not known to the server: %w", err)
		}
		if err != nil {
			return nil, err
		}
		a := e.GetWorkflowExecutionStartedEventAttributes()
		if a == nil || a.WorkflowType.GetName() != flow.Name {
			return nil, errors.New("it is not the workflow of a run of this version")
		}
		if id := a.FirstExecutionRunId; first == "" && id != "" && a.ContinuedExecutionRunId != "" && hop == 0 {
			first = id
			continue
		}
		var in flow.Input
		if err := converter.GetDefaultDataConverter().FromPayloads(a.Input, &in); err != nil {
			return nil, err
		}
		return &in.Spec, nil
	}
}

// follow tells what the history says until it ends.
func (s *session) follow(ctx context.Context) error {
	run, err := s.firstRun(ctx)
	if err != nil {
		return err
	}
	resolved := false
	for {
		f := newFollower(s.of, s.say, resolved)
		f.complain = s.complain
		if err := s.events(ctx, run, f.take); err != nil {
			return err
		}
		if f.next == "" {
			return s.say(remote.Reply{Over: true})
		}
		run, resolved = f.next, true
	}
}

// firstRun is the id of the first history of the run.
func (s *session) firstRun(ctx context.Context) (id string, err error) {
	err = retry(ctx, func() error {
		d, err := s.c.DescribeWorkflowExecution(ctx, s.id, "")
		if err == nil {
			id = d.WorkflowExecutionInfo.GetFirstRunId()
			if id == "" {
				id = d.WorkflowExecutionInfo.Execution.RunId
			}
		}
		return err
	})
	return id, err
}

// An ended is the error of a history that has ended before its run was over.
type ended string

func (e ended) Error() string { return string(e) }

// A follower reads one history.
type follower struct {
	of         *remote.Spec
	say        func(remote.Reply) error
	resolved   bool
	activities map[int64]*historypb.ActivityTaskScheduledEventAttributes
	waiting    []waiting // that no workflow task has seen yet
	next       string    // the history that goes on
	newResult  *remote.Resolved

	allowed  map[int]schedule.Event // answers that allow a lock, by Seq
	tries    map[int64]flow.Try     // for locks
	told     map[int]bool           // that another run has the lock
	complain io.Writer
}

// toldWithin is how long it is worth telling that a lock is waited for: a history can be old.
const toldWithin = 10 * time.Second

func newFollower(of *remote.Spec, say func(remote.Reply) error, resolved bool) *follower {
	return &follower{
		of: of, say: say, resolved: resolved, activities: make(map[int64]*historypb.ActivityTaskScheduledEventAttributes),
		allowed: make(map[int]schedule.Event), tries: make(map[int64]flow.Try), told: make(map[int]bool), complain: io.Discard,
	}
}

type waiting struct {
	id      int64
	a       remote.Arrived
	late    bool // after all else of its workflow task
	resolve bool
}

// take takes in an event; over: it is the last one.
func (f *follower) take(e *historypb.HistoryEvent) (over bool, err error) {
	add := func(a schedule.Arrival, at *remote.Attempted) {
		f.waiting = append(f.waiting, waiting{id: e.EventId, a: remote.Arrived{Arrival: a, Attempted: at}})
	}
	switch e.EventType {
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		f.activities[e.EventId] = e.GetActivityTaskScheduledEventAttributes()
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		of := f.activities[a.ScheduledEventId]
		delete(f.activities, a.ScheduledEventId)
		if of.GetActivityType().GetName() == flow.Resolve {
			f.newResult = new(remote.Resolved)
			if err := decode(a.Result, f.newResult); err != nil {
				return false, err
			}
			f.waiting = append(f.waiting, waiting{id: e.EventId, resolve: true})
			return false, nil
		}
		if of.GetActivityType().GetName() == flow.Claim {
			var c flow.Claimed
			if err := decode(a.Result, &c); err == nil && c.Queue != "" {
				return false, nil
			}
			if seq, dispatch, ok := flow.ParseID(strings.TrimPrefix(of.GetActivityId(), flow.Claims)); ok {
				add(flow.Failed(seq, dispatch, "its worker named no queue"), nil)
			}
			return false, nil
		}
		seq, dispatch, ok := flow.ParseID(of.GetActivityId())
		if !ok {
			return false, errors.New("the history has an activity that no run has")
		}
		var res remote.Attempted
		if err := decode(a.Result, &res); err != nil {
			return false, err
		}
		add(flow.Reported(seq, dispatch, res), &res)
	case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		f.attempt(a.ScheduledEventId, add, func(seq, dispatch int) schedule.Arrival {
			if a.Failure.GetApplicationFailureInfo() == nil {
				return flow.Lost(seq, dispatch)
			}
			return flow.Failed(seq, dispatch, a.Failure.GetMessage())
		})
	case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		f.attempt(e.GetActivityTaskTimedOutEventAttributes().ScheduledEventId, add, flow.Lost)
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		f.attempt(e.GetActivityTaskCanceledEventAttributes().ScheduledEventId, add, flow.Canceled)
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		a := e.GetWorkflowExecutionSignaledEventAttributes()
		switch a.SignalName {
		case flow.Answer:
			// What cannot be read, or is not signed, is nobody's answer, to the workflow as well.
			var v remote.Answer
			switch {
			case decode(a.Input, &v) != nil || !f.of.Signed(v):
			case f.of.Allows(v.Event):
				f.allowed[v.Seq] = v.Event
			default:
				add(schedule.Arrival{Event: v.Event}, nil)
			}
		case flow.Cut:
			var v remote.Cut
			if decode(a.Input, &v) == nil {
				add(flow.CutShort(v), nil)
			}
		}
	case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		var try flow.Try
		if a.WorkflowType.GetName() == flow.Lock && decode(a.Input, &try) == nil {
			f.tries[e.EventId] = try
		}
	case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := e.GetStartChildWorkflowExecutionFailedEventAttributes()
		try := f.tries[a.InitiatedEventId]
		delete(f.tries, a.InitiatedEventId)
		if answer, ok := f.allowed[try.Seq]; ok && try.Last {
			add(flow.Denied(answer), nil)
		} else if ok && !f.told[try.Seq] && time.Since(e.EventTime.AsTime()) < toldWithin {
			f.told[try.Seq] = true
			fmt.Fprintf(f.complain, "dialect: another run holds the lock %s\n", strings.TrimPrefix(a.WorkflowId, flow.LockID("")))
		}
	case enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		a := e.GetChildWorkflowExecutionStartedEventAttributes()
		try := f.tries[a.InitiatedEventId]
		delete(f.tries, a.InitiatedEventId)
		if answer, ok := f.allowed[try.Seq]; ok {
			add(schedule.Arrival{Event: answer}, nil)
		}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		f.waiting = append(f.waiting, waiting{id: e.EventId, late: true, a: remote.Arrived{Arrival: flow.CutShort(flow.FromServer)}})
	case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		return false, f.flush(e.GetWorkflowTaskCompletedEventAttributes().StartedEventId)
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		f.next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().NewExecutionRunId
		return true, nil
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return true, nil
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		at := e.GetWorkflowExecutionFailedEventAttributes().GetFailure()
		for at.GetCause() != nil {
			at = at.GetCause()
		}
		return true, ended("no worker carries the run out: " + remote.Fit(schedule.Brief{Text: at.GetMessage()}).Text)
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		return true, ended("the run was terminated at the Temporal server")
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return true, ended("the run was ended at the Temporal server")
	}
	return false, nil
}

func (f *follower) attempt(scheduled int64, add func(schedule.Arrival, *remote.Attempted), made func(seq, dispatch int) schedule.Arrival) {
	of := f.activities[scheduled]
	delete(f.activities, scheduled)
	if seq, dispatch, ok := flow.ParseID(strings.TrimPrefix(of.GetActivityId(), flow.Claims)); ok {
		add(made(seq, dispatch), nil)
	}
}

// flush tells what a workflow task has seen: all before the event that it started with.
func (f *follower) flush(started int64) error {
	var now, late []remote.Arrived
	kept := f.waiting[:0:0]
	for _, w := range f.waiting {
		switch {
		case w.id < started && w.resolve:
			var shape schedule.Shape
			if err := remote.Unpack(f.newResult.Shape, &shape); err != nil {
				return err
			}
			f.resolved = true
			if err := f.say(remote.Reply{Shape: remote.ShapeSum(shape)}); err != nil {
				return err
			}
		default:
			kept = append(kept, w)
		}
	}
	f.waiting = kept
	if !f.resolved {
		return nil
	}
	kept = f.waiting[:0:0]
	for _, w := range f.waiting {
		switch {
		case w.id >= started:
			kept = append(kept, w)
		case w.late:
			late = append(late, w.a)
		default:
			now = append(now, w.a)
		}
	}
	f.waiting = kept
	for _, batch := range [][]remote.Arrived{sorted(now), late} {
		if len(batch) > 0 {
			if err := f.say(remote.Reply{Arrived: batch}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sorted puts arrivals into the order of [schedule.Sort].
func sorted(list []remote.Arrived) []remote.Arrived {
	plain := make([]schedule.Arrival, len(list))
	at := make(map[[2]int]*remote.Attempted)
	for i, a := range list {
		plain[i] = a.Arrival
		if a.Attempted != nil {
			at[[2]int{a.Seq, a.Dispatch}] = a.Attempted
		}
	}
	schedule.Sort(plain)
	for i, a := range plain {
		list[i] = remote.Arrived{Arrival: a}
		if a.Dispatch > 0 {
			list[i].Attempted = at[[2]int{a.Seq, a.Dispatch}]
		}
	}
	return list
}

func decode(p *commonpb.Payloads, v any) error {
	if err := converter.GetDefaultDataConverter().FromPayloads(p, v); err != nil {
		return fmt.Errorf("the history cannot be read: %w", err)
	}
	return nil
}

// list tells which runs the server knows, the newest first. It asks for so many at a time, and so often at most.
func (s *session) list(ctx context.Context, pageSize int32, mostPages int) error {
	r := remote.Reply{Runs: []remote.Listed{}}
	ask := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowType = %q", flow.Name), PageSize: pageSize}
	for pages := 1; ; pages++ {
		res, err := s.c.ListWorkflow(ctx, ask)
		if err != nil {
			return err
		}
		for _, e := range res.Executions {
			run, ours := strings.CutPrefix(e.Execution.WorkflowId, flow.WorkflowID(""))
			if !ours || !archive.IsRun(run) {
				continue // somebody else has started it
			}
			r.Runs = append(r.Runs, remote.Listed{Run: run, Status: strings.ToLower(e.Status.String()), Started: e.StartTime.AsTime(), Queue: e.TaskQueue})
		}
		if ask.NextPageToken = res.NextPageToken; len(ask.NextPageToken) == 0 {
			return s.say(r)
		}
		if pages == mostPages {
			r.More = true
			return s.say(r)
		}
	}
}
