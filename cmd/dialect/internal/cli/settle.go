package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/run"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/receipts"
)

func newReceiptsSettle(u *ui) *cobra.Command {
	var f struct {
		store, as, status string
		keyFD             string
		id, url           string
		preview, failure  string
		json              bool
	}
	cmd := &cobra.Command{
		Use:   "settle ID --status STATUS",
		Short: "record how a pending receipt ended, once",
		Long: `End a pending receipt: its tool started something and did not see the end. The receipt itself
does not change; a new record says how it ended. A receipt is settled once. One exception: where
the receipt is signed, a settlement without a key does not bind those who have a key (--key-fd).`,
		Example:           "  dialect receipts settle 5feceb66ffc8 --status succeeded --external-id page-7",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			_, stop := interrupt.Context() // a pipe that nobody reads must not end dialect between the record and the answer
			defer stop()
			status := receipts.Status(f.status)
			switch status {
			case "success":
				status = receipts.Succeeded
			case receipts.Succeeded, receipts.StatusFailed, receipts.NotConfigured:
			default:
				return exit.Usagef("--status %q: want succeeded, failed or not_configured", f.status)
			}
			t := receipts.Settlement{Status: status, By: f.as, Timestamp: receipts.Time{Time: time.Now()}}
			handle := receipts.Handle{
				ExternalID: receipts.Text(f.id), VerifiableURL: receipts.Text(f.url),
				Preview: receipts.Text(f.preview), Error: receipts.Text(f.failure),
			}
			if handle != (receipts.Handle{}) {
				t.Handle = &handle
			}
			signer, err := run.TakeKey(u, f.keyFD)
			if err != nil {
				return err
			}
			d, err := store.Place{Name: f.store}.Settle(args[0], t, signer)
			if err != nil {
				return err
			}
			return tellDecision(u, d, f.json)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.status, "status", "", "how it ended: `STATUS` is succeeded, failed or not_configured")
	fl.StringVar(&f.id, "external-id", "", "what the backend calls the result: `ID`")
	fl.StringVar(&f.url, "url", "", "where the result can be looked at: `URL`")
	fl.StringVar(&f.preview, "preview", "", "the beginning of the result: `TEXT`")
	fl.StringVar(&f.failure, "error", "", "why it failed: `TEXT`")
	addAs(cmd, &f.as, "record `NAME` as who settles")
	fl.StringVar(&f.keyFD, "key-fd", "", "sign the record with the key that the file descriptor `N` holds")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	_ = cmd.MarkFlagRequired("status")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"succeeded", "failed", "not_configured"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
