package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/runner"
	"github.com/command-dialect/dialect/runtime/view"
)

// Exit statuses of exec that are its own, as of env(1) and timeout(1).
const (
	execFailed      = 125
	execNotRunnable = 126
	execNotFound    = 127
)

const execLong = `Run one command, pass its output through, and leave a receipt of it. The exit
status is the command's own.

The receipt's hash is printed on standard error, and written to the file that
--receipt-file names. The command reads nothing from standard input and runs in a
session of its own: the recorded hashes cover all of its output, and killing it
also kills its children.

In a project, or a worktree of git, the receipt says what files the command ran on
and what they were after it; --no-tree leaves that out. Such receipts make a
gate: dialect gate SHA... A command may say what it did in the JSON file that
DIALECT_RESULT names.

A receipt of exec names no binding, and so proves nothing about one that expects more
than exit status 0. With --as BINDING the command must be exactly the binding's, without
extra values; it runs in the binding's directory, with its environment and budgets, and
is judged by its expectations as a line of a script is. The receipt names the binding.
The exit status is then 0 if it passed, else the command's own, or 1 if that is 0 and an
expectation failed, and 2 if no test ran or it was otherwise no evidence.`

func newExec(u *ui, use string) *cobra.Command {
	var f struct {
		recordFlags
		timeout time.Duration
		file    string
		as      string
		quiet   bool
	}
	cmd := &cobra.Command{
		Use:   use + " [flags] -- COMMAND [ARGUMENT]...",
		Short: "run one command and leave a receipt of it",
		Long:  execLong,
		Example: `  dialect exec -- python3 -m pytest -q
  dialect exec --as test_pytest -- python3 -m pytest -q`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Failf(execFailed, "no command: dialect exec -- COMMAND [ARGUMENT]...")
			}
			dir, err := os.Getwd()
			if err != nil {
				return exit.Failf(execFailed, "%v", err)
			}
			if f.timeout < 0 {
				return exit.Failf(execFailed, "--timeout %v: want a positive duration", f.timeout)
			}
			root, p := execRoot(dir), execPlan(dir, args)
			if f.as != "" {
				if p, err = execAs(dir, f.as, args); err != nil {
					return err
				}
				root = p.Matrix.Root
			} else if !f.noTree {
				// The same files count as for a run, so that gates find one tree.
				if m, _, err := loadMatrix(dir, ""); err == nil && m.Root == root {
					p.Matrix.Caches = m.Caches
				}
			}
			if b := &p.Steps[0].Budget; f.timeout > 0 && (b.Timeout == 0 || b.Timeout > f.timeout) {
				b.Timeout = f.timeout
			}
			file := outfile.File{Flag: "--receipt-file", Name: f.file}
			store, _ := f.paths(root)
			if err := outfile.Settle(outfile.InUse{Files: append(project.RulesAround(dir), project.Rules(p.Matrix)...), Store: store}, &file); err != nil {
				return exit.Failf(execFailed, "%v", err)
			}
			rec, err := f.open(u, root, p.Matrix.Caches, "")
			if err != nil {
				return err
			}
			defer rec.close(nil)
			rec.warn(u)
			sig := interrupt.Catch()
			defer sig.Stop()
			// A reader that goes away ends the command, and leaves a receipt: caught,
			// the signal becomes an error of the write. Ignored, it would be so for
			// the command too.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			opt := rec.options(&f.recordFlags, p)
			if f.timeout > 0 {
				opt.Budget.Timeout = f.timeout + 2*time.Second // that of the command, and its snapshots
			}
			opt.Root, opt.Control = root, sig.Control
			opt.Color, opt.DeferGate, opt.KeepGoing, opt.Output = u.outTTY && f.as == "", true, true, true
			// One queue for both, so that their order stays. It has all the time that the
			// reader wants, and the command waits.
			queue := view.NewQueue(view.QueueOptions{Failed: func(err error) {
				if errors.Is(err, syscall.EPIPE) {
					sig.Cancel(runner.Signal{Name: "SIGPIPE"})
				}
			}})
			streams := [...]io.Writer{process.Stdout: queue.To(u.out), process.Stderr: queue.To(u.err)}
			opt.Hold = queue.Hold
			opt.Listen = func(e runner.Event) {
				if out, ok := e.(runner.StepOutput); ok {
					_, _ = streams[out.Stream].Write(out.Data) // Failed is told
				}
			}
			o := runner.Run(sig.Context, p, opt)
			rec.close(o)
			sig.Bound(o.ExitStatus(), func() {})
			queue.Flush(sig.Context)
			return execStatus(u, o, &file, f.quiet, f.as != "")
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.SetInterspersed(false)
	fl.DurationVar(&f.timeout, "timeout", 0, "kill the command after `DURATION` (0: never)")
	fl.StringVar(&f.as, "as", "", "judge the command as the binding `BINDING` of the nearest matrix, which it must be")
	_ = cmd.RegisterFlagCompletionFunc("as", completeBindings)
	fl.StringVar(&f.file, "receipt-file", "", "also write the hash of the receipt to `FILE`")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "do not print the hash of the receipt")
	f.recordFlags.add(cmd)
	return cmd
}

// execPlan is the plan of a command that no binding speaks for.
func execPlan(dir string, args []string) *plan.Plan {
	return &plan.Plan{
		Script: plan.Script{Name: "exec", Part: true},
		Matrix: plan.Matrix{Root: dir},
		Steps: []*plan.Step{{
			ID: "1", Line: plan.Line{File: "exec", Number: 1, Text: report.Command(args)},
			Kind: plan.Process, Argv: args, Dir: dir, Effect: plan.Write, Expect: plan.Expect{MinTests: -1},
		}},
	}
}

// execAs is the plan of the binding called name, which the command args must be.
func execAs(dir, name string, args []string) (*plan.Plan, error) {
	fail := func(format string, a ...any) *exit.Failure {
		return exit.Failf(execFailed, "--as %s: %s", name, fmt.Sprintf(format, a...))
	}
	m, findings, err := loadMatrix(dir, "")
	if err != nil {
		return nil, fail("%v", err)
	}
	if findings.Count(diag.Error) > 0 {
		return nil, fail("the matrix %s does not load: %s", m.Name, findings.Summary()).Hint("`dialect check` says what is wrong")
	}
	b, several := m.Named(name)
	switch {
	case len(several) > 0:
		return nil, fail("several bindings have that noun: %s", strings.Join(several, ", "))
	case b == nil:
		f := fail("the matrix binds nothing of that name")
		var known []string
		for _, k := range m.Bindings {
			known = append(known, k.Name)
		}
		if near := suggest.Near(name, known); near != "" {
			f.Hint("did you mean %q?", near)
		}
		return nil, f.Hint("`dialect vocab` lists what is bound")
	case b.Kind == plan.Composite:
		f := fail("it is a composite, and a command is one of its members")
		for _, member := range b.Members {
			f.Hint("--as %s", member.Name)
		}
		return nil, f
	case b.Kind != plan.Process:
		return nil, fail("it runs no program of its own").Hint("dialect run -e %q", b.Usage())
	}
	file, parsed := lang.Parse(diag.NewSource("--as", []byte(b.Verb+" "+b.Noun+"\n")))
	p, list := resolve.Resolve(file, m, resolve.Options{Parsed: parsed, Script: plan.Script{Name: "exec", Part: true}})
	if list.Count(diag.Error) > 0 || len(p.Steps) != 1 {
		f := fail("it takes values, and a receipt of exec carries none")
		for _, d := range list {
			f.Hint("%s", d.Message)
		}
		return nil, f.Hint("dialect run -e %q", b.Usage())
	}
	s := p.Steps[0]
	if !slices.Equal(s.Argv, args) {
		return nil, fail("the command is not the binding's, which is: %s", report.Command(s.Argv)).
			Hint("dialect exec --as %s -- %s", b.Name, report.Command(s.Argv))
	}
	s.Line = plan.Line{File: "exec", Number: 1, Text: report.Command(args)}
	// It was asked for, and runs now. That it counts as writing takes a snapshot after it.
	s.WhenFailure, s.Finally, s.Effect = false, false, plan.Write
	return p, nil
}

// execRoot is the directory whose store exec uses: the nearest project's, else
// the working directory.
func execRoot(dir string) string {
	if path, err := routing.Find(dir); err == nil {
		return filepath.Dir(path)
	}
	return dir
}

// execStatus tells how the command ended, and returns its exit status; judged says that
// a binding's expectations decide.
func execStatus(u *ui, o *runner.Outcome, file *outfile.File, quiet, judged bool) error {
	r := o.Results[0]
	if o.Degraded != "" {
		u.warnf("DEGRADED: %s", report.NewDocument(o, nil, "").Lost())
	}
	if !r.Receipt.IsZero() && !r.Degraded {
		if !quiet {
			u.notef("receipt %s", r.Receipt)
		}
		if file.Path != "" {
			if err := file.Replace([]byte(r.Receipt.String()+"\n"), 0o600); err != nil {
				return exit.Failf(execFailed, "%v", err)
			}
		}
	}
	if o.NoTree != "" {
		u.warnf("the receipt does not say what files it is about: %s", o.NoTree)
	}
	if r.Verdict == runner.Fault && r.Reason != runner.Killed || judged && r.Verdict == runner.Failed {
		u.errorf("%s: %s", r.Reason, r.Detail)
	}
	pr := r.Process
	if pr != nil {
		for _, n := range pr.Notes {
			u.notef("%s", n)
		}
	}
	switch {
	case o.Signal != "":
		return exit.Status(o.ExitStatus())
	case judged && (r.Verdict == runner.Passed || r.Verdict == runner.Flaky):
		return nil
	case r.Reason == runner.EnvMissing && isFile(r.Step.Argv[0]):
		return exit.Status(execNotRunnable)
	case r.Reason == runner.EnvMissing:
		return exit.Status(execNotFound)
	case r.Reason == runner.Timeout:
		return exit.Status(124) // as timeout(1)
	case pr == nil || r.Reason == runner.StartFailed:
		return exit.Status(execFailed)
	case pr.Signal != "":
		return exit.Status(128 + signalNumber(pr.Signal))
	case pr.ExitCode != 0:
		return exit.Status(pr.ExitCode)
	case judged && r.Verdict == runner.Fault:
		return exit.Status(exit.Fault)
	case judged:
		return exit.Status(exit.Failed)
	}
	return nil
}

// isFile reports whether name is the path of something that is there: then it
// was found, and cannot be run.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil && strings.ContainsRune(name, os.PathSeparator)
}

// signalNumber is the number that POSIX gives a signal, or, of the rest, that
// Linux does; 0 if there is none.
func signalNumber(name string) int {
	return map[string]int{
		"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
		"SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGXCPU": 24, "SIGXFSZ": 25, "SIGSYS": 31,
	}[name]
}
