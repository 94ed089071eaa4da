package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

const reportLong = `Report an earlier run again, from the document that it kept: as text, or as a file in another form.
Without an id it takes the last run.

--html writes one self-contained page: the timeline of the run, and of each line its command,
verdict, output and receipt. The page is checked against the store: for each line it says whether
its receipt exists, is intact, and says the same, and at the top what the store has of the run and
the document lacks or contradicts. The kept document is not evidence, the receipts are.`

func newReport(u *ui) *cobra.Command {
	var f struct {
		storeFlags
		html, junit, markdown string
		json                  bool
	}
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "report an earlier run, as text, HTML, JUnit, Markdown or JSON",
		Long:  reportLong,
		Example: `  dialect report --html report.html
  dialect report r-3c5f0f7e21a9b6d4 --junit report.xml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			h, path, err := store.Place{Name: f.store}.Documents()
			if err != nil {
				return err
			}
			p, err := f.place()
			if err != nil {
				return err
			}
			d, err := h.Find(arg(args))
			if err != nil {
				return store.NotKept(err)
			}
			html, junit, markdown := outfile.File{Flag: "--html", Name: f.html}, outfile.File{Flag: "--junit", Name: f.junit}, outfile.File{Flag: "--markdown", Name: f.markdown}
			if err := outfile.Settle(outfile.InUse{Files: append(project.RulesAround("."), f.keys...), Store: path}, &html, &junit, &markdown); err != nil {
				return err
			}
			if err := html.Write(u.Out, func(w io.Writer) error { return history.HTML(context.Background(), w, d, path, p.Keys, version()) }); err != nil {
				return err
			}
			if err := junit.Write(u.Out, func(w io.Writer) error {
				return report.JUnit(w, d, report.JUnitOptions{Output: history.Outputs(h.Archive)})
			}); err != nil {
				return err
			}
			if err := markdown.Write(u.Out, func(w io.Writer) error { return report.Markdown(w, d) }); err != nil {
				return err
			}
			switch {
			case f.json:
				return u.JSON(d)
			case f.html != "" || f.junit != "" || f.markdown != "":
				return nil
			}
			opt := run.ReportOptions(u, d)
			if u.OutTTY {
				opt.Form = report.Terminal
			}
			return report.Text(u.Out, d, opt)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.html, "html", "", "write a page to `FILE` (- for standard output)")
	fl.StringVar(&f.junit, "junit", "", "write JUnit XML to `FILE`: a case for each test that a tool names, else for each line")
	fl.StringVar(&f.markdown, "markdown", "", "write Markdown to `FILE`")
	fl.BoolVar(&f.json, "json", false, "print the document that the run kept")
	f.storeFlags.add(cmd)
	return cmd
}
