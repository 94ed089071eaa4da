package run

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/command"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	storage "github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/view"
)

// A Command says how one command is run that no script has.
type Command struct {
	Recorded
	Timeout time.Duration // 0 for none
	File    string        // is written the hash of the receipt; empty for none
	As      string        // the binding that judges it; empty for none
	Quiet   bool          // do not print the hash of the receipt
}

// Run runs the command args in the working directory, and passes its output through.
func (c *Command) Run(v *voice.Voice, args []string) error {
	if len(args) == 0 {
		return exit.Failf(process.StatusNotBegun, "no command: dialect exec -- COMMAND [ARGUMENT]...")
	}
	dir, err := os.Getwd()
	if err != nil {
		return exit.Failf(process.StatusNotBegun, "%v", err)
	}
	if c.Timeout < 0 {
		return exit.Failf(process.StatusNotBegun, "--timeout %v: want a positive duration", c.Timeout)
	}
	if err := c.Take(v); err != nil {
		return err
	}
	root, p, err := c.plan(dir, args)
	if err != nil {
		return err
	}
	file := outfile.File{Flag: "--receipt-file", Name: c.File}
	store, _ := c.Paths(root)
	if err := outfile.Settle(outfile.InUse{Files: append(project.RulesAround(dir), project.Rules(p.Matrix)...), Store: store}, &file); err != nil {
		return exit.Failf(process.StatusNotBegun, "%v", err)
	}
	if err := file.Clear(); err != nil { // it may name the receipt of an earlier command
		return exit.Failf(process.StatusNotBegun, "%v", err)
	}
	c.Share = p.Matrix.Clean.Share
	rec, err := c.Open(v, root, p.Matrix.Caches)
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
	opt := c.Engine(rec, p)
	if c.Timeout > 0 {
		opt.Budget.Timeout = c.Timeout + 2*time.Second // that of the command, and its snapshots
	}
	opt.Root, opt.JobControl = root, sig.JobControl
	opt.DeferGate, opt.KeepGoing, opt.Output = true, true, true
	// One queue for both, so that their order stays. It has all the time that the
	// reader wants, and the command waits.
	queue := view.NewQueue(view.QueueOptions{Failed: func(err error) {
		if errors.Is(err, syscall.EPIPE) {
			sig.Cancel(engine.Signal{Name: "SIGPIPE"})
		}
	}})
	streams := [...]io.Writer{process.Stdout: queue.To(v.Out), process.Stderr: queue.To(v.Err)}
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
	return c.tell(v, o, &file, store)
}

// plan returns the root of the project around dir, and the plan of the command.
func (c *Command) plan(dir string, args []string) (string, *plan.Plan, error) {
	root, p := command.Root(dir), command.Bare(dir, args)
	if c.As != "" {
		var err error
		if p, err = command.As(dir, c.As, args); err != nil {
			return "", nil, err
		}
		if err = ofOuter(p, process.StatusNotBegun); err != nil {
			return "", nil, err
		}
		root = p.Matrix.Root
	} else if !c.NoTree {
		// The same files count as for a run, so that gates find one tree.
		if m, _, err := project.LoadMatrix(dir, ""); err == nil && m.Root == root {
			p.Matrix.Caches, p.Matrix.Clean = m.Caches, m.Clean
		}
	}
	if b := &p.Steps[0].Budget; c.Timeout > 0 && (b.Timeout == 0 || b.Timeout > c.Timeout) {
		b.Timeout = c.Timeout
	}
	return root, p, nil
}

// tell tells how the command ended, keeps the hash of its receipt in file, and returns its exit status. Its store was to be at path.
func (c *Command) tell(v *voice.Voice, o *engine.Outcome, file *outfile.File, path string) error {
	judged := c.As != "" // a binding's expectations decide
	r := o.Results[0]
	kept := !r.Receipt.IsZero() && !r.Degraded
	lost := !kept && (c.Store != attempt.NoStore || r.Step.ReceiptRequired)
	if o.Degraded != "" {
		say := v.Warnf
		if lost && command.Status(o, judged, false) == 0 { // it decides
			say = v.Errorf
		}
		say("DEGRADED: %s", report.NewDocument(o, nil, "").Lost())
		if hint := storage.RemedyAt(o.Degraded, path); hint != "" {
			v.Hintf("%s", hint)
		}
	}
	if kept {
		if !c.Quiet {
			v.Notef("receipt %s", r.Receipt)
		}
		if file.Path != "" {
			if err := file.Replace([]byte(r.Receipt.String()+"\n"), 0o600); err != nil {
				return exit.Failf(process.StatusNotBegun, "%v", err)
			}
		}
	}
	if o.NoTree != "" {
		v.Warnf("the receipt does not say what files it is about: %s", o.NoTree)
	}
	if r.Verdict == schedule.Fault && r.Reason != receipts.StopKilled || judged && r.Verdict == schedule.Failed {
		v.Errorf("%s: %s", r.Reason, r.Detail)
	}
	if r.Process != nil {
		for _, n := range r.Process.Notes {
			v.Note(n)
		}
	}
	return exit.Of(command.Status(o, judged, lost))
}
