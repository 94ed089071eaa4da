// Package runner carries out a plan: lines in order, the members of a parallel
// composite at the same time under one limit, each step bounded, and a receipt
// of each command handed to a store. What comes in is a [plan.Plan]; what goes
// out is a stream of events and an [Outcome]. The package prints nothing, reads
// no script and no matrix, and decides no exit status but by the table of
// [Outcome.ExitStatus].
//
// # Order
//
// Lines run one after the other. The members of a composite run in order, or, if
// the plan says so, at once. Only leaf steps take one of the slots that
// [Options.Jobs] limits; a composite holds none while it waits for its members,
// so that nested composites cannot starve each other.
//
// # The barrier
//
// A reading step runs whatever happened before it, so that one run reports every
// problem. A step that writes does not run once a step before it has not passed.
// [Options.FailFast] stops at the first failure; [Options.KeepGoing] lifts the
// barrier.
//
// # Clean-up
//
// A member with finally = true runs after the other members of its composite, whatever
// became of them and even if the run is cut short, if one of them was started at all; a
// line with it runs at its place in any case. Once the run is interrupted it has ten
// seconds, whether it runs already or starts after that; [Control.Kill] ends it at once.
//
// # Locks and limits
//
// A step can exclude others by the name of a lock, also those of other processes. The
// run as a whole has a budget of its own: when that is spent, what runs is killed and
// the rest is cancelled. A command that starts a run itself passes on its share of the
// jobs, so that nested runs together keep the limit.
//
// # The files
//
// With a workspace a run knows what its commands ran on. A snapshot is taken before
// the first command, before and after a step that writes, and at a gate; the members
// of a parallel composite share that before it. What was there and changed under
// steps that only read is held against them at the gate.
//
// # Recording
//
// The start of the run is durable in the store before the first command starts.
// Receipts are submitted as commands end, and made durable in groups while the
// next reading command is running; a step that writes, and a gate, wait until
// all receipts before them are durable. If the store fails, the run is degraded:
// reading steps go on, steps that write do not (KeepGoing apart), and a gate
// that needs a receipt refuses. A run that is cut short waits some seconds for a store
// that does not answer, and once it is killed half a second; then it is degraded.
package runner

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Options say how to run a plan.
type Options struct {
	Run     string // id of the run; must be unique in the store
	Session string // defaults to Run
	Nonce   string // of the orchestrator; empty makes no claim of freshness
	Version string // of dialect, for the run's record

	Jobs      int  // leaf steps at the same time; 0 means the number of CPUs
	FailFast  bool // stop at the first failure
	KeepGoing bool // lift the barrier
	DeferGate bool // leave the receipts for a gate elsewhere

	// Store records the run. If it is nil the run is degraded from the start,
	// and Degraded says why.
	Store    Store
	Degraded string

	// LogDir keeps the output of commands; empty keeps none.
	LogDir string

	// Redact takes secrets out of what is recorded and kept as text; nil takes out
	// nothing. What commands get is not touched.
	Redact *redact.Redactor

	// Environ is the environment that commands start from, and Color whether
	// they may think of a terminal.
	Environ []string
	Color   bool

	// Output asks for [StepOutput] events.
	Output bool

	// Workspace takes snapshots of the files; nil takes none, and nothing says then
	// what the commands ran on. Keep, if set, gets the one of a gate that passed.
	Workspace Workspace
	Keep      func(*workspace.Snapshot)

	// Policy says what the producer held the matrix against; see [receipts.Gate]. It
	// is called once, at the first gate. nil means "unpinned".
	Policy func() string

	// Signer is the id of the key that the store signs with; empty if it signs nothing.
	Signer string
	// AcceptFlaky says why passes after failures on the same tree are accepted, and
	// By who says so; empty accepts none.
	AcceptFlaky, By string

	// Root is the directory that receipts name others from; by default that of the
	// matrix.
	Root string

	// Parent is the step of another run that started this one: "RUN/STEP".
	Parent string

	// Self is the command that runs dialect, for tasks that are scripts, and StorePath where
	// Store keeps its file, for gates that agents hand back. Without them such tasks are not
	// configured, or refused.
	Self      []string
	StorePath string

	// MCP says how the helper is called that drives MCP servers; nil, or a nil command, for
	// none. It is asked when the first is needed.
	MCP func() []string

	// Reuse lets an earlier pass on the same tree stand for a step that allows it.
	Reuse bool

	// Level is the trust level of what the store signs: an earlier pass below it is
	// not reused, and a gate below it that an agent hands back is refused. Key is the
	// public key that the store signs with; empty for none.
	Level int
	Key   string

	// Budget goes before that of the plan, for the run as a whole, where it is not zero.
	Budget plan.Budget

	// LockDir is where the locks of steps that exclude others are; Locks are the names
	// of those that whoever started this run holds for it.
	LockDir string
	Locks   []string

	// Guard is a command that calls [process.Guard]; see [process.Options].
	Guard []string

	// Control acts on the processes of the run; nil for none.
	Control *Control

	// Listen receives the events; nil drops them. It must not wait for anything: while it
	// runs no budget and no signal acts on any step. Hold, if set, says what to wait for
	// before a step's output is read on; see [process.Command].
	Listen func(Event)
	Hold   func() <-chan struct{}

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Run carries p out and returns what became of it. It returns when every process
// that it started has ended. Cancelling parent ends the run; if the cause of the
// cancellation is a [Signal], the outcome names it.
func Run(parent context.Context, p *plan.Plan, o Options) *Outcome {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Session == "" {
		o.Session = o.Run
	}
	o.Run, o.Session, o.Nonce, o.Parent = receipts.Name(o.Run), receipts.Name(o.Session), receipts.Name(o.Nonce), receipts.Name(o.Parent)
	if o.Jobs <= 0 {
		o.Jobs = runtime.NumCPU()
	}
	ending, end := context.WithCancelCause(parent)
	defer end(nil)
	ctx, cancel := context.WithCancelCause(ending)
	defer cancel(nil)
	killed, kill := context.WithCancel(context.Background())
	defer kill()
	if o.Root == "" {
		o.Root = p.Matrix.Root
	}
	if o.Policy == nil {
		o.Policy = func() string { return receipts.PolicyUnpinned }
	}
	r := &run{trees: trees{source: o.Workspace, ctx: ending, rules: p.Matrix.Files}, ctx: ctx, cancel: cancel, ending: ending, end: end, killed: killed, kill: kill, plan: p, opt: o, ledger: newLedger(o.Store, o.Degraded, ending, killed), consumed: make(map[*Result]bool)}
	r.meter = meter{run: r, budget: over(p.Budget, o.Budget)}
	r.slots.SetLimit(o.Jobs)
	if o.Store != nil {
		r.opt.Store = patient{o.Store, r.ledger}
	}
	r.names = newNames(r)
	return r.run()
}

// A Signal is the cancellation cause of a run that a signal ended.
type Signal struct{ Name string } // "SIGINT", "SIGTERM", "SIGHUP"

func (s Signal) Error() string { return "interrupted by " + s.Name }

type run struct {
	ctx    context.Context // cancelled once ending is, or by a failure under FailFast
	cancel context.CancelCauseFunc
	ending context.Context // cancelled by the caller, or once the budget of the run is spent
	end    context.CancelCauseFunc
	killed context.Context // cancelled by Control.Kill
	kill   func()

	plan        *plan.Plan
	opt         Options
	exec        *executor
	ledger      *ledger
	names       *names
	slots       errgroup.Group
	meter       meter
	trees       trees
	policyKnown string
	done        []*Result // finished lines, in order; only the goroutine of run.run touches it

	// What gates have consumed: leaves, and the gate steps that no later gate has
	// taken in. A gate is a step, so that only one goroutine at a time is here.
	consumed map[*Result]bool
	gates    []*Result

	mu      sync.Mutex // guards what follows, and serialises events
	first   *Result    // the first leaf that did not pass
	refusal *Result    // a gate that refused
	bad     int        // results that did not pass
}

// failFast is the cancellation cause of the siblings of a failed member.
type failFast struct{ by string }

func (f failFast) Error() string { return "cancelled because " + f.by + " did not pass" }

func (r *run) run() *Outcome {
	out := &Outcome{
		Plan: r.plan, Run: r.opt.Run, Session: r.opt.Session, Nonce: r.opt.Nonce,
		Started: r.opt.Now(), KeepGoing: r.opt.KeepGoing,
	}
	r.emit(RunStarted{Plan: r.plan, Run: r.opt.Run, Session: r.opt.Session, At: out.Started})
	r.exec = newExecutor(r)
	defer r.exec.close()
	r.meter.slept = r.exec.slept
	r.meter.start()
	defer r.meter.stop()
	if len(r.plan.Steps) > 0 {
		r.trees.begin()
		r.ledger.begin(r.runRecord(receipts.Time{Time: out.Started}))
	}

	last := len(r.plan.Steps) - 1
	for i, s := range r.plan.Steps {
		// A gate on the last line is the automatic gate, not a second one.
		if i == last && isGate(s) {
			break
		}
		r.done = append(r.done, r.step(s, scope{held: r.opt.Locks}))
	}
	_ = r.slots.Wait() // members never return an error: a verdict is not one

	out.Gate = r.finalGate()
	if last >= 0 && isGate(r.plan.Steps[last]) {
		res := &Result{Step: r.plan.Steps[last], Started: r.opt.Now()}
		r.settle(res, out.Gate)
		r.done = append(r.done, res)
		r.finish(res)
	}
	_ = r.ledger.sync() // a failure is kept as the reason of the degradation
	out.Results = r.done
	r.exec.endServers(out.Results)
	r.names.end()
	r.markDegraded(out.Results)
	out.Degraded = r.ledger.reason()
	out.Removed, out.NoTree = r.exec.removed, r.trees.noTree()
	switch cause := context.Cause(r.ending).(type) {
	case Signal:
		out.Signal = cause.Name
	case limit:
		out.Limit = cause.text
	}
	r.baselines(out.Results)
	out.Duration = r.opt.Now().Sub(out.Started)
	r.emit(RunFinished{Outcome: out})
	return out
}

func isGate(s *plan.Step) bool { return s.Kind == plan.Builtin && s.Target == plan.GateResults }

// A scope is what a step inherits.
type scope struct {
	// grouped says that it is below a parallel composite: then no snapshot can be taken.
	grouped bool
	// always is the context of a step that runs in any case, or is below such a step;
	// nil for the others.
	always context.Context
	share  int      // of the jobs, for a run that it starts; 0 for all
	held   []string // names of locks
}

// step carries out one step and returns when it and its members have ended.
func (r *run) step(s *plan.Step, in scope) *Result {
	if s.Finally && in.always == nil {
		ctx, done := r.lasting()
		defer done()
		in.always = ctx
	}
	release, waited, err := r.lock(r.context(in), s, in)
	if err != nil {
		return r.refuse(s, in, err, waited)
	}
	if release != nil {
		defer release()
	}
	in.held = heldBy(s, in.held)
	if s.Kind != plan.Composite {
		var res *Result
		done := make(chan struct{})
		r.slots.Go(func() error {
			defer close(done)
			res = r.leaf(s, in, waited)
			return nil
		})
		<-done
		return res
	}
	res := &Result{Step: s, Members: make([]*Result, len(s.Members)), Started: r.opt.Now(), Waited: waited}
	if s.Parallel {
		r.group(s, in, res)
	} else {
		for i, m := range s.Members {
			if !m.Finally {
				res.Members[i] = r.step(m, in)
			}
		}
		r.finally(s, in, res)
	}
	res.Duration = r.opt.Now().Sub(res.Started)
	sumUp(res)
	r.finish(res)
	return res
}

// group carries out the members of a parallel composite.
func (r *run) group(s *plan.Step, in scope, res *Result) {
	alone := !in.grouped
	if alone {
		r.trees.before(writes(s))
		in.grouped = true
		in.share = max(1, r.opt.Jobs/min(r.opt.Jobs, leaves(s)))
	}
	var members sync.WaitGroup
	for i, m := range s.Members {
		switch {
		case m.Finally:
		case m.Kind == plan.Composite || m.Exclusive != "":
			// A slot is taken by leaves alone, and by those that wait for nothing else.
			members.Go(func() { res.Members[i] = r.step(m, in) })
		default:
			members.Add(1)
			// Go blocks until a slot is free, so that members start in order.
			r.slots.Go(func() error {
				defer members.Done()
				res.Members[i] = r.leaf(m, in, 0)
				return nil
			})
		}
	}
	members.Wait()
	r.finally(s, in, res)
	if alone && writes(s) {
		r.trees.after()
	}
}

// finally carries out the members of a composite that run in any case, once the others
// have ended. Where none of those was started there is nothing to clean up.
func (r *run) finally(s *plan.Step, in scope, res *Result) {
	started := false
	Leaves(slices.DeleteFunc(slices.Clone(res.Members), func(m *Result) bool { return m == nil }), func(m *Result) {
		started = started || !m.Started.IsZero()
	})
	for i, m := range s.Members {
		switch {
		case !m.Finally:
		case started:
			res.Members[i] = r.step(m, in)
		default:
			res.Members[i] = r.unneeded(m)
		}
	}
}

// unneeded ends s and its members as not needed.
func (r *run) unneeded(s *plan.Step) *Result {
	res := &Result{Step: s, Verdict: Skipped, Reason: NotNeeded, Detail: "nothing before it was started"}
	for _, m := range s.Members {
		res.Members = append(res.Members, r.unneeded(m))
	}
	r.finish(res)
	return res
}

// leaves counts the leaf steps below s that may run at the same time.
func leaves(s *plan.Step) (n int) {
	for _, m := range s.Members {
		switch {
		case m.Finally:
		case m.Kind == plan.Composite && m.Parallel:
			n += leaves(m)
		default:
			n++
		}
	}
	return max(n, 1)
}

// context returns the context of a step.
func (r *run) context(in scope) context.Context {
	if in.always != nil {
		return in.always
	}
	return r.ctx
}

// lasting returns the context of a step that runs in any case. It is cancelled by
// Control.Kill, and once finallyGrace is over, which begins when the run is interrupted,
// or now if that came before. done must be called when the step has ended.
func (r *run) lasting() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	bound := context.AfterFunc(r.ending, func() {
		began := r.meter.clock()
		for {
			left := finallyGrace - (r.meter.clock() - began)
			if left <= 0 {
				cancel(limit{Timeout, fmt.Sprintf("the run was cut short, and a step with finally = true then has %v", finallyGrace)})
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
	return ctx, func() {
		bound()
		kill()
		cancel(nil)
	}
}

// leaf carries out a leaf step, or gives it up where the rules of order say so.
// It runs in a slot.
func (r *run) leaf(s *plan.Step, in scope, waited time.Duration) *Result {
	res := &Result{Step: s, grouped: in.grouped, always: in.always != nil, share: in.share, held: in.held, Waited: waited}
	if r.givenUp(res) {
		r.finish(res)
		return res
	}
	if !isGate(s) {
		if !in.grouped {
			r.trees.before(writes(s))
		}
		res.epoch = r.trees.epoch
	}
	switch {
	case isGate(s):
		r.middleGate(res)
	case s.Kind == plan.Process:
		r.exec.process(r.context(in), res)
	case s.Kind == plan.Builtin:
		r.exec.builtin(res)
	case s.Kind == plan.MCP:
		r.exec.mcp(r.context(in), res)
	case s.Kind == plan.Task:
		r.exec.task(r.context(in), res)
	default:
		r.exec.notConfigured(res)
	}
	r.finish(res)
	return res
}

// givenUp decides whether the step of res is not to be started, and sets its
// verdict if so.
func (r *run) givenUp(res *Result) bool {
	s := res.Step
	r.mu.Lock()
	first, refusal := r.first, r.refusal
	r.mu.Unlock()
	skip := func(v Verdict, why Reason, by *Result, format string, args ...any) bool {
		res.Verdict, res.Reason, res.Detail = v, why, fmt.Sprintf(format, args...)
		if by != nil {
			res.By = by.Step.ID
		}
		return true
	}
	switch {
	case res.always:
		_ = r.ledger.sync() // it runs all the same
		return false
	case r.ctx.Err() != nil:
		if l, ok := context.Cause(r.ctx).(limit); ok {
			return skip(Cancelled, l.reason, nil, "%s", l.text)
		}
		if ff, ok := context.Cause(r.ctx).(failFast); ok {
			skip(Skipped, FailFast, nil, "--fail-fast: step %s did not pass", ff.by)
			res.By = ff.by
			return true
		}
		return skip(Cancelled, Interrupted, nil, "the run was interrupted")
	case refusal != nil:
		return skip(Skipped, Refused, refusal, "the gate of step %s refused", refusal.Step.ID)
	case s.WhenFailure && first == nil:
		return skip(Skipped, NoFailure, nil, "runs only after a failure")
	case s.WhenFailure, r.opt.KeepGoing, s.Effect != plan.Write:
		return false
	case first != nil:
		return skip(Skipped, Barrier, first, "changes state, and step %s did not pass", first.Step.ID)
	}
	// State is changed only on durable evidence of what came before.
	if err := r.ledger.sync(); err != nil {
		return skip(Skipped, NoStore, nil, "changes state, and no receipt can be kept: %v", err)
	}
	return false
}

// finish notes a failure and tells the listener of the result.
func (r *run) finish(res *Result) {
	r.mu.Lock()
	if res.Step.Kind != plan.Composite && res.Verdict.Bad() {
		switch {
		case res.Reason == GateRefused:
			if r.refusal == nil {
				r.refusal = res
			}
		case r.first == nil:
			r.first = res
			if r.opt.FailFast && r.ctx.Err() == nil {
				r.cancel(failFast{by: res.Step.ID})
			}
		}
	}
	if res.Verdict.Bad() {
		r.bad++
	}
	most := keptTail
	if r.bad > wholeTails {
		most = shortTail
	}
	r.mu.Unlock()
	r.emit(StepFinished{Result: res})
	res.trim(most)
}

// Of the output of a step that did not pass so much is kept in memory, in bytes: as the
// process kept it for the first wholeTails of them, and then less. Of the others nothing
// is: a run of any length has flat memory, and the logs have it all.
const (
	keptTail   = process.DefaultTailBytes
	shortTail  = 4 << 10
	wholeTails = 100
)

// trim lets go of the output that no report will show.
func (r *Result) trim(most int) {
	p := r.Process
	if p == nil {
		return
	}
	p.Stdout.Head, p.Stderr.Head = nil, nil
	if !r.Verdict.Bad() {
		p.Tail = nil
	} else if len(p.Tail) > most {
		p.Tail = bytes.Clone(p.Tail[len(p.Tail)-most:])
	}
}

func (r *run) emit(e Event) {
	if r.opt.Listen == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opt.Listen(e)
}

// sumUp gives a composite the verdict of its members: the gravest counts.
func sumUp(res *Result) {
	var worst *Result
	rank := func(m *Result) int {
		switch {
		case m.Verdict == Fault:
			return 6
		case m.Verdict == Failed:
			return 5
		case m.Verdict == Cancelled:
			return 4
		case m.Verdict == Skipped && m.Reason != NoFailure && m.Reason != NotNeeded:
			return 3
		case m.Verdict == Flaky:
			return 2
		case m.Verdict == Passed:
			return 1
		default:
			return 0
		}
	}
	for _, m := range res.Members {
		if worst == nil || rank(m) > rank(worst) {
			worst = m
		}
	}
	if worst == nil {
		res.Verdict, res.Reason, res.Detail = Fault, Vacuous, "the composite has no members"
		return
	}
	res.Verdict, res.Reason, res.By, res.Detail = worst.Verdict, worst.Reason, worst.By, worst.Detail
}
