package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts/verify"
)

const verifyLong = `Say whether the present files were tested: whether a final gate is about exactly
this tree, under the trusted matrix, and no later failure on the same files contradicts
it. Nothing is run, and nothing is consumed.

  VERIFIED                a gate speaks for this tree
  STALE                   it passed on another tree; says which line and paths changed
  MISSING                 no gate covers what is asked for
  FAILED                  the last word about this tree is a failure
  FLAKY                   it passed on this tree only after it had failed on it
  RAN OUTSIDE THE MATRIX  the command ran here, but not as a line of a script
  POLICY CHANGED          the matrix, or a file that it pins, is not the trusted one
  TAMPERED                the log in the store is not what was logged
  DEGRADED                the store, or the matrix, cannot be read

What is not VERIFIED ends in lines "next:" with what leads there: commands, and after "# "
what a person has to decide or do.

The second line says who recorded the run, what the rules (the matrix) were compared
with, and whether the log was kept by the verifier. A run is "recorded by itself" unless it was signed with a key that you name with --key; then
what no such key signed does not count, unless --level self says so. The rules are compared with --base, else with your pin ("dialect trust"), else with HEAD, to which an agent can
commit.

With --require, --base, --level, --key or --since, and under CI, a pass that came after a
failure on exactly these files is FLAKY. Otherwise it is VERIFIED, and the verdict counts
the failures.

Exit status: 0 for VERIFIED alone, else 3; 64 for a usage error.`

func newVerify(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		tree   string
		bundle string
	}
	cmd := &cobra.Command{
		Use:   "verify [GATE]",
		Short: "say whether the present files were tested",
		Long:  verifyLong,
		Example: `  dialect verify --require quality
  dialect verify --tree HEAD --base 3d5c0b64dec3d72ae4ee8c01eb38a2fbc27a6a5e --key boss.pub --since checkpoint.txt
  dialect verify g-8fc71b27dd92`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return runVerify(u, &f.inquiryFlags, f.tree, f.bundle, id)
		},
	}
	cmd.Flags().StringVar(&f.tree, "tree", "", "ask about the files of the commit `REV` instead of those that are here")
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "ask the bundle in `FILE` (- for standard input) instead of a store; see receipts export --bundle")
	f.inquiryFlags.add(cmd)
	return cmd
}

func runVerify(u *ui, f *inquiryFlags, rev, bundle, id string) error {
	ctx, stop := interrupt.Context()
	defer stop()
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Own, o.Elsewhere = true, bundle != ""
	var res *verify.Result
	q, err := inquiry.New(ctx, o, rev)
	var rules *inquiry.Unloadable
	switch {
	case errors.As(err, &rules):
		q, res = inquiry.Broken(o, rules)
	case err != nil:
		return err
	default:
		if res, err = q.Ask(ctx, u.in, bundle, rev, id); err != nil {
			return err
		}
	}
	if f.json {
		err = writeJSON(u, q.Document(res))
	} else {
		err = q.Tell(u.out, u.diff, res, rev, id)
	}
	if err != nil {
		return err
	}
	if res.Verdict != verify.Verified {
		return exit.Status(exit.Refused)
	}
	return nil
}
