package runner

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/builtin"
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
	env      []string
	removed  []string
	digest   receipts.Hash // of env
}

func newExecutor(r *run) *executor {
	x := &executor{run: r}
	x.launcher, x.err = process.New(process.Options{})
	if r.opt.Store != nil {
		x.claims.open()
	}
	x.env, x.removed = x.environ(nil)
	x.digest = process.EnvironDigest(x.env)
	return x
}

// environ makes the environment of a step for which the matrix sets set.
func (x *executor) environ(set map[string]string) (env, removed []string) {
	o := x.run.opt
	env, removed = process.Environ(o.Environ, process.EnvOptions{Color: o.Color, Set: set})
	// A script that runs dialect itself records into the same session.
	return setenv(env, "DIALECT_SESSION", o.Session), removed
}

func (x *executor) close() {
	x.claims.close()
	if x.launcher != nil {
		_ = x.launcher.Close() // what it could not end, it could not end
	}
}

// process runs the command of a step, again if it may be retried, and records
// each attempt.
func (x *executor) process(res *Result) {
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
		digest = process.EnvironDigest(env)
	}
	if x.reuse(res, env, digest) {
		return
	}
	env = setenv(env, ParentVariable, x.run.opt.Run+"/"+s.ID)
	for attempt := 1; ; attempt++ {
		res.Attempts = attempt
		x.run.emit(StepStarted{Step: s, Attempt: attempt, At: x.run.opt.Now()})
		claim := x.claims.path(s.ID, attempt)
		if claim != "" {
			env = setenv(env, ResultVariable, claim)
		}
		var stdout capture
		c := &process.Command{
			Argv: s.Argv, Dir: s.Dir, LookupDir: x.run.plan.Matrix.Root, Env: env,
			Timeout: s.Budget.Timeout, Stall: s.Budget.Stall, MaxOutput: s.Budget.MaxOutput,
			LogDir: x.run.opt.LogDir, Digest: true, Redact: x.run.opt.Redact,
		}
		if x.run.opt.Output || s.Expect.Stdout != "" {
			c.Output = func(stream process.Stream, p []byte) {
				if s.Expect.Stdout != "" && stream == process.Stdout {
					stdout.Write(p)
				}
				if x.run.opt.Output {
					x.run.emit(StepOutput{Step: s, Stream: stream, Data: p})
				}
			}
		}
		pr := x.launcher.Run(x.run.ctx, c)
		res.Process = &pr
		judge(res, &stdout)
		judgeClaim(res, claim)
		if ff, ok := context.Cause(x.run.ctx).(failFast); ok && res.Verdict == Fault && res.Reason == Interrupted {
			res.Verdict, res.Reason, res.By = Cancelled, FailFast, ff.by
			res.Detail = "killed: " + ff.Error()
		}
		retry := res.Verdict == Failed && attempt <= s.Budget.Retries && x.run.ctx.Err() == nil
		if !res.Receipt.IsZero() {
			res.Earlier = append(res.Earlier, res.Receipt)
		}
		res.Receipt = x.run.ledger.submit(x.run.processReceipt(res, digest))
		if retry {
			if !res.grouped {
				res.epoch = x.run.trees.epoch
			}
			continue
		}
		if res.Verdict == Passed && attempt > 1 {
			res.Verdict = Flaky
			res.Detail = fmt.Sprintf("passed at attempt %d of %d", attempt, s.Budget.Retries+1)
		}
		return
	}
}

// ParentVariable names the variable by which a command knows the step that it is of:
// "RUN/STEP". A run that it starts says so, and its gate is taken in by that of the
// outer run.
const ParentVariable = "DIALECT_PARENT"

// reuse lets an earlier pass stand for the step of res, if the run and the binding
// want that, and the files, the command, the executable, the environment, the matrix
// and the trust level are those of the earlier one. The receipt of res cites it.
func (x *executor) reuse(res *Result, env []string, digest receipts.Hash) bool {
	s, o := res.Step, x.run.opt
	if !o.Reuse || !s.Reuse || writes(s) || o.Store == nil || res.epoch == nil || len(res.epoch.changed) > 0 || x.run.ledger.reason() != "" {
		return false
	}
	if x.run.ledger.sync() != nil {
		return false
	}
	e, ok, err := o.Store.Passed(context.Background(), receipts.CommandHash(x.run.command(s)), res.epoch.tree)
	if err != nil || !ok || e.Level < o.Level {
		return false
	}
	v, err := e.Parse()
	old, isReceipt := v.(*receipts.Receipt)
	if err != nil || !isReceipt || old.Status != receipts.Succeeded || old.Workspace == nil || old.Workspace.Before != res.epoch.tree ||
		old.Environment != digest || old.Matrix != x.digestOfMatrix() || old.Binding != s.Binding || old.Executable == nil || old.Executable.SHA256.IsZero() {
		return false
	}
	path, sum, err := x.launcher.Identify(s.Argv[0], x.run.plan.Matrix.Root, env)
	if err != nil || receipts.Text(path) != old.Executable.Path || sum != old.Executable.SHA256 {
		return false
	}
	res.Reused = e.SHA
	if !old.Reused.IsZero() {
		res.Reused = old.Reused
	}
	res.Verdict, res.Attempts = Passed, 1
	res.Detail = "reused " + res.Reused.Short()
	rec := x.run.receipt(res)
	rec.Reused, rec.ExitCode, rec.Stdout, rec.Stderr, rec.Tests = res.Reused, old.ExitCode, old.Stdout, old.Stderr, old.Tests
	rec.Executable, rec.Environment = old.Executable, digest
	res.Receipt = x.run.ledger.submit(rec)
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
	res.Receipt = x.run.ledger.submit(x.run.receipt(res))
}

// notConfigured ends a step that nothing here can carry out, with the honest
// terminal status.
func (x *executor) notConfigured(res *Result) {
	s := res.Step
	res.Started = x.run.opt.Now()
	res.Attempts = 1
	res.Verdict, res.Reason = Fault, NotConfigured
	switch s.Kind {
	case plan.MCP:
		res.Detail = fmt.Sprintf("no MCP server is configured for %s; bind %s %s to a command in %s:%d", s.Target, s.Verb, s.Noun, s.Origin.File, s.Origin.Line)
	default:
		res.Detail = fmt.Sprintf("no agent is configured for new_task; bind %s %s to a command in %s:%d", s.Verb, s.Noun, s.Origin.File, s.Origin.Line)
	}
	res.Receipt = x.run.ledger.submit(x.run.receipt(res))
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

// judge sets the verdict of res from how its process ended.
func judge(res *Result, stdout *capture) {
	p, want := res.Process, res.Step.Expect
	res.Reason, res.Detail = "", ""
	switch {
	case p.Stop != "":
		res.Verdict, res.Reason = Fault, Reason(p.Stop)
		res.Detail = stopDetail(res)
	case p.Signal != "":
		res.Verdict, res.Reason, res.Detail = Fault, Killed, "killed by "+p.Signal
	case res.Step.Shell && (p.ExitCode == 126 || p.ExitCode == 127):
		// What a shell says when it finds no such command.
		res.Verdict, res.Reason = Fault, EnvMissing
		res.Detail = "the shell exited " + strconv.Itoa(p.ExitCode) + ": a command in it was not found"
	case len(want.ExitCodes) > 0 && !slices.Contains(want.ExitCodes, p.ExitCode),
		len(want.ExitCodes) == 0 && p.ExitCode != 0:
		res.Verdict, res.Reason, res.Detail = Failed, ExitCode, "exit "+strconv.Itoa(p.ExitCode)
	case want.EmptyStdout && p.Stdout.Bytes > 0:
		res.Verdict, res.Reason = Failed, Expectation
		res.Detail = fmt.Sprintf("exit %d, but standard output is not empty", p.ExitCode)
	case want.Stdout != "" && !stdout.matches(want.Stdout):
		res.Verdict, res.Reason = Failed, Expectation
		res.Detail = fmt.Sprintf("exit %d, but standard output does not match %q", p.ExitCode, want.Stdout)
	case want.MinTests > 0:
		n, ok := countTests(p.Tail)
		switch {
		case !ok:
			res.Verdict, res.Reason, res.Detail = Fault, Vacuous, "the output has no count of tests, and min_tests wants one"
		case n < want.MinTests:
			res.Verdict, res.Reason = Fault, Vacuous
			res.Detail = fmt.Sprintf("%d tests ran, min_tests is %d", n, want.MinTests)
		default:
			res.Verdict = Passed
		}
	default:
		res.Verdict = Passed
	}
}

func stopDetail(res *Result) string {
	b := res.Step.Budget
	switch Reason(res.Process.Stop) {
	case Timeout:
		return fmt.Sprintf("killed after its timeout of %v", b.Timeout)
	case Stall:
		return fmt.Sprintf("killed after %v without output", b.Stall)
	case OutputLimit:
		return fmt.Sprintf("killed after more than %d bytes of output", b.MaxOutput)
	case Interrupted:
		return "killed: the run was interrupted"
	}
	if res.Process.Err != nil {
		return res.Process.Err.Error()
	}
	return ""
}

// captureLimit bounds what an expectation on standard output may look at, in
// bytes; beyond it the beginning is forgotten.
const captureLimit = 1 << 20

type capture struct{ buf []byte }

func (c *capture) Write(p []byte) {
	c.buf = append(c.buf, p...)
	if len(c.buf) > 2*captureLimit {
		c.buf = append(c.buf[:0], c.buf[len(c.buf)-captureLimit:]...)
	}
}

func (c *capture) matches(pattern string) bool {
	re, err := regexp.Compile(pattern) // the matrix was checked; a bad pattern matches nothing
	return err == nil && re.Match(c.buf)
}
