package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
)

// notNotary are the flags that are the notary's to decide.
var notNotary = []string{"store", "key-fd", "no-tree", "in-place", "base", "routing", "keep-going", "accept-flaky", "html"}

// checkNotary says which flags cannot be given where a notary runs the script.
func (o *Options) checkNotary() error {
	for _, name := range notNotary {
		if slices.Contains(o.Given, name) {
			return exit.Usagef("--%s does not go with a notary: it has its own rules, store and key", name).Hint("the socket is that of --notary, or of %s", notary.Variable)
		}
	}
	return nil
}

// spec is what the notary is asked for.
func (o *Options) spec(p *project.Program, folder string) notary.Spec {
	s := p.Script
	return notary.Spec{
		Script: s.Text, Name: s.Name, Path: s.Path, Folder: folder, Line: s.Line, Member: s.Member, Part: s.Part, Lines: p.Lines, Vars: p.Vars,
		Flags: p.Plan.Script.Flags, Session: o.Session, Nonce: o.Nonce, Jobs: o.Jobs, FailFast: o.FailFast, DeferGate: o.DeferGate,
		Timeout: o.Budget.Timeout, Stall: o.Budget.Stall, MaxOutput: o.Budget.MaxOutput, Reuse: o.Reuse,
	}
}

// notarize has a notary run a program that binds, and reports it.
func (o *Options) notarize(v *voice.Voice, p *project.Program) error {
	if err := o.checkNotary(); err != nil {
		return err
	}
	m := p.Plan.Matrix
	events, junit := outfile.File{Flag: "--events", Name: o.Events, Stream: true}, outfile.File{Flag: "--junit", Name: o.JUnit}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(m), p.Script.Path)}, &events, &junit); err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	sig := interrupt.Catch()
	defer sig.Stop()
	c, err := o.dial(sig)
	if err != nil {
		return err
	}
	secret := recording.Redactor(p.Plan, "")
	log, err := openEvents(&events, secret)
	if err != nil {
		return err
	}
	defer log.close()
	shown := v.Watch(o.Output, o.JSON, secret)
	hide := shown.Hide
	sig.Hide.Store(&hide)
	spec := o.spec(p, folder)
	if t := cmp.Or(spec.Timeout, p.Plan.Budget.Timeout); t > 0 && o.spent[p] > 0 {
		spec.Timeout = max(t-o.spent[p], time.Millisecond)
	}
	spec.Output = shown.Streams() || log != nil
	run, leave, err := begin(sig, c, spec)
	if err != nil {
		shown.Close()
		return err
	}
	defer leave()
	var failed error
	for e, err := range run.Events(context.Background(), p.Plan) {
		if err != nil {
			failed = err
			break
		}
		shown.Listen(e)
		if log != nil {
			log.Listen(e)
			if ch := log.queue.Hold(); ch != nil {
				<-ch
			}
		}
	}
	shown.Close()
	for _, text := range run.Notes {
		v.Note(text)
	}
	lost := log.flush(sig.Context)
	out := run.Outcome()
	if out == nil {
		return NoNotary(cmp.Or(failed, notary.ErrLost))
	}
	doc := report.NewDocument(out, p.Findings, "")
	v.Stands()
	if err := secret.Through(v.Out, report.Syntax(o.JSON), func(w io.Writer) error { return o.print(v, w, doc, "") }); err != nil {
		return err
	}
	if err := junit.Write(v.Out, func(w io.Writer) error {
		return secret.Through(w, report.Markup(), func(w io.Writer) error { return report.JUnit(w, doc, report.JUnitOptions{}) })
	}); err != nil {
		return err
	}
	if lost != nil {
		return exit.Failf(exit.Internal, "--events: %v", lost)
	}
	return exit.Of(out.ExitStatus())
}

// dial finds the notary, within the time that the run has.
func (o *Options) dial(sig *interrupt.Catcher) (*notary.Client, error) {
	ctx := sig.Context
	if o.Budget.Timeout > 0 {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, o.Budget.Timeout)
		defer stop()
	}
	c, err := notary.Dial(ctx, o.Notary)
	if err != nil {
		return nil, unanswered(sig, err)
	}
	return c, nil
}

// begin has a notary start what it is asked for. A busy notary does other runs first: a signal ends that wait. A run that has begun
// is cut by it instead, and says how it ended.
func begin(sig *interrupt.Catcher, c *notary.Client, spec notary.Spec) (run *notary.Run, leave func(), err error) {
	waiting, stop := context.WithCancel(context.Background())
	begun := context.AfterFunc(sig.Context, stop)
	if run, err = c.Start(waiting, spec); err != nil {
		stop()
		return nil, nil, unanswered(sig, err)
	}
	if !begun() {
		run.Close()
		stop()
		return nil, nil, exit.Status(interrupt.Status(sig.Context))
	}
	cut := context.AfterFunc(sig.Context, func() {
		s, _ := context.Cause(sig.Context).(engine.Signal)
		_ = run.Cut(context.Background(), s.Name, false) // the notary may be gone, which the events say
	})
	detach := sig.JobControl.Attach(func() { _ = run.Cut(context.Background(), "", true) }, func() func() {
		_ = run.Pause(context.Background(), true)
		return func() { _ = run.Pause(context.Background(), false) }
	})
	return run, func() { detach(); cut(); run.Close(); stop() }, nil
}

// unanswered is the error of a notary that has not begun the run: the status of a signal, if one came meanwhile.
func unanswered(sig *interrupt.Catcher, err error) error {
	if sig.Context.Err() != nil {
		return exit.Status(interrupt.Status(sig.Context))
	}
	return NoNotary(err)
}

// NoNotary is the error of a notary that does not answer, or refuses.
func NoNotary(err error) error {
	var r *notary.Refused
	switch {
	case errors.As(err, &r) && r.Hint != "":
		return exit.Failf(exit.Refused, "%v", err).Hint("%s", r.Hint)
	case errors.As(err, &r):
		return exit.Failf(exit.Refused, "%v", err)
	case errors.Is(err, notary.ErrLost):
		return exit.Failf(exit.Fault, "%v: the run was cut, and has no gate", err).Hint("`dialect notary status` says whether it is back")
	}
	return exit.Failf(exit.Fault, "%v", err).Hint("without %s, and without --notary, the run is recorded by itself", notary.Variable)
}
