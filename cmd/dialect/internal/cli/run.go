package cli

import (
	"github.com/spf13/cobra"
)

const runLong = `Run a script: bind every line, run the lines in order, keep a receipt of each
command, and gate on the receipts at the end.

FILE is a script, FILE:LINE one line of it, FILE:LINE.MEMBER one member of its composite,
- standard input; text that is piped in runs without the dash. Without FILE the default runs:
that of [run] in the matrix, or quality.dlct, or the only script, here or above.
Several scripts run one after the other, each with a gate of its own. Nothing runs unless all bind.

A line that only reads runs whatever happened before it, so that one run reports
every problem; a line that changes state does not run after a failure.`

const runExample = `  dialect run                             # quality.dlct, here or above
  dialect run quality.dlct
  dialect run quality.dlct:3              # only line 3, again
  dialect run -e "Test with go"           # one line, without a file
  printf 'Check with vet\n' | dialect run
  dialect run --failed quality.dlct       # only what did not pass last time
  dialect run --changed                   # only lines whose files changed
  dialect run --json quality.dlct | jq .verdict`

func newRun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "run [flags] [FILE[:LINE]... | -]",
		Short:             "run a script and gate on its receipts",
		Long:              runLong,
		Example:           runExample,
		SuggestFor:        []string{"test", "tests"},
		ValidArgsFunction: cobra.FixedCompletions([]string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(_ *cobra.Command, args []string) error {
			return f.given().Run(u, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.Lines, "line", "e", nil, "run `LINE` instead of a file; may be repeated")
	fl.BoolVar(&f.Failed, "failed", false, "run only the lines that did not pass in the last run of this script")
	fl.BoolVar(&f.Changed, "changed", false, "run only the lines whose files changed since they passed; all, if a file changed that no binding names as one of its files")
	_ = cmd.RegisterFlagCompletionFunc("line", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp))
	f.add(cmd)
	return cmd
}
