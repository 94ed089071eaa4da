package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/records"
)

const runsLong = `Show the runs that the store knows, the newest last, and how their lines did: how often each
ran and failed, how long it takes, and on how many states of the files it both passed and
failed, which is what a flaky check does. With SCRIPT only those of the script that was run
under that name.

What it says is read from the receipts. A run is "passed" if its final gate passed, "gated" if
a gate over a part of the script did, "unfinished" if a command that it planned has no receipt.`

func newRuns(u *ui) *cobra.Command {
	var f struct {
		store string
		limit int
		json  bool
	}
	cmd := &cobra.Command{
		Use:   "runs [SCRIPT]",
		Short: "show earlier runs, and how each line did",
		Long:  runsLong,
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.limit < 1 {
				return exit.Usagef("--limit %d: want a positive number", f.limit)
			}
			return withStore(f.store, true, func(ctx context.Context, s *sqlite.Store) error {
				r, err := history.Newest(ctx, s, arg(args), f.limit)
				if err != nil {
					return err
				}
				if f.json {
					return writeJSON(u, r)
				}
				return printRuns(u, r)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVarP(&f.limit, "limit", "n", 20, "show the newest `N` runs")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

func printRuns(u *ui, h *history.Report) error {
	if len(h.Runs) == 0 {
		u.notef("no runs")
		return nil
	}
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tTOOK\tVERDICT\tCOMMANDS\tSCRIPT")
	for _, r := range h.Runs {
		commands := fmt.Sprint(r.Commands)
		if r.Failed > 0 {
			commands += fmt.Sprintf(", %d failed", r.Failed)
		}
		if r.Verdict == "unfinished" {
			commands = fmt.Sprintf("%d of %d", r.Ended, r.Commands)
		}
		script := diag.Printable(r.Script)
		if r.Part {
			script += " (part)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f s\t%s\t%s\t%s\n", diag.Printable(r.Run), records.Stamp(r.Began), r.Elapsed, r.Verdict, commands, script)
	}
	if err := w.Flush(); err != nil || len(h.Lines) == 0 {
		return err
	}
	fmt.Fprintln(u.out)
	w = tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LINE\tRUNS\tFAILED\tMEDIAN\tSLOWEST\tFLAKY")
	for _, l := range h.Lines {
		flaky := "-"
		if l.Trees > 0 {
			flaky = fmt.Sprintf("%d of %d trees", l.Flaked, l.Trees)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f s\t%.2f s\t%s\n", diag.Printable(l.Line), l.Runs, l.Failed, l.Median, l.Slowest, flaky)
	}
	return w.Flush()
}
