package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/runtime/records"
)

const consumeLong = `Consume receipts or gates, once: all of them or none. A gate consumes all that it covers.

Each ID is judged as "dialect verify --require" judges: it must be about the files that are here,
under the trusted matrix, without a failure of its commands on the same files that nobody accepted.
It consumes only what is VERIFIED. A receipt, or a gate in the middle of a script, is judged in
the same way, but need not be final or cover a whole script. With --require each ID must be a final
gate that covers each required command.

By default the store remembers each consumption, so a copy of the store remembers it separately.
With --ledger FILE the consumer's own file decides: a record that was spent there, or that a
gate spent there covers, is refused from any store. "run --reuse" gives a repeated result a new receipt, which is
not spent: the answer says how many there are, and --fresh refuses them. The first use makes the
file; an existing file that is not a ledger is refused.

Exit status: 0 consumed, 3 refused, 64 for a usage error.`

func newConsume(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		inquiry.Consumption
	}
	cmd := &cobra.Command{
		Use:   "consume ID...",
		Short: "consume receipts, once: all of them or none",
		Long:  consumeLong,
		Example: `  dialect consume g-8fc71b27dd92 --as orchestrator --require quality
  dialect consume g-8fc71b27dd92 --ledger ~/spent.db --key boss.pub --level L1`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.By == "" {
				return exit.Usagef("--as must not be empty")
			}
			return f.decide(u, args, func(ctx context.Context, q *inquiry.Question) (records.Decision, error) {
				return q.Consume(ctx, f.Consumption, args)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	addAs(cmd, &f.By, "record `NAME` as the consumer")
	fl.StringVar(&f.Purpose, "purpose", "", "record the purpose `TEXT`")
	fl.StringVar(&f.Ledger, "ledger", "", "spend in the consumer's own `FILE`, which decides")
	f.inquiryFlags.add(cmd)
	fl.StringVar(&f.After, "after", "", "insist that all was recorded after the run `RUN` began")
	_ = fl.MarkHidden("after") // for a run that consumes what an agent handed back
	return cmd
}
