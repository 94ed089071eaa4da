package runner

import (
	"context"

	"github.com/command-dialect/dialect/receipts"
)

// baselines holds the counts of tests that passed against those of the last green run of
// the same command: tests that went missing are no failure, and worth a word.
func (r *run) baselines(results []*Result) {
	if r.opt.Store == nil || r.ledger.reason() != "" {
		return
	}
	Leaves(results, func(res *Result) {
		if res.Tests == nil || res.Verdict != Passed || !res.Reused.IsZero() {
			return
		}
		e, ok, err := r.opt.Store.Counted(context.Background(), res.Step.Binding, receipts.CommandHash(r.command(res.Step)), r.opt.Run)
		if err != nil || !ok {
			return
		}
		v, _ := e.Parse()
		if old, ok := v.(*receipts.Receipt); ok && old.Tests != nil && old.Tests.Passed > res.Tests.Passed {
			res.Baseline = &Baseline{Passed: old.Tests.Passed, Run: old.Run}
		}
	})
}
