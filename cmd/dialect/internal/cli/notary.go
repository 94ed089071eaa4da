package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// notNotary are the flags that are the notary's to decide.
var notNotary = []string{"store", "key-fd", "no-tree", "in-place", "base", "routing", "keep-going", "accept-flaky", "html"}

// checkNotary says which flags cannot be given where a notary runs the script.
func (f *runFlags) checkNotary() error {
	for _, name := range notNotary {
		if f.given.Changed(name) {
			return exit.Usagef("--%s is not for who asks a notary: it has its own rules, store and key", name).Hint("the socket is that of --notary, or of %s", notary.Variable)
		}
	}
	return nil
}

// spec is what the notary is asked for.
func (f *runFlags) spec(p *project.Program, folder string) notary.Spec {
	s := p.Script
	return notary.Spec{
		Script: s.Text, Name: s.Name, Path: s.Path, Folder: folder, Line: s.Line, Member: s.Member, Part: s.Part, Lines: p.Lines, Vars: p.Vars,
		Flags: p.Plan.Script.Flags, Session: f.Session, Nonce: f.Nonce, Jobs: f.jobs, FailFast: f.failFast, DeferGate: f.deferGate,
		Timeout: f.budget.Timeout, Stall: f.budget.Stall, MaxOutput: f.budget.MaxOutput, Reuse: f.reuse,
	}
}

// notarize has a notary run a program that binds, and reports it.
func (f *runFlags) notarize(u *ui, p *project.Program) error {
	if err := f.checkNotary(); err != nil {
		return err
	}
	m := p.Plan.Matrix
	events, junit := outfile.File{Flag: "--events", Name: f.events, Stream: true}, outfile.File{Flag: "--junit", Name: f.junit}
	if err := outfile.Settle(outfile.InUse{Files: append(project.Rules(m), p.Script.Path)}, &events, &junit); err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	sig := interrupt.Catch()
	defer sig.Stop()
	c, err := notary.Dial(sig.Context, f.notary)
	if err != nil {
		return noNotary(err)
	}
	secret := recording.Redactor(p.Plan, "")
	var file io.WriteCloser
	if f.events != "" {
		if file, err = events.Open(); err != nil {
			return exit.Usagef("--events %s: %v", f.events, err)
		}
		defer file.Close()
	}
	shown, mode := u.watch(f.output, f.json, secret)
	hide := shown.Hide
	sig.Hide.Store(&hide)
	spec := f.spec(p, folder)
	spec.Output = mode == view.Live || mode == view.Stream || f.events != ""
	run, err := c.Start(context.Background(), spec)
	if err != nil {
		u.unwatch(shown)
		return noNotary(err)
	}
	defer run.Close()
	defer context.AfterFunc(sig.Context, func() {
		s, _ := context.Cause(sig.Context).(engine.Signal)
		_ = run.Cut(context.Background(), s.Name, false) // the notary may be gone, which the events say
	})()
	defer sig.Control.Attach(func() { _ = run.Cut(context.Background(), "", true) }, func() func() {
		_ = run.Pause(context.Background(), true)
		return func() { _ = run.Pause(context.Background(), false) }
	})()
	var log *report.Events
	if file != nil {
		log = report.NewEvents(file, secret, nil)
	}
	var failed error
	for e, err := range run.Events(context.Background(), p.Plan) {
		if err != nil {
			failed = err
			break
		}
		shown.Listen(e)
		if log != nil {
			log.Listen(e)
		}
	}
	u.unwatch(shown)
	for _, text := range run.Notes {
		u.note(text)
	}
	o := run.Outcome()
	if o == nil {
		return noNotary(cmp.Or(failed, notary.ErrLost))
	}
	doc := report.NewDocument(o, p.Findings, "")
	if err := secret.Through(u.out, func(w io.Writer) error { return f.printOutcome(u, w, doc) }); err != nil {
		return err
	}
	if err := junit.Write(u.out, func(w io.Writer) error {
		return secret.Through(w, func(w io.Writer) error { return report.JUnit(w, doc, report.JUnitOptions{}) })
	}); err != nil {
		return err
	}
	if log != nil && log.Err() != nil {
		return exit.Failf(exit.Internal, "--events: %v", log.Err())
	}
	return exit.Of(o.ExitStatus())
}

// noNotary is the error of a notary that does not answer, or refuses.
func noNotary(err error) error {
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
