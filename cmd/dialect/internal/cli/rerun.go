package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
)

const rerunLong = `Run again what an earlier run ran: its script as it is now, or the same lines if it was run from
standard input or with -e. RUN/STEP, or the id of a receipt, selects one line. The files, the matrix
and the script are the present ones; the run is a new one, with new receipts. Without an id it takes
the last run.`

func newRerun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "rerun [RUN[/STEP] | RECEIPT]",
		Short:             "run again what an earlier run ran",
		Long:              rerunLong,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			h, path, err := store.Place{Name: f.Store}.Documents()
			if err != nil {
				return err
			}
			d, l, err := h.Line(arg(args))
			if err != nil {
				return notKept(err)
			}
			if err := f.check(); err != nil {
				return err
			}
			again, err := h.Again(path, d, l)
			if err != nil {
				return notKept(err)
			}
			f.Clean = f.Clean || d.Clean && !f.inPlace
			if again.Script == "" {
				f.lines = again.Lines
				return f.run(u, nil)
			}
			if again.Note != "" {
				u.note(again.Note)
			}
			return f.run(u, []string{again.Script})
		},
	}
	f.add(cmd)
	return cmd
}
