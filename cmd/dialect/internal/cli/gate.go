package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/runner"
)

const gateLong = `Gate on receipts that others left: by "dialect exec", or by "dialect run --defer-gate".
Each must be of a success, unconsumed, and of the present files, before and after it
ran; they are consumed into one gate receipt. So what a sub-agent hands up can be four
hashes, and passes cannot be picked from runs on other files.

With --require each command of the binding or composite must be among them, by exactly
its command; then the gate is final, and "dialect verify" knows it. A receipt of "exec"
carries no binding, and counts by its command where the binding expects no more than an
exit status of 0; "exec --as BINDING" judges by the binding.

Exit status: 0 passed, 3 refused, 64 for a usage error.`

func newGate(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		acceptFlaky, keyFD, as string
	}
	cmd := &cobra.Command{
		Use:   "gate SHA...",
		Short: "gate on receipts that others left",
		Long:  gateLong,
		Example: `  dialect gate 5feceb66ffc8 6b86b273ff34 d4735e3a265e 4e07408562be
  dialect gate --require quality $(cat receipts.txt)`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.acceptFlaky == "REASON" {
				return exit.Usagef("--accept-flaky REASON: say why, in your own words")
			}
			return gateReceipts(u, args, &f.inquiryFlags, f.keyFD, f.acceptFlaky, f.as)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.as, "as", defaultConsumer(), "record `NAME` as who gates")
	fl.Lookup("as").DefValue = "the user"
	fl.StringVar(&f.acceptFlaky, "accept-flaky", "", "accept passes after failures on the same files, and record `REASON`")
	fl.StringVar(&f.keyFD, "key-fd", "", "sign the gate receipt with the key that the file descriptor `N` holds")
	f.inquiryFlags.add(cmd)
	return cmd
}

func gateReceipts(u *ui, ids []string, f *inquiryFlags, keyFD, acceptFlaky, as string) error {
	ctx, stop := interrupt.Context()
	defer stop()
	if err := inquiry.CheckIDs(ids...); err != nil {
		return err
	}
	var signer *receipts.Signer
	if keyFD != "" {
		key, err := keyfd.Take(keyFD)
		if err != nil {
			return exit.Usagef("--key-fd: %v", err)
		}
		(&record{key: key}).warn(u)
		signer = key.Signer
	}
	q, err := f.question(ctx)
	if err != nil {
		return f.undecided(u, err)
	}
	if q.Level > receipts.LevelHash && (signer == nil || signer.Level() < q.Level || !receipts.KnowsKey(q.StoreOptions().Keys, signer.ID())) {
		return exit.Usagef("a gate of level L%d is signed by a --key: hand that over with --key-fd, or gate with --level self", q.Level)
	}
	if q.Tree == nil {
		return f.refuse(u, receipts.NoTree, exit.Failf(exit.Refused, "cannot take a snapshot of the working tree: %s", q.NoTree))
	}
	if q.Policy != "" {
		if !f.json {
			if err := printDiff(u, q.State().Changes); err != nil {
				return err
			}
		}
		policy := exit.Failf(exit.Refused, "POLICY CHANGED: %s", q.Policy)
		for _, n := range q.NextOfPolicy("dialect gate " + strings.Join(ids, " ")) {
			policy.Hint("%s", n)
		}
		return f.refuse(u, receipts.OtherPolicy, policy)
	}
	o := q.StoreOptions()
	o.Signer = signer
	err = withStoreOf(q.Store(), o, func(ctx context.Context, s *sqlite.Store) error {
		req := receipts.GateRequest{
			Run: newRunID(), Nonce: f.nonce, At: receipts.Time{Time: time.Now()}, Final: len(q.Require) > 0, AnyRun: true,
			Matrix: q.Matrix, Policy: q.State().Name(), Tree: q.Tree, Place: q.Place, AcceptFlaky: acceptFlaky, Strict: true, By: as,
		}
		if s := q.Snapshot(); s != nil {
			if s.Unmerged {
				return exit.Failf(exit.Refused, "the files have no tree: %s", s.Reason)
			}
			runner.Beyond(&req, s, nil)
		}
		req.Session = f.session
		if req.Session == "" {
			req.Session = req.Run
			req.AnySession = true
		}
		d, err := s.GateOf(ctx, req, q.Query, ids...)
		if err != nil {
			return err
		}
		if !d.Passed() || f.json {
			return tellDecision(u, d, f.json, "gated", q.NextOfGate(d, ids, func(id string) (receipts.Entry, error) { return s.Get(ctx, id) })...)
		}
		if s := q.Snapshot(); s != nil {
			q.Archive().Keep(s.Bytes, s.Manifest)
		}
		level := receipts.LevelHash // of the gate receipt itself
		if signer != nil {
			level = min(d.Level, signer.Level())
		}
		fmt.Fprintf(u.out, "passed: %s; gate %s (%s; %s)\n", diag.Number(len(ids), "receipt"), receipts.GateID(d.Gate), records.RecordedBy(level, ""), inquiry.RulesText(q.State()))
		return nil
	})
	return f.undecided(u, err)
}
