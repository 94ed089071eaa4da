package cli

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/runner"
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
session of its own: what it hashes to is what it wrote, and when it is killed
nothing of it is left.

In a project, or a worktree of git, the receipt says what files the command ran on
and what they were after it; --no-tree leaves that out. Four such receipts make a
gate: dialect gate SHA... A command may say what it did in the JSON file that
DIALECT_RESULT names.`

func newExec(u *ui, use string) *cobra.Command {
	var f struct {
		recordFlags
		timeout time.Duration
		file    string
		quiet   bool
	}
	cmd := &cobra.Command{
		Use:     use + " [flags] -- COMMAND [ARGUMENT]...",
		Short:   "run one command and leave a receipt of it",
		Long:    execLong,
		Example: `  dialect exec -- python3 -m pytest -q`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return failf(execFailed, "no command: dialect exec -- COMMAND [ARGUMENT]...")
			}
			dir, err := os.Getwd()
			if err != nil {
				return failf(execFailed, "%v", err)
			}
			if f.timeout < 0 {
				return failf(execFailed, "--timeout %v: want a positive duration", f.timeout)
			}
			text := report.Command(args)
			step := &plan.Step{
				ID: "1", Line: plan.Line{File: "exec", Number: 1, Text: text},
				Kind: plan.Process, Argv: args, Dir: dir, Effect: plan.Write,
				Budget: plan.Budget{Timeout: f.timeout}, Expect: plan.Expect{MinTests: -1},
			}
			p := &plan.Plan{
				Script: plan.Script{Name: "exec", Part: true},
				Matrix: plan.Matrix{Root: dir},
				Steps:  []*plan.Step{step},
			}
			rec, err := f.open(u, execRoot(dir), nil)
			if err != nil {
				return err
			}
			defer rec.close()
			rec.warn(u)
			sig := catchSignals()
			defer sig.stop()
			// A reader that goes away ends the command, and leaves a receipt: caught,
			// the signal becomes an error of the write. Ignored, it would be so for
			// the command too.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			opt := rec.options(&f.recordFlags, p)
			opt.Root, opt.Control = execRoot(dir), sig.control
			opt.Color, opt.DeferGate, opt.KeepGoing, opt.Output = u.outTTY, true, true, true
			opt.Listen = func(e runner.Event) {
				out, ok := e.(runner.StepOutput)
				if !ok {
					return
				}
				w := u.out
				if out.Stream == process.Stderr {
					w = u.err
				}
				if _, err := w.Write(out.Data); errors.Is(err, syscall.EPIPE) {
					sig.cancel(runner.Signal{Name: "SIGPIPE"})
				}
			}
			o := runner.Run(sig.ctx, p, opt)
			return execStatus(u, o, f.file, f.quiet)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.SetInterspersed(false)
	fl.DurationVar(&f.timeout, "timeout", 0, "kill the command after `DURATION` (0: never)")
	fl.StringVar(&f.file, "receipt-file", "", "also write the hash of the receipt to `FILE`")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "do not print the hash of the receipt")
	f.recordFlags.add(cmd)
	return cmd
}

// execRoot is the directory whose store exec uses: the nearest project's, else
// the working directory.
func execRoot(dir string) string {
	if root, ok := projectRoot(dir); ok {
		return root
	}
	return dir
}

func execStatus(u *ui, o *runner.Outcome, file string, quiet bool) error {
	r := o.Results[0]
	if o.Degraded != "" {
		u.notef("DEGRADED: no receipt was kept: %s", o.Degraded)
	} else if !r.Receipt.IsZero() {
		if !quiet {
			u.notef("receipt %s", r.Receipt)
		}
		if file != "" {
			if err := os.WriteFile(file, []byte(r.Receipt.String()+"\n"), 0o600); err != nil {
				return failf(execFailed, "cannot write the receipt's hash: %v", err)
			}
		}
	}
	if o.NoTree != "" {
		u.notef("the receipt does not say what files it is about: %s", o.NoTree)
	}
	if r.Verdict == runner.Fault && r.Reason != runner.Killed {
		u.errorf("%s: %s", r.Reason, r.Detail)
	}
	pr := r.Process
	switch {
	case o.Signal != "":
		return exitStatus(o.ExitStatus())
	case r.Reason == runner.EnvMissing && isFile(r.Step.Argv[0]):
		return exitStatus(execNotRunnable)
	case r.Reason == runner.EnvMissing:
		return exitStatus(execNotFound)
	case pr == nil || r.Reason == runner.StartFailed:
		return exitStatus(execFailed)
	case r.Reason == runner.Timeout:
		return exitStatus(124) // as timeout(1)
	case pr.Signal != "":
		return exitStatus(128 + signalNumber(pr.Signal))
	case pr.ExitCode != 0:
		return exitStatus(pr.ExitCode)
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
