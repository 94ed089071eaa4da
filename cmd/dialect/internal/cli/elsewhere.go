package cli

import (
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/temporal"
)

const attachLong = `Take up a run of --engine temporal again whose dialect has gone: fetch what its workers made of it, append the
receipts, decide its gate, and report it as "dialect run" does. The files have to be those that the run began
with.`

func newRunsAttach(u *ui) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "attach RUN", Short: "take up a run of another engine again, and report it", Long: attachLong, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return f.given().Attach(u, args[0])
		},
	}
	f.add(cmd)
	return cmd
}

func newRunsCancel(u *ui) *cobra.Command {
	var o temporal.Options
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "end a run of another engine", Args: cobra.ExactArgs(1),
		Long: "End a run of --engine temporal: running lines are ended, and lines with finally still run.\nThe dialect that waits for it reports it.",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.Demand(); err != nil {
				return err
			}
			return o.Cancel(args[0], u.Err)
		},
	}
	cmd.Flags().StringVar(&o.Engine, "engine", "", "that carries it out: `ENGINE` temporal")
	addServerFlags(cmd, &o)
	return cmd
}

func newRunsList(u *ui) *cobra.Command {
	var o temporal.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "list the runs that another engine knows", Args: cobra.NoArgs,
		Long: "List the runs that the Temporal server knows, the newest first, with how each ended there.\nWhether one passed, its gate says.",
		RunE: func(*cobra.Command, []string) error {
			if err := o.Demand(); err != nil {
				return err
			}
			runs, err := o.List(u.Err)
			if err != nil {
				return err
			}
			return u.Print(asJSON, runs)
		},
	}
	cmd.Flags().StringVar(&o.Engine, "engine", "", "that knows them: `ENGINE` temporal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document on standard output")
	addServerFlags(cmd, &o)
	return cmd
}
