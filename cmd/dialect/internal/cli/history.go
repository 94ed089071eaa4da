package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/records"
)

// findHistory returns the documents beside the store that --store names, or beside the nearest
// project's, and the path of that store.
func findHistory(store string) (history.Documents, string, error) {
	path, err := findStore(store)
	return history.Documents{Archive: archive.Of(path)}, path, err
}

// notKept makes an error of a look-up in the history one of the command.
func notKept(err error) error {
	var e *history.LookupError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return exit.Failf(exit.Failed, "%v", err)
	case e.Bad:
		return exit.Usagef("%s", e.Text)
	case e.Hint != "":
		return exit.Failf(exit.Failed, "%s", e.Text).Hint("%s", e.Hint)
	}
	return exit.Failf(exit.Failed, "%s", e.Text)
}

// tellKilled says of runs that were killed how far they came; s is nil without a store.
func tellKilled(u *ui, a archive.Archive, s *sqlite.Store) {
	for _, m := range a.Killed() {
		text := fmt.Sprintf("the run %s of %s, begun %s, was killed", m.Run, diag.Printable(m.Script), records.Stamp(m.Started))
		if s != nil {
			if far := history.HowFar(context.Background(), s, m.Run); far != "" {
				text += ": " + far
			}
		}
		u.notef("%s", text)
	}
}

// completeRuns completes the runs that are kept.
func completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	store, _ := cmd.Flags().GetString("store") // it has the flag
	h, _, err := findHistory(store)
	if err != nil || len(args) > 0 {
		return nil, none
	}
	names := h.Runs()
	return names[:min(len(names), 50)], none | cobra.ShellCompDirectiveKeepOrder
}
