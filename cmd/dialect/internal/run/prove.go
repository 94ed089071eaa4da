package run

import (
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/prove"
	"github.com/command-dialect/dialect/runtime/recording"
)

// Prove tests the checks of the script, the line or the binding that args name, or of the default script, and prints the
// document of it. It ends with its status.
func (o *Options) Prove(v *voice.Voice, args []string) error {
	o.Clean, o.Output, o.command = true, "auto", "prove"
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.Take(v); err != nil {
		return err
	}
	if o.NoTree || o.Store == "none" {
		return exit.Usagef("what is broken is a file of a snapshot, and the result a receipt: leave --no-tree and --store none out")
	}
	line, err := script.Named(args, o.Routing)
	switch {
	case err != nil:
		return err
	case line != "":
		args, o.Lines = nil, []string{line}
	default:
		if args, err = o.orDefault(v, args); err != nil {
			return err
		}
	}
	p, err := o.Bind(v, args)
	if err != nil {
		return err
	}
	var doc *prove.Document
	if o.Notary != "" {
		doc, err = o.provenBy(v, p)
	} else {
		doc, err = o.proven(v, p)
	}
	if err != nil {
		return err
	}
	v.Stands()
	if err := v.Print(o.JSON, doc); err != nil {
		return err
	}
	return exit.Of(doc.Status())
}

// proven tests the checks of a program, and leaves the receipts in the store.
func (o *Options) proven(v *voice.Voice, p *project.Program) (*prove.Document, error) {
	m := p.Plan.Matrix
	o.Share = m.Clean.Share
	rec, err := o.Open(v, m.Root, m.Caches)
	if err != nil {
		return nil, err
	}
	defer rec.Close(nil)
	sig := interrupt.Catch()
	defer sig.Stop()
	_, logs := o.Paths(m.Root)
	doc, err := prove.Run(sig.Context, prove.Options{
		Program: p, Room: rec.Room(), Timeout: o.Budget.Timeout, Note: v.Note, Secret: recording.Redactor(p.Plan, logs),
		Run: func(part *plan.Plan) engine.Options {
			opt := o.Engine(rec, part)
			opt.Jobs, opt.JobControl = o.Jobs, sig.JobControl
			return opt
		},
	})
	if err != nil {
		return nil, exit.Failf(exit.Fault, "%v", err)
	}
	return doc, nil
}

// provenBy has the notary test the checks of a program, and record it.
func (o *Options) provenBy(v *voice.Voice, p *project.Program) (*prove.Document, error) {
	if err := o.checkNotary(); err != nil {
		return nil, err
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, exit.Failf(exit.Internal, "%v", err)
	}
	sig := interrupt.Catch()
	defer sig.Stop()
	c, err := o.dial(sig)
	if err != nil {
		return nil, err
	}
	spec := o.spec(p, folder)
	spec.Prove = true
	run, leave, err := begin(sig, c, spec)
	if err != nil {
		return nil, err
	}
	defer leave()
	doc, err := run.Proof(v.Note)
	if err != nil {
		return nil, NoNotary(err)
	}
	return doc, nil
}
