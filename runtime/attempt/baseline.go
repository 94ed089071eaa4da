package attempt

import (
	"context"
	"maps"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// A Baseline is the last pass of a command, where more tests passed in it.
type Baseline struct {
	Passed int
	Run    string
	Gate   string // that consumed it: "g-" and 12 hex digits; empty for none
}

// Baselines returns the last green run of the command of each pass that counted fewer tests than it, or, if it is a test line, none any more.
// Missing tests are not a failure, but worth a word.
func (x *Executor) Baselines(passes []*Report) map[*Report]*Baseline {
	if x.opt.Store == nil || x.ledger.reason() != "" {
		return nil
	}
	of := make(map[*Report]receipts.Counting)
	asked := make(map[receipts.Counting]bool)
	for _, r := range passes {
		if r.Reused.IsZero() && (r.Tests != nil || r.Step.Verb == "test") {
			of[r] = receipts.Counting{Binding: r.Step.Binding, Command: receipts.CommandHash(r.Step.Identity())}
			asked[of[r]] = true
		}
	}
	if len(asked) == 0 {
		return nil
	}
	found, err := x.opt.Store.Counted(context.Background(), slices.Collect(maps.Keys(asked)), x.opt.Run)
	if err != nil {
		return nil
	}
	before := make(map[*Report]*Baseline)
	for r, c := range of {
		e := found[c]
		v, _ := e.Parse()
		old, isReceipt := v.(*receipts.Receipt)
		passed := 0
		if r.Tests != nil {
			passed = r.Tests.Passed
		}
		if !isReceipt || old.Tests == nil || old.Tests.Passed <= passed {
			continue
		}
		b := &Baseline{Passed: old.Tests.Passed, Run: old.Run}
		if c := e.Consumption; c != nil && c.Gate {
			b.Gate = c.Who()
		}
		before[r] = b
	}
	return before
}
