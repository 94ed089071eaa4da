package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
)

// faulty has the files of reports say that a fault of the script or its matrix kept all of it from being run: those of an earlier run would be taken
// for this one's.
func (o *Options) faulty(v *voice.Voice, p *project.Program) {
	store, _ := o.Paths(p.Matrix.Root)
	events := outfile.File{Flag: "--events", Name: o.Events, Stream: true}
	junit, html := outfile.File{Flag: "--junit", Name: o.JUnit}, outfile.File{Flag: "--html", Name: o.HTML}
	err := outfile.Settle(outfile.InUse{Files: append(project.Rules(resolve.Matrix(p.Matrix)), p.Script.Path), Store: store}, &events, &junit, &html)
	if err == nil {
		var log *eventLog
		log, err = openEvents(&events, nil)
		log.close()
	}
	if err == nil {
		var why strings.Builder
		why.WriteString(p.Findings.Summary() + ": nothing was run")
		for _, d := range p.Findings {
			if d.Severity == diag.Error {
				why.WriteString("\n" + d.String())
			}
		}
		doc, secret := report.Unended(p.Script.Name, why.String()), recording.Redactor(p.Plan, "")
		err = cmp.Or(
			junit.Write(v.Out, func(w io.Writer) error {
				return secret.Through(w, report.Markup(), func(w io.Writer) error { return report.JUnit(w, doc, report.JUnitOptions{}) })
			}),
			html.Write(v.Out, func(w io.Writer) error {
				return secret.Through(w, report.Markup(), func(w io.Writer) error {
					return report.HTML(w, doc, report.HTMLOptions{Version: o.Version, Now: time.Now()})
				})
			}))
	}
	if err != nil {
		v.Warnf("no report was written: %v", err)
	}
}

// files writes the reports that are files, and what GitHub's runner reads.
func (o *Options) files(v *voice.Voice, doc *report.Document, p *project.Program, rec *recording.Recording, junit, html *outfile.File) error {
	public := func(f redact.Syntax, write func(io.Writer) error) func(io.Writer) error {
		return func(w io.Writer) error { return rec.Secret.Through(w, f, write) }
	}
	store := cmp.Or(rec.Path, os.DevNull)
	if err := junit.Write(v.Out, public(report.Markup(), func(w io.Writer) error {
		return report.JUnit(w, doc, report.JUnitOptions{Output: history.Outputs(archive.Of(store))})
	})); err != nil {
		return err
	}
	if err := html.Write(v.Out, public(report.Markup(), func(w io.Writer) error {
		page := doc
		if doc.Run == "" { // of no line that is left: no store knows anything of it
			return report.HTML(w, doc, report.HTMLOptions{Version: o.Version, Now: time.Now()})
		}
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
		if err := public(redact.Text, func(w io.Writer) error { return report.Annotations(w, doc, root) })(v.Out); err != nil {
			return err
		}
	}
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		summary := outfile.File{Flag: "GITHUB_STEP_SUMMARY", Name: name}
		err := outfile.Settle(outfile.InUse{Files: append(project.Rules(p.Plan.Matrix), p.Script.Path), Store: rec.Path}, &summary)
		if err == nil {
			err = summary.Append(public(redact.Text, func(w io.Writer) error { return report.Markdown(w, doc) }))
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

// print prints the report of a run whose store was to be at path; empty where that is for others to know.
func (o *Options) print(v *voice.Voice, w io.Writer, d *report.Document, path string) error {
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
	err := report.Text(w, d, opt)
	if hint := store.RemedyAt(d.Degraded, path); err == nil && hint != "" {
		_, err = fmt.Fprintf(w, "hint: %s\n", hint)
	}
	return err
}
