package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

func newConsume(u *ui) *cobra.Command {
	var f struct {
		store, as, purpose string
		json               bool
	}
	cmd := &cobra.Command{
		Use:               "consume ID...",
		Short:             "consume receipts, once: all of them or none",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.as == "" {
				return usagef("--as must not be empty")
			}
			return withStore(f.store, false, func(ctx context.Context, s *sqlite.Store) error {
				d, err := s.Consume(ctx, receipts.ConsumeRequest{
					IDs: args, By: f.as, Purpose: f.purpose, At: receipts.Time{Time: time.Now()},
				})
				if err != nil {
					return err
				}
				return tellDecision(u, d, f.json, "consumed")
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.as, "as", defaultConsumer(), "say `WHO` consumes")
	fl.Lookup("as").DefValue = "the user"
	fl.StringVar(&f.purpose, "purpose", "", "say `WHAT` for")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	return cmd
}

func defaultConsumer() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
