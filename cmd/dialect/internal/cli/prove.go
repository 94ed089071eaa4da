package cli

import (
	"github.com/spf13/cobra"
)

const proveLong = `Test the checks themselves: run the lines of a script in a clean checkout, and each line that
passed again with something broken that it looked at, a test or a file. A line is tested if it
refuses that, and names what was broken; that it exits with another status is not enough.

Without an argument it is the script that "dialect run" runs. NAME is a binding. Lines that change
state are not run. Nothing in the working tree is changed.

Each result is a receipt about exactly these files: "dialect verify" then says how many checks were
tested, and "dialect verify --checks-tested" insists on it. It finds accidents, such as a pattern that
matches no test, but not deliberate fraud: "dialect help controls".

Exit status: 0 if each line with a control was tested, 1 if one was not or does not pass as it is, 2 if
none was or not all was done.`

func newProve(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "prove [flags] [FILE[:LINE] | NAME]",
		Short:   "test the checks: break what they look at, and see whether they notice",
		Long:    proveLong,
		Example: "  dialect prove\n  dialect prove quality.dlct:3\n  dialect prove test_pytest",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			names, _ := completeBindings(cmd, args, toComplete)
			return names, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return f.given().Prove(u, args)
		},
	}
	fl := cmd.Flags()
	f.set = fl
	fl.SortFlags = false
	fl.StringArrayVar(&f.Set, "set", nil, "set a variable of the script, `NAME=VALUE`; may be repeated")
	fl.StringVar(&f.Routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.IntVarP(&f.Jobs, "jobs", "j", 0, "run at most `N` commands at the same time (0: the number of CPUs; DIALECT_JOBS bounds it)")
	fl.DurationVar(&f.Budget.Timeout, "timeout", 0, "end it after `DURATION`, with what is known by then")
	fl.BoolVar(&f.JSON, "json", false, "print one JSON document on standard output")
	addNotaryFlag(fl, &f.Notary)
	addRecordFlags(cmd, &f.Recorded)
	_, _ = fl.MarkHidden("clean"), fl.MarkHidden("no-tree")
	return cmd
}
