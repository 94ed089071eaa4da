package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/prove"
	"github.com/command-dialect/dialect/cmd/dialect/internal/script"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/recording"
)

const proveLong = `Test the checks themselves: run the lines of a script in a clean checkout, and each line that
passed again with something broken that it looked at, a test or a file. A line is tested if it
refuses that, and names what was broken; that it exits with another status is not enough.

Without an argument it is the script that "dialect run" runs. NAME is a binding. Lines that change
state are not run. Nothing in the working tree is changed.

Each result is a receipt about exactly these files: "dialect verify" then says how many checks were
tested, and "dialect verify --checks-tested" insists on it. It finds accidents, such as a pattern that
matches no test, and not somebody who knows of it: "dialect help controls".

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
			f.Clean, f.Output = true, "auto"
			if err := f.Check(); err != nil {
				return err
			}
			if f.NoTree || f.Store == "none" {
				return exit.Usagef("what is broken is a file of a snapshot, and the result a receipt: leave --no-tree and --store none out")
			}
			line, err := prove.Named(args, f.Routing)
			switch {
			case err != nil:
				return err
			case line != "":
				args, f.Lines = nil, []string{line}
			case len(args) == 0 && !u.Piped():
				name, err := script.Default(f.Routing)
				if err != nil {
					return err
				}
				args = []string{name}
			}
			p, err := f.given().Bind(u, args)
			if err != nil {
				return err
			}
			m := p.Plan.Matrix
			f.Share = m.Clean.Share
			rec, err := f.Open(u, m.Root, m.Caches)
			if err != nil {
				return err
			}
			defer rec.Close(nil)
			sig := interrupt.Catch()
			defer sig.Stop()
			_, logs := f.Paths(m.Root)
			doc, err := prove.Run(sig.Context, prove.Options{
				Plan: p.Plan, Matrix: p.Matrix, Room: rec.Room(), Timeout: f.Budget.Timeout, Note: u.Note, Public: recording.Redactor(p.Plan, logs).Text,
				Run: func(part *plan.Plan) engine.Options {
					o := f.Engine(rec, part)
					o.Jobs, o.JobControl = f.Jobs, sig.JobControl
					return o
				},
			})
			if err != nil {
				return err
			}
			if err := u.Print(f.JSON, doc); err != nil {
				return err
			}
			return exit.Of(doc.Status())
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
	addRecordFlags(cmd, &f.Recorded)
	_, _ = fl.MarkHidden("clean"), fl.MarkHidden("no-tree")
	return cmd
}
