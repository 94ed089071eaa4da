package attempt

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/builtin"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// The variables by which a run tells the commands that it starts, which may be runs themselves,
// what they are part of.
const (
	// JobsVariable names how many commands it may run at the same time: its share of what the
	// run may. A script that runs dialect itself so never multiplies the limit.
	JobsVariable = "DIALECT_JOBS"

	// ParentVariable names the step that it is of: "RUN/STEP". A run that it starts says so,
	// and its gate is taken in by that of the outer run.
	ParentVariable = "DIALECT_PARENT"

	// LocksVariable names the locks that its run holds for it, separated by commas.
	LocksVariable = "DIALECT_LOCKS"

	// DepthVariable names how many runs it is inside of.
	DepthVariable = "DIALECT_DEPTH"

	// SessionVariable, NonceVariable and StoreVariable name the session, the nonce and the store that a run records into.
	SessionVariable = "DIALECT_SESSION"
	NonceVariable   = "DIALECT_NONCE"
	StoreVariable   = "DIALECT_STORE"

	// NotaryVariable names the socket of the notary that runs what a run is asked for.
	NotaryVariable = "DIALECT_NOTARY"
)

// NoStore is the name of a store that says that there shall be none.
const NoStore = "none"

// ParseLocks reads the value of [LocksVariable].
func ParseLocks(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// environ makes the environment of a step for which the matrix sets set.
func (x *Executor) environ(set map[string]string) (env, removed []string) {
	env, removed = environ.Make(x.opt.Environ, environ.Options{Set: set, Clean: x.opt.Room != nil, Pass: x.plan.Matrix.Clean.Env})
	// A script that runs dialect itself records into the same session.
	env = setenv(env, SessionVariable, x.opt.Session)
	if x.opt.Nonce != "" {
		env = setenv(env, NonceVariable, x.opt.Nonce)
	}
	if _, own := set[policy.Variable]; !own && x.plan.Matrix.Path != "" { // else those of the run around this one hold
		env = setenv(env, policy.Variable, x.rules)
	}
	// What a line runs elsewhere records into the same store, or has the same notary run it.
	if here, err := os.Getwd(); err == nil {
		for _, name := range []string{StoreVariable, NotaryVariable} {
			if _, own := set[name]; !own && getenv(env, name) != "" {
				env = setenv(env, name, AbsoluteStore(here, getenv(env, name)))
			}
		}
	}
	return setenv(env, JobsVariable, strconv.Itoa(x.opt.Jobs)), removed
}

// AbsoluteStore returns the name that the store called name in the folder dir has in each folder: a path, or none.
func AbsoluteStore(dir, name string) string {
	if name == "" || name == NoStore || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// A job is the process of a step.
type job struct {
	argv  []string
	stdin []byte
	judge func() // called once the attempt has its verdict; may be nil
}

// process runs the command of a step.
func (x *Executor) process(ctx context.Context, res *Report, j job) {
	s := res.Step
	if x.err != nil {
		res.end(schedule.Fault, receipts.StopStartFailed, x.err.Error())
		return
	}
	env, digest := slices.Clone(x.env), x.digest
	if len(s.Env) > 0 {
		env, _ = x.environ(s.Env)
		digest = environ.Digest(env)
	}
	if x.opt.Room == nil && !x.inputs(ctx, res) || x.reuse(ctx, res, env, digest) {
		return
	}
	env = setenv(env, ParentVariable, receipts.StepName(x.opt.Run, s.ID))
	env = setenv(env, DepthVariable, strconv.Itoa(depth(x.opt.Environ)+1))
	if res.action.Share > 0 {
		env = setenv(env, JobsVariable, strconv.Itoa(res.action.Share))
	}
	if len(res.action.Locks) > 0 {
		env = setenv(env, LocksVariable, strings.Join(res.action.Locks, ","))
	}
	if s.Kind == plan.Task {
		env = setenv(env, policy.Variable, x.around(s))
		if x.opt.StorePath != "" {
			env = setenv(env, StoreVariable, x.opt.StorePath)
		}
	}
	if handed := x.opt.Redact.HandOn(s.Secrets(), append(slices.Collect(maps.Values(s.Env)), s.Command()...)); handed != "" {
		env = setenv(env, redact.Variable, handed)
	}
	x.carryOut(ctx, res, func() func(*receipts.Receipt) {
		claim, end := x.claims.begin()
		defer end()
		if claim != "" {
			env = setenv(env, ResultVariable, claim)
		}
		seen := observe(s, x.opt.Redact)
		c := &process.Command{
			Argv: j.argv, Stdin: j.stdin, Dir: s.Dir, LookupDir: x.plan.Matrix.Root, Env: env,
			Timeout: s.Budget.Timeout, Stall: s.Budget.Stall, MaxOutput: s.Budget.MaxOutput,
			LogDir: x.opt.LogDir, Digest: true, Redact: x.opt.Redact,
		}
		control := x.opt.Controls[s.ID]
		stay, err := x.enter(ctx, c, res, claim, control)
		if err != nil {
			res.end(schedule.Fault, receipts.StopStartFailed, err.Error())
			return nil
		}
		if i := slices.Index(c.Env, policy.Variable+"="+x.rules); i >= 0 && c.LookupDir != x.plan.Matrix.Root {
			c.Env[i] = policy.Variable + "=" + policy.Outer(x.plan.Matrix, c.LookupDir)
		}
		if !x.beginWith(ctx, res, stay, seen) {
			if stay != nil {
				_, _ = stay.End(context.Background()) // nothing ran
			}
			return nil
		}
		c.Output = func(stream process.Stream, p []byte) {
			seen.tests.Write(int(stream), p)
			seen.errors.Write(int(stream), p)
			if s.Expect.Stdout != "" && stream == process.Stdout {
				seen.stdout.Write(p)
			}
			if control != nil {
				control.Output(Output{Step: s, Stream: stream, Data: p})
			}
			x.wrote(len(p))
			if x.opt.Output {
				x.emit(Output{Step: s, Stream: stream, Data: p})
			}
		}
		c.Cut = func(stream process.Stream) {
			seen.errors.Cut(int(stream))
			if control != nil {
				control.Output(Output{Step: s, Stream: stream, Cut: true})
			}
			x.emit(Output{Step: s, Stream: stream, Cut: true})
		}
		if x.opt.Output {
			c.Hold = x.opt.Hold
		}
		x.running(1)
		pr := x.launcher.Run(ctx, c)
		x.running(-1)
		res.Process = &pr
		x.hidden(c, res)
		x.endWith(ctx, res, stay, seen)
		judgeClaim(res, claim)
		if control != nil {
			x.judgeControl(res, control)
		}
		if j.judge != nil {
			j.judge()
		}
		x.leave(ctx, stay, res)
		return func(rec *receipts.Receipt) { x.processReceipt(rec, res, digest) }
	})
}

// carryOut carries out an attempt and records it. do sets the verdict and what the kind of the
// step has of its own in the receipt.
func (x *Executor) carryOut(ctx context.Context, res *Report, do func() func(*receipts.Receipt)) {
	res.Attempts = res.action.Attempt
	x.emit(Started{Step: res.Step, Attempt: res.Attempts, At: x.opt.Now()})
	fill := do()
	x.look(res)
	if cut, ok := context.Cause(ctx).(Cut); ok && res.Verdict == schedule.Fault && res.Reason == receipts.StopInterrupted {
		res.end(cut.Verdict, cut.Reason, "killed: "+cut.Text)
		res.By = cut.By
	}
	res.Duration = x.opt.Now().Sub(res.Started)
	x.record(res, fill)
}

// beginWith looks at what res and its command see before it starts. Where that cannot be done the step is a fault.
func (x *Executor) beginWith(ctx context.Context, res *Report, stay *cleanroom.Stay, seen *observer) (ok bool) {
	at, err := x.filesOf(stay)
	if err != nil {
		res.end(schedule.Fault, receipts.StopStartFailed, err.Error())
		return false
	}
	defer at.close()
	if stay != nil && !x.digestInputs(ctx, res, at) {
		return false
	}
	seen.files.from = at
	if err := seen.files.look(ctx); err != nil && ctx.Err() == nil { // what is interrupted does not start either
		res.end(schedule.Fault, unreadReason(ctx, err), err.Error())
		return false
	}
	return true
}

// endWith judges res by what its command left.
func (x *Executor) endWith(ctx context.Context, res *Report, stay *cleanroom.Stay, seen *observer) {
	at, err := x.filesOf(stay)
	if err != nil {
		res.end(schedule.Fault, receipts.StopUnrecordable, "what it left cannot be read: "+err.Error())
		return
	}
	defer at.close()
	seen.files.from = at
	seen.judge(ctx, res)
	x.keepCases(res)
	x.sameInputs(ctx, res, at)
}

// inputs digests the files that the binding of res names as deciding, before an attempt that sees those of this machine.
func (x *Executor) inputs(ctx context.Context, res *Report) bool {
	if x.digestInputs(ctx, res, live{}) {
		return true
	}
	res.Attempts = res.action.Attempt
	x.record(res, nil)
	return false
}

// digestInputs digests them. Where that cannot be done the step is a fault: nobody could say what its result is about.
func (x *Executor) digestInputs(ctx context.Context, res *Report, at files) bool {
	h, err := at.digest(ctx, x.plan.Matrix.Root, res.Step.Inputs)
	if res.inputs = h; err == nil || ctx.Err() != nil { // what is interrupted does not start either
		return true
	}
	res.end(schedule.Fault, receipts.StopStartFailed, fmt.Sprintf("the inputs of %s cannot be read: %v", res.Step.Binding, err))
	return false
}

// sameInputs looks whether the inputs of res changed while it ran. A command that changes state may have done that itself, such as
// one that installs what is missing: its receipt has both digests. Of a step that only reads, or whose inputs cannot be read any more,
// nobody knows what its result is about then.
func (x *Executor) sameInputs(ctx context.Context, res *Report, at files) {
	p := res.Process
	if len(res.Step.Inputs) == 0 || ctx.Err() != nil {
		return
	}
	h, err := at.digest(ctx, x.plan.Matrix.Root, res.Step.Inputs)
	switch {
	case err != nil:
		p.Notes = append(p.Notes, "after it ran its inputs could not be read: "+err.Error())
	case h == res.inputs:
		return
	case writes(res.Step):
		p.Notes = append(p.Notes, "its inputs changed while it ran: it vouches for them as they were afterwards ("+strings.Join(res.Step.Inputs, ", ")+")")
		res.inputsAfter = h
		return
	default:
		p.Notes = append(p.Notes, "its inputs changed while it ran ("+strings.Join(res.Step.Inputs, ", ")+")")
	}
	res.moved = strings.Join(res.Step.Inputs, ", ")
}

// reuse lets an earlier pass stand for the first attempt at a step, if the run and the binding
// want that, and the files, the command with its secrets, the executable, the environment, the matrix
// and the trust level are those of the earlier one. The receipt of res cites it.
func (x *Executor) reuse(ctx context.Context, res *Report, env []string, digest receipts.Hash) bool {
	s, o := res.Step, x.opt
	if !o.Reuse || o.Room != nil || !s.Reuse || res.action.Attempt > 1 || writes(s) || o.Store == nil || res.epoch == nil || len(res.epoch.changed) > 0 {
		return false
	}
	if x.ledger.sync() != nil {
		return false
	}
	e, ok, err := o.Store.Passed(context.Background(), receipts.CommandHash(s.Identity()), x.dir(s), res.epoch.place, res.epoch.tree)
	if err != nil || !ok || e.Level < o.Level {
		return false
	}
	v, err := e.Parse()
	old, isReceipt := v.(*receipts.Receipt)
	if err != nil || !isReceipt || old.Status != receipts.Succeeded || old.Workspace == nil || old.Workspace.Before != res.epoch.tree ||
		!old.Workspace.Still || old.Place != res.epoch.place || old.Inputs != res.inputs || old.Environment != digest || old.Matrix != parseHash(x.plan.Matrix.SHA256) || old.Binding != s.Binding || s.Secret() && !slices.Equal(old.Argv, x.argv(s)) || old.Executable == nil || old.Executable.SHA256.IsZero() {
		return false
	}
	path, sum, err := x.launcher.Identify(ctx, s.Argv[0], x.plan.Matrix.Root, env)
	if err != nil || receipts.Text(path) != old.Executable.Path || sum != old.Executable.SHA256 {
		return false
	}
	res.Reused = e.SHA
	if !old.Reused.IsZero() {
		res.Reused = old.Reused
	}
	res.Attempts, res.Tests, res.still = 1, old.Tests, true
	res.end(schedule.Passed, "", "reused "+res.Reused.Short())
	x.record(res, func(rec *receipts.Receipt) {
		rec.Reused, rec.ExitCode, rec.Stdout, rec.Stderr, rec.Tests = res.Reused, old.ExitCode, old.Stdout, old.Stderr, old.Tests
		rec.Executable, rec.Environment = old.Executable, digest
	})
	return true
}

// builtin runs a handler of package builtin.
func (x *Executor) builtin(ctx context.Context, res *Report) {
	s := res.Step
	if x.opt.Room == nil && !x.inputs(ctx, res) { // in a clean checkout it has none: it sees no file
		return
	}
	x.carryOut(ctx, res, func() func(*receipts.Receipt) {
		if s.Target != plan.ValidateReceipt {
			res.end(schedule.Fault, receipts.StopNotConfigured, fmt.Sprintf("this version of dialect has no built-in %q", s.Target))
			return nil
		}
		var v builtin.Validator
		if x.opt.Store != nil {
			_ = x.ledger.sync() // a receipt of this run may be the one that is asked for
			v = x.opt.Store
		}
		var values []string
		for i := range s.Values {
			values = append(values, s.Values[i].Text)
		}
		if ok, text := builtin.Validate(ctx, v, values); ok {
			res.end(schedule.Passed, "", text)
		} else {
			res.end(schedule.Failed, receipts.StopInvalid, text)
		}
		return nil
	})
}

// notConfigured ends a step that nothing here can carry out, with the honest
// terminal status.
func (x *Executor) notConfigured(res *Report) {
	what, agent := "the object of the line", res.Step.Target
	if object := object(res.Step); object != "" {
		what = object
	}
	if agent == "" {
		agent = "default"
	}
	res.Attempts = res.action.Attempt
	res.end(schedule.Fault, receipts.StopNotConfigured, fmt.Sprintf("nothing here can carry out the task: write %s.dlct beside the script, or name an agent below [agents.%s] (command, require)", what, agent))
	x.record(res, nil)
}

// object is the object of a line; empty if it has none.
func object(s *plan.Step) (text string) {
	for _, v := range s.Values {
		if v.Name == "object" {
			text = v.Text
		}
	}
	return text
}

// getenv returns the value of the last of env that is called key; empty if there is none.
func getenv(env []string, key string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value = v
		}
	}
	return value
}

func setenv(env []string, key, value string) []string {
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	return append(env, key+"="+value)
}
