// Package attempt carries out one step at a time and records it: the environment of its command,
// its process, MCP call or task, the verdict, what the command says of itself, the snapshots of the
// files that it ran on, its receipt, and the gates. In which order the steps come is not its
// business: package schedule says it, and a driver, such as package engine, has an [Executor]
// carry out one [schedule.Action] after another.
//
// The executor is of the process that its caller trusts: budgets, expectations and what a gate
// asks for come from its own plan and its own reports, never from an action.
//
// # The files
//
// With a workspace a run knows what its commands ran on. A snapshot is taken before the first
// command, before and after a step that writes, and at a gate; the members of a parallel composite
// share that before it. What was there and changed under steps that only read is counted against
// them at the gate.
//
// # Recording
//
// The start of the run is durable in the store before the first command starts. Receipts are
// submitted as attempts end, and made durable in groups; [Executor.Sync], and a gate, wait until
// all receipts so far are. From the first failure of the store on the run is degraded: a gate
// that needs a receipt refuses. A run that is cut short waits some seconds for a store that does
// not answer, and once it is killed half a second; then it is degraded.
//
// It is one package of up to 4,450 lines because judging, recording and gating read the same reports, and a
// smaller one would have to hand out what only the trusted process may say of an attempt.
package attempt

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Options say how the steps of a run are carried out.
type Options struct {
	Run     string // id of the run; must be unique in the store
	Session string // defaults to Run
	Nonce   string // of the orchestrator; empty makes no claim of freshness
	Version string // of dialect, for the run's record

	Jobs      int  // leaf steps at the same time; 0 means the number of CPUs
	DeferGate bool // leave the receipts for a gate elsewhere

	// Store records the run. If it is nil the run is degraded from the start,
	// and Degraded says why.
	Store    Store
	Degraded string

	// Patience is how long a run that is cut short waits for its store, which another process
	// may hold locked, at each question; once its processes were killed it is half a second at
	// most. 0 means four seconds.
	Patience time.Duration

	// LogDir keeps the output of commands; empty keeps none.
	LogDir string

	// Redact takes secrets out of what is recorded and kept as text; nil takes out
	// nothing. What commands get is not touched.
	Redact *redact.Redactor

	// Environ is the environment that commands start from.
	Environ []string

	// Workspace takes snapshots of the files; nil takes none, and nothing says then
	// what the commands ran on. Keep, if set, gets the one of a gate that passed.
	Workspace Workspace
	Keep      func(*workspace.Snapshot)

	// Room is where commands run instead of the working tree, and then Workspace as well; nil for
	// the working tree. What cannot run there does not run.
	Room *cleanroom.Room

	// Controls has steps run on files that are broken, by ID, in Room. Their receipts say nothing of the steps themselves.
	Controls map[string]*Control
	// Apart makes the room of a command that runs in the working tree, where it is not to reach this process, and sees
	// the directories in shown; nil for none.
	Apart func(shown ...string) (*process.Room, error)

	// Policy says what the producer compared the matrix with; see [receipts.Gate]. It is called at each gate, with the root of the
	// snapshot that the gate is about; empty for none. nil means "unpinned".
	Policy func(root string) string

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

	// Worker says whose receipts [Executor.Accept] takes; nil for no one's. Dispatch is, on a worker, the number of
	// the dispatch that it carries out; 0 where nobody handed it out.
	Worker   *Worker
	Dispatch int

	// Resumed says that the run was begun by another process, which is gone: its gates may be decided already.
	Resumed bool

	// EndLeft ends what the commands left running: nobody who asked for the run sees their names.
	EndLeft bool

	// Reuse lets an earlier pass on the same tree stand for a step that allows it.
	Reuse bool

	// Level is the trust level of what the store signs: an earlier pass below it is
	// not reused, and a gate below it that an agent hands back is refused. Key is the
	// public key that the store signs with; empty for none.
	Level int
	Key   string

	// Guard is a command that calls [process.Guard]; see [process.Options].
	Guard []string

	// Listen receives the events; nil drops them. It must not wait for anything: while it
	// runs no budget and no signal acts on any step. Output asks for [Output] events. Hold,
	// if set, says what to wait for before a step's output is read on; see [process.Command].
	Listen func(Event)
	Output bool
	Hold   func() <-chan struct{}

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Filled returns o with the defaults of the clock, the session and the jobs, and with ids as receipts have them.
func (o Options) Filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Session == "" {
		o.Session = o.Run
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.NumCPU()
	}
	o.Run, o.Session, o.Nonce, o.Parent = receipts.Name(o.Run), receipts.Name(o.Session), receipts.Name(o.Nonce), receipts.Name(o.Parent)
	return o
}

// A Meter watches the budget of a run as a whole.
type Meter interface {
	Wrote(n int)   // a step wrote so many bytes
	Running(n int) // so many processes more, or fewer, run
}

// An Executor carries out the steps of a plan and records them. It is the one place where
// executing and recording meet, so that a notary under another user can take its place as a
// whole. Its methods may be called at the same time, but for [Executor.Snapshot],
// [Executor.Gate], and attempts whose action says that they come alone: no other may run then.
type Executor struct {
	plan  *plan.Plan
	opt   Options
	meter Meter

	ending context.Context // cancelled once the run is cut short
	killed context.Context // cancelled once nothing may run any more

	launcher *process.Launcher
	err      error // why there is no launcher
	claims   claims
	servers  servers
	ledger   *ledger
	names    *names
	trees    trees
	rules    string       // see [policy.Outer]
	named    atomic.Int64 // bytes of the cases of all reports
	told     atomic.Bool  // that the clean checkout was set up
	began    time.Time

	env     []string
	removed []string
	digest  receipts.Hash // of env

	mu        sync.Mutex
	steps     map[string]*plan.Step
	reports   map[string]*Report   // the last of each leaf
	handed    map[int]*Report      // that another machine makes, by the number of the action; of the driver's goroutine
	decisions map[string]*Decision // by the ID of the action

	// What gates have consumed: leaves, and the gates that no later gate has taken in.
	consumed map[string]bool
	gates    []receipts.Expectation
}

// New returns the executor of a plan. Once ending is cancelled the run is cut short: the store
// has little time for each answer. Once killed is, nothing starts any more. m may be nil.
func New(ending, killed context.Context, p *plan.Plan, o Options, m Meter) *Executor {
	o = o.Filled()
	if o.Root == "" {
		o.Root = p.Matrix.Root
	}
	if o.Policy == nil {
		o.Policy = func(string) string { return receipts.PolicyUnpinned }
	}
	if o.Room != nil {
		o.Workspace = o.Room
	}
	x := &Executor{
		plan: p, opt: o, meter: m, ending: ending, killed: killed,
		ledger: newLedger(o, ending, killed),
		trees:  trees{source: o.Workspace, apart: o.Room != nil, ctx: ending, rules: p.Matrix.Files},
		steps:  make(map[string]*plan.Step), reports: make(map[string]*Report), handed: make(map[int]*Report),
		decisions: make(map[string]*Decision), consumed: make(map[string]bool),
	}
	plan.Walk(p.Steps, func(s *plan.Step) { x.steps[s.ID] = s })
	if o.Store != nil {
		x.opt.Store = patient{o.Store, x.ledger}
		x.claims.open()
	}
	x.names = newNames(x.ledger, o.Listen)
	x.launcher, x.err = process.New(process.Options{Guard: o.Guard})
	x.rules = policy.Outer(p.Matrix, p.Matrix.Root)
	x.env, x.removed = x.environ(nil)
	x.digest = environ.Digest(x.env)
	return x
}

// Begin takes the first snapshot, and makes the start of the run durable.
func (x *Executor) Begin(at time.Time) {
	x.began = at
	if len(x.plan.Steps) > 0 {
		x.trees.begin()
		if w, e := x.opt.Worker, x.trees.epoch; w != nil && w.Tree != nil {
			x.trees.continueWith(*w.Tree)
		} else if w != nil && e != nil {
			x.trees.continueWith(e.tree)
		} else if w != nil && x.trees.source != nil {
			x.trees.continueWith(receipts.Tree{}) // nobody knows: no later snapshot is it
		}
		x.ledger.begin(x.runRecord(receipts.Time{Time: at}))
	}
}

// Attempt carries out a [schedule.Start]: one attempt at a leaf step, which is recorded. The report
// of an attempt that has ended is returned once more when its action comes again; the same action
// must not come twice at the same time. The cause of the cancellation of ctx may be a [Cut].
func (x *Executor) Attempt(ctx context.Context, a schedule.Action) *Report {
	x.mu.Lock()
	last := x.reports[a.ID]
	x.mu.Unlock()
	for r := last; r != nil; r = r.before {
		if r.action.Attempt == a.Attempt {
			return r
		}
	}
	res := &Report{Step: x.steps[a.ID], action: a, before: last, dispatch: x.opt.Dispatch}
	if last != nil {
		last.Trim(0)
		last.Claim, last.Failures = nil, diagnose.Failures{}
	}
	x.attempt(ctx, res)
	x.mu.Lock()
	x.reports[a.ID] = res
	x.mu.Unlock()
	return res
}

func (x *Executor) attempt(ctx context.Context, res *Report) {
	s, a := res.Step, res.action
	if a.Why != "" {
		res.end(schedule.Fault, receipts.StopLocked, a.Why)
		x.record(res, nil)
		return
	}
	if a.Alone {
		x.trees.before(writes(s), false)
	}
	res.epoch = x.trees.epoch // an attempt before this one may have written
	res.Started = x.opt.Now()
	if why := x.notClean(s, a.Alone); why != "" {
		res.Attempts = a.Attempt
		res.end(schedule.Fault, receipts.StopNotConfigured, why)
		x.record(res, nil)
		return
	}
	switch s.Kind {
	case plan.Process:
		x.process(ctx, res, job{argv: s.Argv})
	case plan.Builtin:
		x.builtin(ctx, res)
	case plan.MCP:
		x.mcp(ctx, res)
	case plan.Task:
		x.task(ctx, res)
	default:
		x.notConfigured(res)
	}
	res.Duration = x.opt.Now().Sub(res.Started)
}

// notClean says why a step cannot be carried out in a clean checkout; empty if it can, or need not be.
func (x *Executor) notClean(s *plan.Step, alone bool) string {
	switch {
	case x.opt.Room == nil || s.Kind == plan.Builtin:
	case s.Kind == plan.MCP:
		return "an MCP server sees the working tree itself, and not the clean checkout: run the line without --clean"
	case s.Kind == plan.Task:
		return "a task cannot be handed out from a clean checkout: run the line without --clean"
	case writes(s) && !alone:
		return "in a clean checkout what changes state runs alone: give its composite order = \"sequence\", or its binding effect = \"read\" if it only looks"
	}
	return ""
}

// Snapshot carries out a [schedule.Snapshot].
func (x *Executor) Snapshot(a schedule.Action) {
	if a.After {
		x.trees.after()
	} else {
		x.trees.before(a.Writes, true)
	}
}

// Sync waits until all receipts so far are durable, and returns why they are not.
func (x *Executor) Sync() error { return x.ledger.sync() }

// Kill ends at once the processes that run; no other starts. The cancellation of the context that
// [New] got comes first.
func (x *Executor) Kill() {
	if x.launcher != nil {
		x.launcher.Kill()
	}
}

// Pause stops what runs, and the clocks of all budgets, until resume is called.
func (x *Executor) Pause() (resume func()) {
	if x.launcher == nil {
		return func() {}
	}
	return x.launcher.Pause()
}

// Slept is for how long the run was paused.
func (x *Executor) Slept() time.Duration {
	if x.launcher == nil {
		return 0
	}
	return x.launcher.Slept()
}

// Removed names the variables of the environment that commands do not get, because they would
// change what a check does.
func (x *Executor) Removed() []string { return x.removed }

// NoTree says why the receipts do not name the files that they are about, where there is a
// workspace; empty if they do.
func (x *Executor) NoTree() string { return x.trees.noTree() }

// Degraded says why not all can be recorded; empty if it can.
func (x *Executor) Degraded() string { return x.ledger.reason() }

// Lost reports whether an attempt that was made has no durable receipt.
func (x *Executor) Lost(r *Report) bool {
	if r.Receipt.IsZero() {
		return r.Attempts > 0
	}
	return x.ledger.durable(r.ticket) != nil
}

// Finish is called when all steps have ended: it waits until what is recorded is durable, and
// ends the MCP servers.
func (x *Executor) Finish() {
	_ = x.ledger.sync() // a failure is kept as the reason of the degradation
	x.endServers()
	x.names.end()
}

// Close ends what the commands left running, if the run was cut short or was asked to, and takes away what the
// executor made.
func (x *Executor) Close() {
	x.closeServers()
	x.claims.close()
	if x.launcher == nil {
		return
	}
	if killed := x.killed.Err() != nil; killed || x.ending.Err() != nil || x.opt.EndLeft {
		_ = x.launcher.EndLeft(killed)
	}
	_ = x.launcher.Close() // what it could not end, it could not end
}

func (x *Executor) emit(e Event) {
	if x.opt.Listen != nil {
		x.opt.Listen(e)
	}
}

func (x *Executor) wrote(n int) {
	if x.meter != nil {
		x.meter.Wrote(n)
	}
}

func (x *Executor) running(n int) {
	if x.meter != nil {
		x.meter.Running(n)
	}
}

// IsGate reports whether a step is a gate.
func IsGate(s *plan.Step) bool { return s.Kind == plan.Builtin && s.Target == plan.GateResults }
