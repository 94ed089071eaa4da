package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/records"
)

const gateLong = `Make one gate of receipts that others left, by "dialect exec" or by "dialect run --defer-gate".
Each receipt must record a success, be unconsumed, and be about the files that are here, before and
after it ran. They are consumed into one gate receipt. So a sub-agent can hand up four hashes, and
nobody can pick passes from runs on other files.

With --require each command of the binding or composite must be among them, under its binding; then
the gate is final, and "dialect verify" accepts it. A receipt of "exec" names a binding only with
"exec --as BINDING".

Exit status: 0 passed, 3 refused, 64 for a usage error.`

func newGate(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		inquiry.Gating
		keyFD string
	}
	cmd := &cobra.Command{
		Use:   "gate SHA...",
		Short: "make one gate of receipts that others left",
		Long:  gateLong,
		Example: `  dialect gate 5feceb66ffc8 6b86b273ff34 d4735e3a265e 4e07408562be
  dialect gate --require quality $(cat receipts.txt)`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.AcceptFlaky == "REASON" {
				return exit.Usagef("--accept-flaky REASON: say why, in your own words")
			}
			var err error
			f.Gating.Session, f.Gating.Nonce = os.Getenv(attempt.SessionVariable), os.Getenv(attempt.NonceVariable)
			if f.Signer, err = run.TakeKey(u, f.keyFD); err != nil {
				return err
			}
			return f.decide(u, args, func(_ context.Context, q *inquiry.Question) (records.Decision, error) { return q.Gate(f.Gating, args) })
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	addAs(cmd, &f.By, "record `NAME` as who gates")
	fl.StringVar(&f.AcceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	fl.StringVar(&f.keyFD, "key-fd", "", "sign the gate receipt with the key that the file descriptor `N` holds")
	f.inquiryFlags.add(cmd)
	return cmd
}
