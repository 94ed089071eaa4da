package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
)

const faultLong = `Print the line faults of a run for a repair agent: for each line that failed or could not be
completed its invocation, its last lines of output, its first error and how to reproduce it. With
RUN/STEP, or the id of a receipt, it prints that one object. Without an id it takes the last run.`

func newFault(u *ui) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "fault [RUN[/STEP] | RECEIPT]",
		Short: "print the line faults of a run as JSON, for a repair agent",
		Long:  faultLong,
		Example: `  dialect fault
  dialect fault r-3c5f0f7e21a9b6d4/3.2 | jq -r '.last_output_lines[]'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			h, _, err := store.Place{Name: name}.Documents()
			if err != nil {
				return err
			}
			d, l, err := h.Line(arg(args))
			switch {
			case err != nil:
				return store.NotKept(err)
			case l == nil:
				return u.JSON(d.Faults())
			case l.Fault == nil:
				return exit.Failf(exit.Failed, "the line %s of %s has no fault: it %s", l.ID, d.Run, l.How())
			}
			return u.JSON(l.Fault)
		},
	}
	addStoreFlag(cmd, &name)
	return cmd
}
