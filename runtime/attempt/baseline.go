package attempt

import (
	"context"

	"github.com/command-dialect/dialect/receipts"
)

// A Baseline is the last pass of a command, where more tests passed in it.
type Baseline struct {
	Passed int
	Run    string
	Gate   string // that consumed it: "g-" and 12 hex digits; empty for none
}

// Baseline compares the count of tests of a pass with that of the last green run of the same
// command: missing tests are not a failure, but worth a word, and so is a test line that counts none any more. It is nil where none did.
func (x *Executor) Baseline(r *Report) *Baseline {
	if x.opt.Store == nil || r.Tests == nil && r.Step.Verb != "test" || !r.Reused.IsZero() || x.ledger.reason() != "" {
		return nil
	}
	e, ok, err := x.opt.Store.Counted(context.Background(), r.Step.Binding, receipts.CommandHash(x.command(r.Step)), x.opt.Run)
	if err != nil || !ok {
		return nil
	}
	v, _ := e.Parse()
	old, isReceipt := v.(*receipts.Receipt)
	passed := 0
	if r.Tests != nil {
		passed = r.Tests.Passed
	}
	if !isReceipt || old.Tests == nil || old.Tests.Passed <= passed {
		return nil
	}
	b := &Baseline{Passed: old.Tests.Passed, Run: old.Run}
	if c := e.Consumption; c != nil && c.Gate {
		b.Gate = c.Who()
	}
	return b
}
