package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

const consumeLong = `Consume receipts or gates, once: all of them or none. A gate takes along all that it
covers.

With --require, --base, --key, --since, --level or --max-age each ID must be a final
gate, and is judged as "dialect verify" does: of the present files, under the trusted
matrix, covering each command that is required. What is not VERIFIED is not consumed.

By default the store remembers what is consumed, and whoever holds a copy of the store
holds another memory. With --ledger FILE the consumer's own file decides: what is spent
there, or was covered by what is spent there, is refused from whatever store it comes.

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
				return usagef("--as must not be empty")
			}
			return consume(u, args, &f.inquiryFlags, f.as, f.purpose, f.ledger)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.as, "as", defaultConsumer(), "say `WHO` consumes")
	fl.Lookup("as").DefValue = "the user"
	fl.StringVar(&f.purpose, "purpose", "", "say `WHAT` for")
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

// judged reports whether the flags ask for a judgement, beyond that the receipts are
// valid.
func (f *inquiryFlags) judged() bool {
	return len(f.require) > 0 || f.base != "" || len(f.keys) > 0 || f.since != "" || f.level != "" || f.maxAge != "" || f.fresh || f.session != "" || f.nonce != ""
}

func consume(u *ui, ids []string, f *inquiryFlags, as, purpose, ledger string) error {
	ctx, stop := signals()
	defer stop()
	keys, head, err := f.anchors()
	if err != nil {
		return err
	}
	c := receipts.ConsumeRequest{IDs: ids, By: as, Purpose: purpose, At: receipts.Time{Time: time.Now()}}
	store := f.store
	if f.judged() {
		q, err := f.inquest(ctx, "")
		if err != nil {
			return err
		}
		store = q.path
		c.Judge = q.judge
	}
	if ledger != "" {
		l, err := sqlite.OpenLedger(ctx, ledger)
		if err != nil {
			return failf(exitRefused, "%v", err)
		}
		defer l.Close()
		c.Spend = func(all []receipts.Hash) (*receipts.Refusal, error) { return l.Spend(ctx, all, as, purpose, c.At) }
	}
	return withStoreOf(store, sqlite.Options{Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
		if c.Judge != nil {
			if err := untampered(ctx, s, head); err != nil {
				return err
			}
		}
		d, err := s.Consume(ctx, c)
		if err != nil {
			return err
		}
		return tellDecision(u, d, f.json, "consumed")
	})
}

// untampered holds the store against its log and a kept head. What decisions look up is
// a projection that the owner of the store can write.
func untampered(ctx context.Context, s *sqlite.Store, head *receipts.Head) error {
	a, err := s.Verify(ctx, head)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(a.Findings, func(x sqlite.Finding) bool { return !x.Unsigned }); i >= 0 {
		return failf(exitRefused, "TAMPERED: %s", a.Findings[i].Message)
	}
	return nil
}

// judge judges each of the records that are to be consumed as an inquiry about it
// does.
func (q *inquest) judge(b receipts.Book, es []receipts.Entry) ([]receipts.Refusal, error) {
	var refusals []receipts.Refusal
	for _, e := range es {
		in := q.Inquiry
		in.Gate = e.SHA
		a, err := receipts.Ask(in, b)
		if err != nil {
			return nil, err
		}
		for _, r := range a.Refusals {
			r.Message = fmt.Sprintf("%s: %s", a.Verdict, r.Message)
			refusals = append(refusals, r)
		}
	}
	return refusals, nil
}
