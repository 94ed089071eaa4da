package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
)

const runsLong = `Show the runs of the store, the newest last, and how their lines did: how often each ran and failed,
how long it takes, and on how many states of the files it both passed and failed, which is what a
flaky check does. With SCRIPT only the runs of the script of that name.

The answer comes from the receipts. A run is "passed" if its final gate passed, "gated" if a gate
over a part of the script did, and "unfinished" if a planned command has no receipt.`

func newRuns(u *ui) *cobra.Command {
	var f struct {
		store string
		limit int
		json  bool
	}
	cmd := &cobra.Command{
		Use:               "runs [SCRIPT]",
		Short:             "show earlier runs, and how each line did",
		Long:              runsLong,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.limit < 1 {
				return exit.Usagef("--limit %d: want a positive number", f.limit)
			}
			r, err := store.Place{Name: f.store}.Runs(arg(args), f.limit)
			if err != nil {
				return err
			}
			if len(r.Runs) == 0 && !f.json {
				u.Notef("no runs")
				return nil
			}
			return u.Print(f.json, r)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&f.limit, "limit", "n", 20, "show the newest `N` runs")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	cmd.AddCommand(newRunsAttach(u), newRunsCancel(u), newRunsList(u))
	return cmd
}
