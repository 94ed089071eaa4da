package engine_test

import (
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// The tests that a file of test results names come from a worker, too: a report has a case for each.
func TestRemoteCases(t *testing.T) {
	steps := func(b *builder) []*plan.Step {
		s := b.sh("a", `echo '<testsuite><testcase name="one"/><testcase name="two"><failure message="no"/></testcase></testsuite>' >r.log; exit 1`)
		s.Expect.JUnit = "r.log"
		return []*plan.Step{s}
	}
	_, r, o := newFarm(t, steps)
	res := r.run(t, o, steps(r.builder)...).Results[0]
	if res.Verdict != schedule.Failed || len(res.Cases) != 2 || res.Cases[1].Name != "two" || res.Cases[1].Failure == nil {
		t.Errorf("%s, %s: %+v", res.Verdict, res.Detail, res.Cases)
	}
}
