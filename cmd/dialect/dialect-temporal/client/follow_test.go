package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/flow"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

var update = flag.Bool("update", false, "record the histories in testdata anew")

var server = sync.OnceValue(func() *temporaltest.TestServer {
	s := temporaltest.NewServer()
	s.GetDefaultClient() // which is made on first use, by one
	return s
})

// An actor is a worker whose attempts take no time and end as fate says.
type actor struct {
	shape schedule.Shape
	fate  func(t flow.Task) (schedule.Brief, error)
}

func (a *actor) resolve(context.Context, remote.Spec, time.Duration) (remote.Resolved, error) {
	packed, err := remote.Pack(a.shape)
	return remote.Resolved{Shape: packed, Worker: "actor"}, err
}

func (a *actor) attempt(_ context.Context, t flow.Task) (remote.Attempted, error) {
	b, err := a.fate(t)
	return remote.Attempted{Brief: b, Ref: t.Spec.Ref(remote.DeliveryName(t.Action.Seq, t.Dispatch)), Body: receipts.Hash{1}}, err
}

var queues atomic.Int64

// follow carries a shape out on the server, and keeps a relay by what the follower says, as dialect does. It returns the
// verdicts of the steps, and the histories.
func follow(t *testing.T, a *actor, rules schedule.Rules, most int, cutAt int) (map[string]schedule.Brief, []*historypb.History) {
	t.Helper()
	c := server().GetDefaultClient()
	queue := fmt.Sprintf("actors-%d", queues.Add(1))
	w := sdk.New(c, queue, sdk.Options{WorkflowPanicPolicy: sdk.FailWorkflow})
	w.RegisterWorkflowWithOptions(flow.Run, workflow.RegisterOptions{Name: flow.Name})
	w.RegisterWorkflowWithOptions(flow.Hold, workflow.RegisterOptions{Name: flow.Lock})
	w.RegisterActivityWithOptions(a.resolve, activity.RegisterOptions{Name: flow.Resolve})
	w.RegisterActivityWithOptions(a.attempt, activity.RegisterOptions{Name: flow.Attempt})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
	defer done()
	run := fmt.Sprintf("r-%016x", rand.Uint64())
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := remote.Spec{Version: remote.Version, Run: run, Origin: "dialect/0", Key: public, Started: time.Unix(0, 0).UTC(), Rules: rules}
	s := &session{c: c, id: flow.WorkflowID(run), of: &spec, complain: os.Stderr}
	if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.id, TaskQueue: queue}, flow.Name, flow.Input{Spec: spec, Most: most}); err != nil {
		t.Fatal(err)
	}
	relay := schedule.NewRelay(a.shape, rules)
	ends := make(map[string]schedule.Brief)
	taken := 0
	begin := func(actions []schedule.Action) error {
		for _, act := range actions {
			switch {
			case act.Op == schedule.Finish:
				if _, twice := ends[act.ID]; twice {
					return fmt.Errorf("step %s ends twice", act.ID)
				}
				ends[act.ID] = act.Brief
			case act.Seq == 0 || relay.Remote(act) || act.Op == schedule.Kill || act.Op == schedule.Release:
			default: // what dialect answers
				answer := spec.Sign(schedule.Event{Seq: act.Seq, Op: act.Op, ID: act.ID, Brief: schedule.Brief{Verdict: schedule.Passed}}, key)
				other, forged := answer, answer
				other.ID, forged.Brief.Verdict, forged.Sig = act.ID+"0", schedule.Failed, nil
				other = spec.Sign(other.Event, key) // of another step
				for _, a := range []remote.Answer{forged, other, answer} {
					if err := s.signal(ctx, flow.Answer, a); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	var histories []*historypb.History
	hist, err := s.firstRun(ctx)
	if err != nil {
		t.Fatal(err)
	}
	resolved := false
	for next := hist; next != ""; {
		h := new(historypb.History)
		f := newFollower(&spec, func(r remote.Reply) error {
			switch {
			case !r.Shape.IsZero():
				if r.Shape != remote.ShapeSum(a.shape) {
					return errors.New("another shape")
				}
				return begin(relay.Begin())
			}
			for _, arrived := range r.Arrived {
				actions, ok := relay.Take(arrived.Arrival)
				if ok {
					taken++
				}
				if err := begin(actions); err != nil {
					return err
				}
				if cutAt > 0 && taken == cutAt {
					cutAt = 0
					if err := s.signal(ctx, flow.Cut, remote.Cut{Why: schedule.Brief{Reason: receipts.StopInterrupted, Text: "enough"}}); err != nil {
						return err
					}
				}
			}
			return nil
		}, resolved)
		if err := s.events(ctx, next, func(e *historypb.HistoryEvent) (bool, error) {
			h.Events = append(h.Events, e)
			return f.take(e)
		}); err != nil {
			t.Fatal(err)
		}
		histories = append(histories, h)
		next, resolved = f.next, true
	}
	if !relay.Over() {
		t.Fatalf("the history has ended, and the relay waits for %+v", relay.Pending())
	}
	return ends, histories
}

// replay runs the workflow over histories.
func replay(t *testing.T, histories ...*historypb.History) {
	t.Helper()
	r := sdk.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(flow.Run, workflow.RegisterOptions{Name: flow.Name})
	for i, h := range histories {
		if err := r.ReplayWorkflowHistory(nil, h); err != nil {
			t.Errorf("history %d: %v", i, err)
		}
	}
}

func leaves(n int, prefix string) (nodes []schedule.Node) {
	for i := range n {
		nodes = append(nodes, schedule.Node{ID: fmt.Sprintf("%s%d", prefix, i+1)})
	}
	return nodes
}

func pass(flow.Task) (schedule.Brief, error) { return schedule.Brief{Verdict: schedule.Passed}, nil }

// Anyone who reads the history comes to what the workflow came to, whatever becomes of the attempts.
func TestSame(t *testing.T) {
	t.Parallel()
	shape := schedule.Shape{Nodes: []schedule.Node{
		{ID: "1"}, {ID: "2", Retries: 2},
		{ID: "3", Group: true, Parallel: true, Members: append(leaves(40, "3."), schedule.Node{ID: "3.41", Always: true})},
		{ID: "4", Gate: true}, {ID: "5", Here: true}, {ID: "6", Lock: "db"}, {ID: "7", OnFailure: true},
		{ID: "8", Group: true, Members: leaves(5, "8.")},
		{ID: "9", Gate: true},
	}}
	for i, rules := range []schedule.Rules{{Slots: 8}, {Slots: 40, FailFast: true}, {Slots: 3, KeepGoing: true}, {Slots: 64}} {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		var mu sync.Mutex
		a := &actor{shape: shape, fate: func(task flow.Task) (schedule.Brief, error) {
			mu.Lock()
			n := r.IntN(100)
			mu.Unlock()
			time.Sleep(time.Duration(n%7) * time.Millisecond)
			switch {
			case n < 5:
				return schedule.Brief{Verdict: schedule.Failed, Reason: receipts.StopExitCode}, nil
			case n < 8:
				return schedule.Brief{}, temporal.NewNonRetryableApplicationError("it does not bind here", flow.Refused, nil)
			}
			return pass(task)
		}}
		cutAt := 0
		if i == 3 {
			cutAt = 12
		}
		ends, histories := follow(t, a, rules, 0, cutAt)
		if want := 9 + 41 + 5; len(ends) != want {
			t.Errorf("%+v: %d of %d steps have ended", rules, len(ends), want)
		}
		replay(t, histories...)
	}
}

// A composite of 1,000 members ends, in a window.
func TestWide(t *testing.T) {
	t.Parallel()
	a := &actor{shape: schedule.Shape{Nodes: []schedule.Node{{ID: "1", Group: true, Parallel: true, Members: leaves(1000, "1.")}}}, fate: pass}
	ends, histories := follow(t, a, schedule.Rules{Slots: 1000}, 0, 0)
	if len(ends) != 1001 {
		t.Errorf("%d ends", len(ends))
	}
	open, most := 0, 0
	for _, e := range histories[0].Events {
		switch e.EventType {
		case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			open++
		case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			open--
		}
		most = max(most, open)
		if n := len(e.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()); n > 0 {
			if size := len(e.GetActivityTaskCompletedEventAttributes().Result.Payloads[0].Data); size > 1<<10 && e.EventId > 10 {
				t.Errorf("a result of %d bytes is in the history", size)
			}
		}
	}
	if most > flow.Window {
		t.Errorf("%d attempts were under way", most)
	}
	replay(t, histories...)
}

// A long script goes on in a new history, as often as it has to.
func TestLong(t *testing.T) {
	t.Parallel()
	a := &actor{shape: schedule.Shape{Nodes: leaves(120, "")}, fate: pass}
	ends, histories := follow(t, a, schedule.Rules{Slots: 4}, 150, 0)
	if len(ends) != 120 || len(histories) < 4 {
		t.Errorf("%d ends in %d histories", len(ends), len(histories))
	}
	replay(t, histories...)
}

// Of several runs with the same lock one has it at a time, also where a history is so full that it would go on in a new one.
func TestLocks(t *testing.T) {
	t.Parallel()
	line := func(id string) schedule.Node {
		return schedule.Node{ID: id, Group: true, Lock: "shared", Wait: time.Minute, Members: leaves(3, id+".")}
	}
	shape := schedule.Shape{Nodes: []schedule.Node{line("1"), {ID: "2"}, line("3")}}
	var inside atomic.Int64
	a := &actor{shape: shape, fate: func(task flow.Task) (schedule.Brief, error) {
		switch id := task.Action.ID; {
		case strings.HasSuffix(id, ".1") && inside.Add(1) > 1:
			t.Errorf("step %s of run %s: another run has the lock", id, task.Spec.Run)
		case strings.HasSuffix(id, ".3"):
			inside.Add(-1)
		}
		return pass(task)
	}}
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ends, histories := follow(t, a, schedule.Rules{Slots: 4}, 10, 0)
			for id, b := range ends {
				if b.Verdict != schedule.Passed {
					t.Errorf("step %s: %+v", id, b)
				}
			}
			if len(ends) != 9 {
				t.Errorf("%d steps have ended", len(ends))
			}
			replay(t, histories...)
		})
	}
}

// Histories that earlier builds have left replay: a run that is under way survives an update of its workers.
func TestRecorded(t *testing.T) {
	names, err := filepath.Glob("testdata/history-*.json")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		shape := schedule.Shape{Nodes: []schedule.Node{
			{ID: "1"}, {ID: "2", Group: true, Parallel: true, Members: leaves(5, "2.")}, {ID: "3", Gate: true}, {ID: "4", Retries: 1, Lock: "db", Wait: time.Minute}, {ID: "5", Lock: "db"}, {ID: "6", Gate: true},
		}}
		_, histories := follow(t, &actor{shape: shape, fate: func(task flow.Task) (schedule.Brief, error) {
			if task.Action.ID == "4" {
				return schedule.Brief{Verdict: schedule.Failed, Reason: receipts.StopExitCode}, nil
			}
			return pass(task)
		}}, schedule.Rules{Slots: 8}, 0, 0)
		text, err := protojson.MarshalOptions{Multiline: true}.Marshal(histories[0])
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("testdata/history-%d.json", len(names)+1)
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(name, text, 0o644)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatal("no history was recorded")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h := new(historypb.History)
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, h); err != nil {
			t.Fatal(err)
		}
		replay(t, h)
	}
}

// A server whose pages go stale, or that is gone for a moment, costs no event and tells none twice.
type unsteady struct {
	client.Client
	reads  [][]any // event ids, and errors
	served int
}

type page struct{ rest []any }

func (p *page) HasNext() bool { return len(p.rest) > 0 }

func (p *page) Next() (*historypb.HistoryEvent, error) {
	v := p.rest[0]
	p.rest = p.rest[1:]
	if err, ok := v.(error); ok {
		return nil, err
	}
	return &historypb.HistoryEvent{EventId: int64(v.(int))}, nil
}

func (u *unsteady) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	u.served++
	return &page{u.reads[min(u.served, len(u.reads))-1]}
}

func TestUnsteady(t *testing.T) {
	t.Parallel()
	stale, gone := serviceerror.NewInvalidArgument("branch tokens don't match"), serviceerror.NewUnavailable("restarting")
	for _, c := range []struct {
		name  string
		reads [][]any
		want  string
	}{
		{"stale page", [][]any{{1, 2, stale}, {1, 2, 3}}, "[1 2 3] <nil>"},
		{"gone for a moment", [][]any{{1, gone}, {gone}, {1, 2, gone}, {1, 2, 3}}, "[1 2 3] <nil>"},
		{"never right", [][]any{{stale}}, "[] branch tokens don't match"},
		{"after the last", [][]any{{1, 2, 3, stale}}, "[1 2 3] <nil>"},
	} {
		u := &unsteady{reads: c.reads}
		var got []int64
		err := (&session{c: u}).events(t.Context(), "", func(e *historypb.HistoryEvent) (bool, error) {
			got = append(got, e.EventId)
			return e.EventId == 3, nil
		})
		if said := fmt.Sprint(got, " ", err); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
}

// Why a run has ended at the server is the word of a worker, and has a bound.
func TestLongFailure(t *testing.T) {
	e := &historypb.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
		WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{Failure: &failurepb.Failure{Message: strings.Repeat("x", 1_500_000)}},
	}}
	over, err := new(follower).take(e)
	if !over || err == nil || len(err.Error()) > 600 {
		t.Errorf("over %v, %.500v", over, err)
	}
}

// A forgetful server starts a workflow and loses its answer, once.
type forgetful struct {
	client.Client
	lost bool
}

func (f *forgetful) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, w any, args ...any) (client.WorkflowRun, error) {
	run, err := f.Client.ExecuteWorkflow(ctx, o, w, args...)
	if err == nil && !f.lost {
		f.lost = true
		return nil, serviceerror.NewUnavailable("restarting")
	}
	return run, err
}

// gone is a server that does not answer the first call.
type gone struct {
	client.Client
	asked bool
}

func (g *gone) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, w any, args ...any) (client.WorkflowRun, error) {
	if !g.asked {
		g.asked = true
		return nil, serviceerror.NewUnavailable("restarting")
	}
	return g.Client.ExecuteWorkflow(ctx, o, w, args...)
}

// A run whose start was not answered is started once, and is not taken for that of somebody else, nor that for it.
func TestStartUnanswered(t *testing.T) {
	t.Parallel()
	spec := remote.Spec{Version: remote.Version, Run: fmt.Sprintf("r-%016x", rand.Uint64()), Key: []byte("one")}
	c := server().GetDefaultClient()
	s := &session{c: &forgetful{Client: c}, id: flow.WorkflowID(spec.Run), of: &spec}
	t.Cleanup(func() { _ = c.TerminateWorkflow(context.Background(), s.id, "", "") })
	if err := s.start(t.Context(), "nobody"); err != nil {
		t.Error(err)
	}
	if err := s.start(t.Context(), "nobody"); err == nil {
		t.Error("a run is started twice")
	}
	other := spec
	other.Key = []byte("two")
	s.c, s.of = &gone{Client: c}, &other
	if err := s.start(t.Context(), "nobody"); err == nil {
		t.Error("the run of somebody else is taken for one's own")
	}
}
