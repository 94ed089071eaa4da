package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

const consumeLong = `Consume receipts or gates, once: all of them or none. A gate takes along all that it
covers.

Each ID is judged as "dialect verify --require" judges: of the present files, under the
trusted matrix, with no failure of its commands on the same files that nobody accepted.
What is not VERIFIED is not consumed. A receipt, or a gate in the middle of a script, is
judged in the same way, except that it need not be final or cover a whole script. With
--require each ID must be a final gate that covers each command that is required.

By default the store remembers what is consumed, and a copy of the store remembers it
separately. With --ledger FILE the consumer's own file decides: what is spent there, or
was covered by what is spent there, is refused from any store. The file is made when the
first is spent in it; a file that is there and is not a ledger is refused.

Exit status: 0 consumed, 3 refused, 64 for a usage error.`

func newConsume(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		as, purpose, ledger string
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
			if f.as == "" {
				return exit.Usagef("--as must not be empty")
			}
			return consume(u, args, &f.inquiryFlags, f.as, f.purpose, f.ledger)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.as, "as", defaultConsumer(), "record `NAME` as the consumer")
	fl.Lookup("as").DefValue = "the user"
	fl.StringVar(&f.purpose, "purpose", "", "record the purpose `TEXT`")
	fl.StringVar(&f.ledger, "ledger", "", "spend in the consumer's own `FILE`, which decides")
	f.inquiryFlags.add(cmd)
	return cmd
}

func defaultConsumer() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func consume(u *ui, ids []string, f *inquiryFlags, as, purpose, ledger string) error {
	ctx, stop := interrupt.Context()
	defer stop()
	if err := inquiry.CheckIDs(ids...); err != nil {
		return err
	}
	q, err := f.question(ctx)
	if err != nil {
		return f.undecided(u, err)
	}
	c := sqlite.ConsumeRequest{IDs: ids, Query: q.Query, By: as, Purpose: purpose, At: receipts.Time{Time: time.Now()}}
	if ledger != "" {
		l, err := sqlite.OpenLedger(ledger)
		var unusable *sqlite.UnusableError
		if errors.As(err, &unusable) {
			return exit.Failf(exit.Refused, "the ledger %s cannot be used: %v", ledger, unusable.Err)
		}
		if err != nil {
			return err
		}
		defer l.Close()
		c.Spend = func(all []receipts.Hash) (*receipts.Refusal, error) { return l.Spend(ctx, all, as, purpose, c.At) }
	}
	err = withStoreOf(q.Store(), q.StoreOptions(), func(ctx context.Context, s *sqlite.Store) error {
		d, err := s.Consume(ctx, c)
		if err != nil {
			return err
		}
		return tellDecision(u, d, f.json, "consumed", q.NextOfDecision(d, func(id string) (receipts.Entry, error) { return s.Get(ctx, id) })...)
	})
	return f.undecided(u, err)
}
