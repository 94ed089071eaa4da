package run

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
)

// files writes the reports that are files, and what GitHub's runner reads.
func (o *Options) files(v *voice.Voice, doc *report.Document, p *project.Program, rec *recording.Recording, junit, html *outfile.File) error {
	public := func(write func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error { return rec.Secret.Through(w, write) }
	}
	store := cmp.Or(rec.Path, os.DevNull)
	if err := junit.Write(v.Out, public(func(w io.Writer) error {
		return report.JUnit(w, doc, report.JUnitOptions{Output: history.Outputs(archive.Of(store))})
	})); err != nil {
		return err
	}
	if err := html.Write(v.Out, public(func(w io.Writer) error {
		page := doc
		// The document that was kept has no secrets, as the receipts that it is compared with.
		if kept, err := (history.Documents{Archive: archive.Of(store)}).Read(doc.Run); err == nil {
			page = kept
		}
		return history.HTML(context.Background(), w, page, store, nil, o.Version)
	})); err != nil {
		return err
	}
	if os.Getenv("GITHUB_ACTIONS") != "true" || os.Getenv(report.AgentVariable) != "" {
		return nil
	}
	root := cmp.Or(os.Getenv("GITHUB_WORKSPACE"), p.Plan.Matrix.Root)
	if !o.JSON {
		if err := public(func(w io.Writer) error { return report.Annotations(w, doc, root) })(v.Out); err != nil {
			return err
		}
	}
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		summary := outfile.File{Flag: "GITHUB_STEP_SUMMARY", Name: name}
		err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: rec.Path}, &summary)
		if err == nil {
			err = summary.Append(public(func(w io.Writer) error { return report.Markdown(w, doc) }))
		}
		if err != nil {
			v.Warnf("the step summary was not written: %v", err)
		}
	}
	return nil
}

// ReportOptions are those of the report of d that is printed.
func ReportOptions(v *voice.Voice, d *report.Document) report.Options {
	opt := report.Options{Color: voice.Color(v.OutTTY), Rel: place.Short}
	if d.Store != "" { // else no line has a log, and a notary is not asked for its store
		opt.Store, _ = store.Place{Name: os.Getenv(attempt.StoreVariable)}.Path() // where there is none, "dialect log" needs a flag
	}
	return opt
}

// print prints the report of a run.
func (o *Options) print(v *voice.Voice, w io.Writer, d *report.Document) error {
	if o.JSON {
		return report.JSON(w, d)
	}
	opt := ReportOptions(v, d)
	switch {
	case v.OutTTY:
		opt.Form = report.Terminal
	case voice.InCI():
		opt.Form = report.CI
	}
	return report.Text(w, d, opt)
}
