package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/command"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/view"
)

const execLong = `Run one command, pass its output through, and leave a receipt of it. The exit status is the
command's own.

The hash of the receipt is printed on standard error, and --receipt-file writes it to a file. The
command reads nothing from standard input and runs in a session of its own: the recorded hashes
cover all of its output, and killing it also kills its children.

In a project, or in a worktree of git, the receipt says which files the command ran on and what they
were after it; --no-tree leaves that out. "dialect gate SHA..." makes a gate of such receipts. A
command may say what it did in the JSON file that DIALECT_RESULT names.

A receipt of exec names no binding, so it proves nothing about a binding that expects more than exit
status 0. With --as BINDING the command must be exactly the binding's, without extra values; it runs
in the binding's directory, with its environment and budgets, is judged by its expectations as a
line of a script is, and the receipt names the binding. The exit status is then 0 if it passed, else
the command's own, or 1 if that is 0 and an expectation failed, and 2 if no test ran or the result
is not evidence for another reason.`

func newExec(u *ui) *cobra.Command {
	var f struct {
		recordFlags
		timeout time.Duration
		file    string
		as      string
		quiet   bool
	}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGUMENT]...",
		Short: "run one command and leave a receipt of it",
		Long:  execLong,
		Example: `  dialect exec -- python3 -m pytest -q
  dialect exec --as test_pytest -- python3 -m pytest -q`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Failf(command.Failed, "no command: dialect exec -- COMMAND [ARGUMENT]...")
			}
			dir, err := os.Getwd()
			if err != nil {
				return exit.Failf(command.Failed, "%v", err)
			}
			if f.timeout < 0 {
				return exit.Failf(command.Failed, "--timeout %v: want a positive duration", f.timeout)
			}
			root, p := command.Root(dir), command.Bare(dir, args)
			if f.as != "" {
				if p, err = command.As(dir, f.as, args); err != nil {
					return err
				}
				root = p.Matrix.Root
			} else if !f.NoTree {
				// The same files count as for a run, so that gates find one tree.
				if m, _, err := project.LoadMatrix(dir, ""); err == nil && m.Root == root {
					p.Matrix.Caches, p.Matrix.Clean = m.Caches, m.Clean
				}
			}
			if b := &p.Steps[0].Budget; f.timeout > 0 && (b.Timeout == 0 || b.Timeout > f.timeout) {
				b.Timeout = f.timeout
			}
			file := outfile.File{Flag: "--receipt-file", Name: f.file}
			store, _ := f.Paths(root)
			if err := outfile.Settle(outfile.InUse{Files: append(project.RulesAround(dir), project.Rules(p.Matrix)...), Store: store}, &file); err != nil {
				return exit.Failf(command.Failed, "%v", err)
			}
			f.Share = p.Matrix.Clean.Share
			rec, err := f.open(u, root, p.Matrix.Caches)
			if err != nil {
				return err
			}
			defer rec.Close(nil)
			sig := interrupt.Catch()
			defer sig.Stop()
			// A reader that goes away ends the command, and leaves a receipt: caught,
			// the signal becomes an error of the write. Ignored, it would be so for
			// the command too.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			opt := runOptions(rec, p)
			if f.timeout > 0 {
				opt.Budget.Timeout = f.timeout + 2*time.Second // that of the command, and its snapshots
			}
			opt.Root, opt.Control = root, sig.Control
			opt.DeferGate, opt.KeepGoing, opt.Output = true, true, true
			// One queue for both, so that their order stays. It has all the time that the
			// reader wants, and the command waits.
			queue := view.NewQueue(view.QueueOptions{Failed: func(err error) {
				if errors.Is(err, syscall.EPIPE) {
					sig.Cancel(engine.Signal{Name: "SIGPIPE"})
				}
			}})
			streams := [...]io.Writer{process.Stdout: queue.To(u.out), process.Stderr: queue.To(u.err)}
			opt.Hold = queue.Hold
			opt.Listen = func(e engine.Event) {
				if out, ok := e.(attempt.Output); ok {
					_, _ = streams[out.Stream].Write(out.Data) // Failed reports it
				}
			}
			o := engine.Run(sig.Context, p, opt)
			rec.Close(o)
			sig.Bound(o.ExitStatus(), func() {})
			queue.Flush(sig.Context)
			return execStatus(u, o, &file, f.quiet, f.as != "")
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.SetInterspersed(false)
	fl.DurationVar(&f.timeout, "timeout", 0, "kill the command after `DURATION` (0: never)")
	fl.StringVar(&f.as, "as", "", "judge the command as the binding `BINDING` of the nearest matrix, whose command it must be")
	_ = cmd.RegisterFlagCompletionFunc("as", completeBindings)
	fl.StringVar(&f.file, "receipt-file", "", "also write the hash of the receipt to `FILE`")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "do not print the hash of the receipt")
	f.recordFlags.add(cmd)
	return cmd
}

// execStatus tells how the command ended, and returns its exit status; judged says that
// a binding's expectations decide.
func execStatus(u *ui, o *engine.Outcome, file *outfile.File, quiet, judged bool) error {
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
				return exit.Failf(command.Failed, "%v", err)
			}
		}
	}
	if o.NoTree != "" {
		u.warnf("the receipt does not say what files it is about: %s", o.NoTree)
	}
	if r.Verdict == schedule.Fault && r.Reason != receipts.StopKilled || judged && r.Verdict == schedule.Failed {
		u.errorf("%s: %s", r.Reason, r.Detail)
	}
	if r.Process != nil {
		for _, n := range r.Process.Notes {
			u.note(n)
		}
	}
	return exit.Of(command.Status(o, judged))
}
