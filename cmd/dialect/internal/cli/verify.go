package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts/verify"
)

const verifyLong = `Say whether exactly these files were tested: whether a final gate is about exactly this tree, under
the trusted matrix, and no later failure on the same files contradicts it. It runs nothing and
consumes nothing.

  VERIFIED                a final gate is about this tree
  VERIFIED FOR CHANGED PATHS
                          a gate is about another tree; each line passed since on the files
                          that its binding names, and no file that none names has changed
  STALE                   it passed on another tree; says which line and paths changed
  MISSING                 no gate covers all that you asked for
  FAILED                  the newest result about this tree is a failure
  FLAKY                   it passed on this tree only after it had failed on it
  RAN OUTSIDE THE MATRIX  the command ran here, but not as a line of a script
  POLICY CHANGED          the matrix, or a file that it pins, is not the trusted one
  TAMPERED                somebody changed the log in the store
  DEGRADED                the store, or the matrix, cannot be read

Every verdict but VERIFIED ends in "next:" lines that lead there: commands, and after "# " what a
person has to decide or do. "dialect help refused" explains each.

The second line says who recorded the run, what the rules (the matrix) were compared with, and
whether the verifier kept the log. A run is "recorded by itself" unless a key that you name with
--key signed it; then records without such a signature do not count, unless you say --level self.
The rules are compared with --base, else with your pin ("dialect trust"), else with HEAD, to which
an agent can commit.

With --require, --base, --level, --key or --since, and under CI, a pass that came after a failure on
exactly these files is FLAKY. Otherwise it is VERIFIED, and the verdict counts the failures.

VERIFIED FOR CHANGED PATHS rests on the "files" of bindings, and on "dialect run --changed". It
is not given with --require, --base, --level, --key or --since, nor under CI, unless [verify] of
the trusted matrix says scoped = true; and never to consume or gate.

With --clean all must have run in a clean checkout (dialect run --clean), confined to it,
and must have seen nothing of the machine that its user can write. Failures elsewhere are
then counted, and do not refuse.

With --checks-tested each required line must have been tested on exactly these files (dialect prove).

Exit status: 0 for the two that begin with VERIFIED, else 3; 64 for a usage error.`

type verifyFlags struct {
	inquiryFlags
	tree, bundle string
}

func newVerify(u *ui) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:        "verify [GATE]",
		SuggestFor: []string{"status"},
		Short:      "say whether exactly these files were tested",
		Long:       verifyLong,
		Example: `  dialect verify --require quality
  dialect verify --tree HEAD --base $COMMIT --key boss.pub --since checkpoint.txt
  dialect verify g-8fc71b27dd92
  dialect verify --why`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.bundle != "" && cmd.Flags().Changed("store") {
				return exit.Usagef("--bundle and --store exclude each other: a bundle is asked instead of a store")
			}
			return f.verify(u, arg(args))
		},
	}
	cmd.Flags().StringVar(&f.tree, "tree", "", "ask about the files of the commit `REV` instead of those that are here")
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "ask the bundle in `FILE` (- for standard input) instead of a store; see receipts export --bundle")
	cmd.Flags().BoolVar(&f.Why, "why", false, "list what each condition was decided from: log, files, rules, commands, tests, and the rest")
	f.inquiryFlags.add(cmd)
	cmd.Flags().BoolVar(&f.ChecksTested, "checks-tested", false, "insist that each required check was tested on these files: dialect prove")
	return cmd
}

// verify asks about the record that id names, or any gate.
func (f *verifyFlags) verify(u *ui, id string) error {
	ctx, stop := interrupt.Context()
	defer stop()
	defer inquiry.Contain(u.Warnf)()
	if err := f.read(); err != nil {
		return err
	}
	if f.bundle != "" && f.State != "" {
		return exit.Usagef("--bundle and --state exclude each other: --state remembers how far a store was audited, and a bundle has no store").
			Hint("keep a checkpoint, and ask with it: dialect receipts checkpoint, and --since FILE")
	}
	f.Own, f.Elsewhere = true, f.bundle != ""
	f.tell(u)
	var res *verify.Result
	q, err := inquiry.New(ctx, f.Options, f.tree)
	var refused *exit.Failure
	if errors.As(err, &refused) && refused.Status == exit.Refused {
		q, res = inquiry.Broken(f.Options, refused)
	} else if err == nil {
		res, err = q.Ask(ctx, interrupt.Reader(ctx, u.In), f.bundle, f.tree, id)
	}
	switch {
	case res == nil:
		return err
	case f.json:
		err = u.JSON(q.Document(res))
	default:
		err = q.Tell(u.Out, u.Changes, res, f.tree, id)
	}
	if err == nil && res.Verdict != verify.Verified && res.Verdict != verify.Scoped {
		return exit.Status(exit.Refused)
	}
	return err
}
