package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/builtin"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/inputs"
	"github.com/command-dialect/dialect/runtime/process"
)

// An executor carries out leaf steps and records them. It is the one place where
// executing and recording meet, so that a notary under another user can take its
// place as a whole.
type executor struct {
	run      *run
	launcher *process.Launcher
	err      error // why there is no launcher
	claims   claims

	mcpServers servers
	env        []string
	removed    []string
	digest     receipts.Hash // of env
}

func newExecutor(r *run) *executor {
	x := &executor{run: r}
	x.launcher, x.err = process.New(process.Options{Guard: r.opt.Guard})
	r.opt.Control.attach(x.launcher, r.kill)
	if r.opt.Store != nil {
		x.claims.open()
	}
	x.env, x.removed = x.environ(nil)
	x.digest = environ.Digest(x.env)
	return x
}

// environ makes the environment of a step for which the matrix sets set.
func (x *executor) environ(set map[string]string) (env, removed []string) {
	o := x.run.opt
	env, removed = environ.Make(o.Environ, environ.Options{Color: o.Color, Set: set})
	// A script that runs dialect itself records into the same session.
	env = setenv(env, "DIALECT_SESSION", o.Session)
	return setenv(env, JobsVariable, strconv.Itoa(o.Jobs)), removed
}

// slept is for how long the run was paused.
func (x *executor) slept() time.Duration {
	if x.launcher == nil {
		return 0
	}
	return x.launcher.Slept()
}

func (x *executor) close() {
	x.closeServers()
	x.claims.close()
	x.run.opt.Control.attach(nil, nil)
	if x.launcher != nil {
		if killed := x.run.opt.Control.ended(); killed || x.run.ending.Err() != nil {
			_ = x.launcher.EndLeft(killed)
		}
		_ = x.launcher.Close() // what it could not end, it could not end
	}
}

// JobsVariable names the variable by which a command knows how many commands it may run
// at the same time: its share of what the run may. A script that runs dialect itself so
// never multiplies the limit.
const JobsVariable = "DIALECT_JOBS"

// finallyGrace bounds, together with its own budget, what runs in any case after the run
// was cut short. A test makes it shorter.
var finallyGrace = 10 * time.Second

// process runs the command of a step.
func (x *executor) process(ctx context.Context, res *Result) {
	s := res.Step
	res.Started = x.run.opt.Now()
	defer func() { res.Duration = x.run.opt.Now().Sub(res.Started) }()
	if x.err != nil {
		res.Verdict, res.Reason, res.Detail = Fault, StartFailed, x.err.Error()
		return
	}
	env, digest := slices.Clone(x.env), x.digest
	if len(s.Env) > 0 {
		env, _ = x.environ(s.Env)
		digest = environ.Digest(env)
	}
	if !x.inputs(ctx, res) || x.reuse(ctx, res, env, digest) {
		return
	}
	env = setenv(env, ParentVariable, x.run.opt.Run+"/"+s.ID)
	if res.share > 0 {
		env = setenv(env, JobsVariable, strconv.Itoa(res.share))
	}
	if len(res.held) > 0 {
		env = setenv(env, LocksVariable, strings.Join(res.held, ","))
	}
	argv := s.Argv
	if res.argv != nil {
		argv = res.argv
	}
	if s.Kind == plan.Task {
		env = setenv(env, DepthVariable, strconv.Itoa(depth(x.run.opt.Environ)+1))
		if x.run.opt.StorePath != "" {
			env = setenv(env, "DIALECT_STORE", x.run.opt.StorePath)
		}
	}
	x.attempts(ctx, res, func(attempt int) func() *receipts.Receipt {
		claim, end := x.claims.begin()
		defer end()
		env := env
		if claim != "" {
			env = setenv(slices.Clone(env), ResultVariable, claim)
		}
		seen := observe(s)
		c := &process.Command{
			Argv: argv, Stdin: res.stdin, Dir: s.Dir, LookupDir: x.run.plan.Matrix.Root, Env: env,
			Timeout: s.Budget.Timeout, Stall: s.Budget.Stall, MaxOutput: s.Budget.MaxOutput,
			LogDir: x.run.opt.LogDir, Digest: true, Redact: x.run.opt.Redact,
		}
		c.Output = func(stream process.Stream, p []byte) {
			seen.tests.Write(int(stream), p)
			if s.Expect.Stdout != "" && stream == process.Stdout {
				seen.stdout.Write(p)
			}
			x.run.meter.wrote(len(p))
			if x.run.opt.Output {
				x.run.emit(StepOutput{Step: s, Stream: stream, Data: p})
			}
		}
		if x.run.opt.Output {
			c.Hold = x.run.opt.Hold
		}
		x.run.meter.runs(1)
		pr := x.launcher.Run(ctx, c)
		x.run.meter.runs(-1)
		res.Process = &pr
		seen.judge(res)
		judgeClaim(res, claim)
		if res.after != nil {
			res.after()
		}
		return func() *receipts.Receipt { return x.run.processReceipt(res, digest) }
	})
}

// attempts carries out a step, again if it failed and may be retried, and records each
// attempt. once carries out one: it sets the verdict, and returns what makes the receipt.
// When it is called nothing of an earlier attempt is left in res, and the inputs of the
// binding were digested; the caller does that for the first one.
func (x *executor) attempts(ctx context.Context, res *Result, once func(attempt int) func() *receipts.Receipt) {
	s := res.Step
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			if !res.grouped {
				res.epoch = x.run.trees.epoch // the attempt before it may have written
			}
			if !x.inputs(ctx, res) {
				return
			}
		}
		res.Attempts = attempt
		res.Verdict, res.Reason, res.Detail, res.By = "", "", "", ""
		res.Process, res.Tests, res.Finding, res.Claim = nil, nil, nil, nil
		x.run.emit(StepStarted{Step: s, Attempt: attempt, At: x.run.opt.Now()})
		receipt := once(attempt)
		x.sameInputs(ctx, res, res.Process)
		if res.Verdict == Fault && res.Reason == Interrupted {
			switch cause := context.Cause(ctx).(type) {
			case failFast:
				res.Verdict, res.Reason, res.By = Cancelled, FailFast, cause.by
				res.Detail = "killed: " + cause.Error()
			case limit:
				res.Reason, res.Detail = cause.reason, "killed: "+cause.Error()
			}
		}
		x.run.record(res, receipt)
		if res.Verdict == Failed && attempt <= s.Budget.Retries && ctx.Err() == nil {
			continue
		}
		if res.Verdict == Passed && attempt > 1 {
			res.Verdict = Flaky
			res.Detail = fmt.Sprintf("passed at attempt %d of %d", attempt, s.Budget.Retries+1)
		}
		return
	}
}

// inputs digests the files that the binding of res names as deciding, before an attempt.
// Where that cannot be done the step is a fault: nobody could say what its result is about.
func (x *executor) inputs(ctx context.Context, res *Result) bool {
	h, err := inputs.Digest(ctx, x.run.plan.Matrix.Root, res.Step.Inputs)
	if res.inputs = h; err == nil || ctx.Err() != nil { // what is interrupted does not start either
		return true
	}
	res.Attempts++
	res.Process, res.Claim, res.Tests, res.Finding = nil, nil, nil, nil // of the attempt before
	res.Verdict, res.Reason, res.Detail = Fault, StartFailed, fmt.Sprintf("the inputs of %s cannot be read: %v", res.Step.Binding, err)
	x.run.record(res, func() *receipts.Receipt { return x.run.receipt(res) })
	return false
}

// sameInputs notes in p if the inputs of res changed while it ran. What changed them may
// be the command itself, such as one that installs what is missing; its receipt keeps the
// digest of what it started on.
func (x *executor) sameInputs(ctx context.Context, res *Result, p *process.Result) {
	if len(res.Step.Inputs) == 0 || ctx.Err() != nil {
		return
	}
	h, err := inputs.Digest(ctx, x.run.plan.Matrix.Root, res.Step.Inputs)
	switch {
	case err != nil:
		p.Notes = append(p.Notes, "after it ran its inputs could not be read: "+err.Error())
	case h != res.inputs:
		p.Notes = append(p.Notes, "its inputs changed while it ran: the receipt has the digest from before ("+strings.Join(res.Step.Inputs, ", ")+")")
	}
}

// ParentVariable names the variable by which a command knows the step that it is of:
// "RUN/STEP". A run that it starts says so, and its gate is taken in by that of the
// outer run.
const ParentVariable = "DIALECT_PARENT"

// reuse lets an earlier pass stand for the step of res, if the run and the binding
// want that, and the files, the command, the executable, the environment, the matrix
// and the trust level are those of the earlier one. The receipt of res cites it.
func (x *executor) reuse(ctx context.Context, res *Result, env []string, digest receipts.Hash) bool {
	s, o := res.Step, x.run.opt
	if !o.Reuse || !s.Reuse || writes(s) || o.Store == nil || res.epoch == nil || len(res.epoch.changed) > 0 || x.run.ledger.reason() != "" {
		return false
	}
	if x.run.ledger.sync() != nil {
		return false
	}
	e, ok, err := o.Store.Passed(context.Background(), receipts.CommandHash(x.run.command(s)), x.run.dir(s), res.epoch.place, res.epoch.tree)
	if err != nil || !ok || e.Level < o.Level {
		return false
	}
	v, err := e.Parse()
	old, isReceipt := v.(*receipts.Receipt)
	if err != nil || !isReceipt || old.Status != receipts.Succeeded || old.Workspace == nil || old.Workspace.Before != res.epoch.tree ||
		old.Place != res.epoch.place || old.Inputs != res.inputs || old.Environment != digest || old.Matrix != x.digestOfMatrix() || old.Binding != s.Binding || old.Executable == nil || old.Executable.SHA256.IsZero() {
		return false
	}
	path, sum, err := x.launcher.Identify(ctx, s.Argv[0], x.run.plan.Matrix.Root, env)
	if err != nil || receipts.Text(path) != old.Executable.Path || sum != old.Executable.SHA256 {
		return false
	}
	res.Reused = e.SHA
	if !old.Reused.IsZero() {
		res.Reused = old.Reused
	}
	res.Verdict, res.Attempts = Passed, 1
	res.Detail = "reused " + res.Reused.Short()
	res.Tests = old.Tests
	rec := x.run.receipt(res)
	rec.Reused, rec.ExitCode, rec.Stdout, rec.Stderr, rec.Tests = res.Reused, old.ExitCode, old.Stdout, old.Stderr, old.Tests
	rec.Executable, rec.Environment = old.Executable, digest
	x.run.record(res, func() *receipts.Receipt { return rec })
	return true
}

func (x *executor) digestOfMatrix() receipts.Hash { return digest(x.run.plan.Matrix.SHA256) }

// builtin runs a handler of package builtin.
func (x *executor) builtin(res *Result) {
	s := res.Step
	res.Started = x.run.opt.Now()
	res.Attempts = 1
	x.run.emit(StepStarted{Step: s, Attempt: 1, At: res.Started})
	switch s.Target {
	case plan.ValidateReceipt:
		var v builtin.Validator
		if x.run.opt.Store != nil {
			_ = x.run.ledger.sync() // a receipt of this run may be the one that is asked for
			v = x.run.opt.Store
		}
		ok, text := builtin.Validate(x.run.ctx, v, values(s))
		res.Verdict, res.Detail = Passed, text
		if !ok {
			res.Verdict, res.Reason = Failed, Invalid
		}
	default:
		res.Verdict, res.Reason = Fault, NotConfigured
		res.Detail = fmt.Sprintf("this version of dialect has no built-in %q", s.Target)
	}
	res.Duration = x.run.opt.Now().Sub(res.Started)
	x.run.record(res, func() *receipts.Receipt { return x.run.receipt(res) })
}

// notConfigured ends a step that nothing here can carry out, with the honest
// terminal status.
func (x *executor) notConfigured(res *Result) {
	s := res.Step
	res.Started = x.run.opt.Now()
	res.Attempts = 1
	res.Verdict, res.Reason = Fault, NotConfigured
	what := "the object of the line"
	for _, v := range s.Values {
		if v.Name == "object" {
			what = v.Text
		}
	}
	res.Detail = fmt.Sprintf("nothing here can carry the task out: write %s.dlct beside the script, or name an agent below [agents.%s] (command, require)", what, agentName(s.Target))
	x.run.record(res, func() *receipts.Receipt { return x.run.receipt(res) })
}

func agentName(target string) string {
	if target == "" {
		return "default"
	}
	return target
}

func values(s *plan.Step) []string {
	v := make([]string, len(s.Values))
	for i := range s.Values {
		v[i] = s.Values[i].Text
	}
	return v
}

func setenv(env []string, key, value string) []string {
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	return append(env, key+"="+value)
}
