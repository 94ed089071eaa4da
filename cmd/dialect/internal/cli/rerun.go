package cli

import (
	"github.com/spf13/cobra"
)

const rerunLong = `Repeat an earlier run: its script as it is now, or the same lines if it was run from
standard input or with -e. RUN/STEP, or the id of a receipt, selects one line. The files, the matrix
and the script are the present ones, and variables have what --set gave them then, unless it is
given now; the matrix of a run with --routing has to be named again. The run is a new one, with new
receipts. Without an id it takes the last run.`

func newRerun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "rerun [RUN[/STEP] | RECEIPT]",
		Short:             "repeat an earlier run",
		Long:              rerunLong,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			return f.given().Rerun(u, arg(args))
		},
	}
	f.add(cmd)
	return cmd
}
