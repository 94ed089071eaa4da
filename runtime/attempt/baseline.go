package attempt

import (
	"context"

	"github.com/command-dialect/dialect/receipts"
)

// A Baseline is the last green run of a command in which more tests passed.
type Baseline struct {
	Passed int
	Run    string
}

// Baseline compares the count of tests of a pass with that of the last green run of the same
// command: missing tests are not a failure, but worth a word. It is nil where none did.
func (x *Executor) Baseline(r *Report) *Baseline {
	if x.opt.Store == nil || r.Tests == nil || !r.Reused.IsZero() || x.ledger.reason() != "" {
		return nil
	}
	e, ok, err := x.opt.Store.Counted(context.Background(), r.Step.Binding, receipts.CommandHash(x.command(r.Step)), x.opt.Run)
	if err != nil || !ok {
		return nil
	}
	v, _ := e.Parse()
	old, isReceipt := v.(*receipts.Receipt)
	if !isReceipt || old.Tests == nil || old.Tests.Passed <= r.Tests.Passed {
		return nil
	}
	return &Baseline{Passed: old.Tests.Passed, Run: old.Run}
}
