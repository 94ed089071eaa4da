// Package engine carries out a plan: it has package schedule say what comes next, package attempt
// do it, and keeps the time. What comes in is a [plan.Plan]; what goes out is a stream of events and
// an [Outcome]. The package prints nothing, reads no script and no matrix, and decides no exit
// status but by the table of [Outcome.ExitStatus].
//
// The rules of the order are documented in package schedule; what a step is made of, and how it is
// recorded, in package attempt.
//
// # Time
//
// Each step has its budget, and the run as a whole another: when that is spent, what runs is killed
// and the rest is cancelled. Once the run is cut short, what runs in any case has ten seconds,
// whether it runs already or starts after that; [JobControl.Kill] ends it at once.
//
// # Locks
//
// A step can exclude others by the name of a lock, also those of other processes. A command that
// starts a run itself passes on its share of the jobs and the names of the locks that it holds, so
// that nested runs together keep the limit and do not wait for themselves.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// Options say how to run a plan.
type Options struct {
	attempt.Options

	FailFast  bool // stop at the first failure
	KeepGoing bool // lift the barrier

	// Budget goes before that of the plan, for the run as a whole, where it is not zero.
	Budget plan.Budget
	// Spent is how much of the timeout of the run went into what came before it, such as a look at which lines have to run.
	Spent time.Duration

	// LockDir is where the locks of steps that exclude others are; Locks are the names
	// of those that the starter of this run holds for it.
	LockDir string
	Locks   []string

	// JobControl acts on the processes of the run; nil for none.
	JobControl *JobControl

	// Began is when the run began, where that was before now: of one that is taken up again.
	Began time.Time

	// Remote has what runs a process made on other machines; nil makes it here.
	Remote Remote

	// between, if set, gets the state after each event, and returns the one to go on with.
	between func(*schedule.State) *schedule.State

	grace time.Duration        // in the place of finallyGrace; 0 for that
	inner time.Duration        // in the place of innerPatience; 0 for that
	clock func() time.Duration // in the place of the time since the start of the run, for its budget; nil for that
}

// A Signal is the cancellation cause of a run that a signal ended.
type Signal struct{ Name string } // "SIGINT", "SIGTERM", "SIGHUP"

func (s Signal) Error() string { return "interrupted by " + s.Name }

// finallyGrace bounds, together with its own budget, what runs in any case after the run
// was cut short.
const finallyGrace = 10 * time.Second

// A run is a driver of one plan. Its own goroutine, that of [Run], owns all but what mu guards.
type run struct {
	ctx    context.Context // cancelled once ending is, or by a failure under FailFast
	cancel context.CancelCauseFunc
	end    context.CancelCauseFunc // of ending
	ending context.Context         // cancelled by the caller, or once the budget of the run is spent
	killed context.Context         // cancelled by JobControl.Kill

	plan    *plan.Plan
	opt     Options
	state   *schedule.State
	relay   *schedule.Relay // instead of state, with Options.Remote
	held    map[int]answer  // that were given and have not come back from the history
	exec    *attempt.Executor
	meter   meter
	results []*Result // of the lines
	nodes   map[string]*node
	gate    *attempt.Decision // the one that ended the run
	actions errgroup.Group    // that are being carried out
	answers chan answer
	lasting map[string]lasting // contexts of steps that come in any case
	bad     int                // results that did not pass

	mu     sync.Mutex // of events
	listen func(Event)
}

// A node is a step with what a run keeps of it.
type node struct {
	*Result
	parent  *node
	reports []*attempt.Report
	release func() // gives its lock back
}

type lasting struct {
	ctx  context.Context
	done func()
}

// An answer is what became of an action.
type answer struct {
	schedule.Action
	err      error // of a lock or of the store
	report   *attempt.Report
	last     bool // what it runs under has ended: there is no further attempt
	decision *attempt.Decision
	waited   time.Duration
	release  func()
}

// Run carries p out and returns what became of it. It returns when every process
// that it started has ended. Cancelling parent ends the run; if the cause of the
// cancellation is a [Signal], the outcome names it.
func Run(parent context.Context, p *plan.Plan, o Options) *Outcome {
	o.Options, o.grace, o.inner = o.Filled(), cmp.Or(o.grace, finallyGrace), cmp.Or(o.inner, innerPatience)
	ending, end := context.WithCancelCause(parent)
	defer end(nil)
	ctx, cancel := context.WithCancelCause(ending)
	defer cancel(nil)
	killed, kill := context.WithCancel(context.Background())
	defer kill()
	r := &run{
		ctx: ctx, cancel: cancel, end: end, ending: ending, killed: killed, plan: p, opt: o,
		nodes: make(map[string]*node), answers: make(chan answer), lasting: make(map[string]lasting),
	}
	if o.Listen != nil {
		r.listen, r.opt.Listen = o.Listen, r.emit
	}
	shape := Shape(p)
	r.results = r.resultsOf(p.Steps, nil)
	rules := schedule.Rules{Slots: o.Jobs, FailFast: o.FailFast, KeepGoing: o.KeepGoing, Parallel: p.Parallel, Held: o.Locks}
	if o.Remote == nil {
		r.state = schedule.New(shape, rules)
	} else {
		r.relay, r.held = schedule.NewRelay(shape, rules), make(map[int]answer)
	}
	r.meter = meter{budget: over(p.Budget, o.Budget), spent: o.Spent, end: func(why schedule.Reason, text string) {
		end(attempt.Cut{Brief: schedule.Brief{Verdict: schedule.Fault, Reason: why, Text: text}})
	}}

	began := o.Began
	if began.IsZero() {
		began = o.Now()
	}
	out := &Outcome{
		Plan: p, Run: o.Run, Session: o.Session, Nonce: o.Nonce,
		Started: began, KeepGoing: o.KeepGoing, Clean: o.Room != nil, Results: r.results,
	}
	r.emit(RunStarted{Plan: p, Run: out.Run, Session: out.Session, At: out.Started})
	r.exec = attempt.New(ending, killed, p, r.opt.Options, &r.meter)
	o.JobControl.attach(r.exec, kill)
	defer func() {
		r.exec.Close()
		o.JobControl.attach(nil, nil)
	}()
	r.meter.slept, r.meter.since = r.exec.Slept, o.clock
	r.meter.start()
	defer r.meter.stop()
	r.exec.Begin(out.Started)
	if o.Remote == nil {
		r.drive()
	} else {
		r.follow(rules)
	}
	_ = r.actions.Wait() // all have answered
	r.exec.Finish()
	r.kept()
	out.Gate, out.Degraded, out.Removed, out.NoTree = r.gate, r.exec.Degraded(), r.exec.Removed(), r.exec.NoTree()
	switch cause := context.Cause(ending).(type) {
	case Signal:
		out.Signal = cause.Name
	case attempt.Cut:
		out.Limit = cause.Text
	}
	var passes []*attempt.Report
	Leaves(r.results, func(res *Result) {
		if res.Verdict == schedule.Passed {
			passes = append(passes, &res.Report)
		}
	})
	before := r.exec.Baselines(passes)
	Leaves(r.results, func(res *Result) { res.Baseline = before[&res.Report] })
	out.Duration = o.Now().Sub(out.Started)
	r.emit(RunFinished{Outcome: out})
	return out
}

// Shape is what the order of the steps of a plan depends on.
func Shape(p *plan.Plan) schedule.Shape {
	return schedule.Shape{Nodes: shape(p.Steps, attempt.Overlap(p.Steps))}
}

func shape(steps []*plan.Step, apart map[*plan.Step]string) (nodes []schedule.Node) {
	for _, s := range steps {
		v := shapeOf(s)
		v.Apart = apart[s]
		v.Members = shape(s.Members, apart)
		nodes = append(nodes, v)
	}
	return nodes
}

// resultsOf makes the results that steps will have.
func (r *run) resultsOf(steps []*plan.Step, parent *node) (results []*Result) {
	for _, s := range steps {
		n := &node{Result: &Result{Report: attempt.Report{Step: s}}, parent: parent}
		r.nodes[s.ID] = n
		n.Members = r.resultsOf(s.Members, n)
		results = append(results, n.Result)
	}
	return results
}

// shapeOf is what the order depends on of a step without its members.
func shapeOf(s *plan.Step) schedule.Node {
	v := schedule.Node{
		ID: s.ID, Group: s.Kind == plan.Composite, Parallel: s.Parallel, Always: s.Finally, OnFailure: s.WhenFailure,
		Writes: s.Effect == plan.Write, Gate: attempt.IsGate(s), Here: s.Kind == plan.Builtin, Lock: s.Exclusive, Retries: s.Budget.Retries,
	}
	if v.Lock != "" {
		v.Wait = patience(s)
	}
	if !v.Group && !v.Gate && !v.Here {
		v.Queue = s.Queue
	}
	if s.Kind == plan.Builtin {
		v.Retries = 0 // the same question has the same answer
	}
	return v
}

// Together returns, for the lines of p that run at the same time as others because they are adjacent and only read, the
// name of their group: "1-3". Members of a composite are not among them.
func Together(p *plan.Plan) map[string]string {
	return schedule.Together(Shape(p), schedule.Rules{Parallel: p.Parallel})
}

// drive carries out actions until every step has its verdict.
func (r *run) drive() {
	apply := func(e schedule.Event) {
		actions, err := r.state.Apply(e)
		if err != nil {
			panic(err) // an answer that no action waits for
		}
		if r.opt.between != nil {
			r.state = r.opt.between(r.state)
		}
		r.do(actions)
	}
	ending := r.ending.Done()
	cut := func() {
		if ending == nil || r.ending.Err() == nil {
			return
		}
		ending = nil
		apply(schedule.Event{Brief: r.why()})
	}
	cut()
	for r.do(r.state.Begin()); !r.state.Over(); {
		select {
		case <-ending:
			cut()
		case a := <-r.answers:
			e := r.take(a)
			cut() // before the answer: what was killed starts nothing
			apply(e)
		}
	}
}

// why says why the run is cut short.
func (r *run) why() schedule.Brief {
	if c, ok := context.Cause(r.ending).(attempt.Cut); ok {
		return c.Brief
	}
	return schedule.Brief{Reason: receipts.StopInterrupted, Text: "the run was interrupted"}
}

// do begins to carry out actions.
func (r *run) do(actions []schedule.Action) {
	for _, a := range actions {
		switch a.Op {
		case schedule.Finish:
			r.finish(r.nodes[a.ID], a.Brief)
		case schedule.Release:
			r.nodes[a.ID].release()
		case schedule.Kill:
			if a.Brief.Reason == receipts.StopFailFast {
				r.cancel(attempt.Cut{Brief: schedule.Brief{
					Verdict: schedule.Cancelled, Reason: a.Brief.Reason, By: a.Brief.By, Text: "cancelled because " + a.Brief.By + " did not pass",
				}})
			}
		default:
			r.begun(a)
			ctx := r.context(a)
			r.actions.Go(func() error {
				r.answers <- r.carryOut(ctx, a)
				return nil // a verdict is not an error
			})
		}
	}
}

// carryOut carries out an action that wants an answer.
func (r *run) carryOut(ctx context.Context, a schedule.Action) answer {
	v := answer{Action: a}
	switch a.Op {
	case schedule.Start:
		v.report = r.exec.Attempt(ctx, a)
		v.last = ctx.Err() != nil
	case schedule.Gate:
		v.decision = r.exec.Gate(ctx, a)
	case schedule.Snapshot:
		r.exec.Snapshot(a)
	case schedule.Sync:
		v.err = r.exec.Sync()
	case schedule.Acquire:
		v.release, v.waited, v.err = r.lock(ctx, a)
	}
	return v
}

// begun notes that a step, and the composites that it is a member of, have begun.
func (r *run) begun(a schedule.Action) {
	n := r.nodes[a.ID]
	if n == nil || a.Op == schedule.Acquire || a.Op == schedule.Start && a.Why != "" {
		return
	}
	if a.Op != schedule.Gate && n.Step.Kind != plan.Composite {
		n = n.parent // a report says when it started
	}
	for now := r.opt.Now(); n != nil; n = n.parent {
		if n.Started.IsZero() {
			n.Started = now
		}
	}
}

// take notes an answer, and returns it as the order of steps needs it.
func (r *run) take(a answer) schedule.Event {
	n := r.nodes[a.ID]
	switch a.Op {
	case schedule.Acquire:
		n.Waited, n.release = a.waited, a.release
		if ended := (*interruptedError)(nil); errors.As(a.err, &ended) {
			n.Holder = ended.holder
		}
	case schedule.Start:
		if n.reports = append(n.reports, a.report); len(n.reports) == 1 {
			n.Report = *a.report
			break
		}
		began := n.Started
		n.Report = *a.report
		n.Duration += n.Started.Sub(began)
		n.Started = began
	case schedule.Gate:
		if a.Final {
			r.gate = a.decision
		}
		if n != nil {
			n.Gate, n.Receipt, n.Duration = a.decision, a.decision.SHA, r.opt.Now().Sub(n.Started)
		}
	}
	return a.event()
}

// event is an answer as the order of steps needs it.
func (a answer) event() schedule.Event {
	e := schedule.Event{Seq: a.Seq, Op: a.Op, ID: a.ID}
	if a.err != nil {
		e.Why = a.err.Error()
	}
	switch a.Op {
	case schedule.Start:
		e.Brief, e.Last = a.report.Brief(), a.last
	case schedule.Gate:
		e.Brief = a.decision.Brief()
	}
	return e
}

// Of the output of a step that did not pass so much is kept in memory, in bytes: as the
// process kept it for the first wholeTails of them, and then less. Of the others nothing
// is: a run of any length has flat memory, and the logs have it all.
const (
	keptTail   = process.DefaultTailBytes
	shortTail  = 4 << 10
	wholeTails = 100
)

// finish gives a step its verdict, and tells the listener of it.
func (r *run) finish(n *node, b schedule.Brief) {
	if r.opt.Remote != nil {
		for _, rep := range n.reports { // the order of the run was made of what a worker said
			if rep.Verdict.Bad() && (rep.Reason == receipts.StopUntrusted || rep.Reason == receipts.StopUnrecordable) {
				b = rep.Brief()
			}
		}
	}
	n.Verdict, n.Reason, n.By, n.Detail = b.Verdict, b.Reason, b.By, b.Text
	if n.Step.Kind == plan.Composite && !n.Started.IsZero() {
		n.Duration = r.opt.Now().Sub(n.Started)
	}
	if l, ok := r.lasting[n.Step.ID]; ok {
		l.done()
		delete(r.lasting, n.Step.ID)
	}
	most := keptTail
	if n.Verdict.Bad() {
		if r.bad++; r.bad > wholeTails {
			most = shortTail
		}
	}
	r.emit(StepFinished{Result: n.Result})
	n.Trim(most)
}

// context returns the context of an action.
func (r *run) context(a schedule.Action) context.Context {
	if a.Always == "" || a.Op == schedule.Gate {
		return r.ctx
	}
	l, ok := r.lasting[a.Always]
	if !ok {
		l = r.last()
		r.lasting[a.Always] = l
	}
	return l.ctx
}

// last returns the context of a step that comes in any case. It is cancelled by
// JobControl.Kill, and once finallyGrace is over, which begins when the run is interrupted,
// or now if that came before. done must be called when the step has ended.
func (r *run) last() lasting {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	bound := context.AfterFunc(r.ending, func() {
		began := r.meter.clock()
		for {
			left := r.opt.grace - (r.meter.clock() - began)
			if left <= 0 {
				cancel(attempt.Cut{Brief: schedule.Brief{
					Verdict: schedule.Fault, Reason: receipts.StopTimeout,
					Text: fmt.Sprintf("the run was cut short, and a step with finally = true then has %v", r.opt.grace),
				}})
				return
			}
			select {
			case <-time.After(left): // or later, if the run was paused
			case <-ctx.Done():
				return
			}
		}
	})
	kill := context.AfterFunc(r.killed, func() { cancel(context.Cause(r.ending)) })
	return lasting{ctx, func() {
		bound()
		kill()
		cancel(nil)
	}}
}

// kept marks the results whose receipts are not durable, and no others, and names the receipts of
// earlier attempts that are.
func (r *run) kept() {
	Leaves(r.results, func(res *Result) {
		reports := r.nodes[res.Step.ID].reports
		if len(reports) == 0 {
			return // a gate is durable, or it did not pass
		}
		last := len(reports) - 1
		res.Degraded = r.exec.Lost(reports[last])
		for _, rep := range reports[:last] {
			if r.exec.Lost(rep) {
				break
			}
			res.Earlier = append(res.Earlier, rep.Receipt)
		}
	})
}

func (r *run) emit(e Event) {
	if r.listen == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(e)
}
