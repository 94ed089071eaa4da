package cli

import (
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

const runLong = `Run a script: bind every line, run the lines in order, keep a receipt of each
command, and gate on the receipts at the end.

FILE is a script, FILE:LINE one line of it, - standard input. Text that is piped
in runs without the dash. Nothing runs unless the whole script binds.

A line that only reads runs whatever happened before it, so that one run reports
every problem; a line that changes state does not run after a failure.`

const runExample = `  dialect run quality.dlct
  dialect run quality.dlct:3              # only line 3, again
  dialect run -e "Test with go"           # one line, without a file
  printf 'Check with vet\n' | dialect run
  dialect run --failed quality.dlct       # only what did not pass last time
  dialect run --json quality.dlct | jq .verdict`

func newRun(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] [FILE[:LINE] | -]",
		Short:   "run a script and gate on its receipts",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"dlct"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && len(f.lines) == 0 && term.IsTerminal(int(u.in.Fd())) {
				_ = cmd.Help()
				return exit.Usagef("no script: name a FILE, or pipe one in")
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.run(u, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.lines, "line", "e", nil, "run `LINE` instead of a file; may be repeated")
	fl.BoolVar(&f.failed, "failed", false, "run only the lines that did not pass in the last run of this script")
	_ = cmd.RegisterFlagCompletionFunc("line", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp))
	f.add(cmd)
	return cmd
}
