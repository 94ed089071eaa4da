package attempt_test

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
)

// What comes after a line that changes files is carried out where they are, in the order of the run: what a queue keeps from that is refused.
func TestApart(t *testing.T) {
	leaf := func(id, queue string, effect plan.Effect) *plan.Step {
		return &plan.Step{ID: id, Kind: plan.Process, Queue: queue, Effect: effect}
	}
	last := func(s *plan.Step) *plan.Step { s.Finally = true; return s }
	all := func(members ...*plan.Step) *plan.Step {
		return &plan.Step{ID: "c", Kind: plan.Composite, Members: members}
	}
	locked := all(leaf("1", "", plan.Read))
	locked.Exclusive = "db"
	locked.Members[0].Budget.Retries = 5000
	for name, tt := range map[string]struct {
		steps []*plan.Step
		want  string // the id of the step, and what the words name
	}{
		"no queue":               {[]*plan.Step{leaf("1", "", plan.Write), leaf("2", "", plan.Read)}, ""},
		"before":                 {[]*plan.Step{leaf("1", "gpu", plan.Read), leaf("2", "", plan.Write)}, ""},
		"after":                  {[]*plan.Step{leaf("1", "", plan.Write), leaf("2", "gpu", plan.Read)}, "2 has queue = \"gpu\", and the files that a line before it changes stay on a worker of the task queue \"own\""},
		"after, its own":         {[]*plan.Step{leaf("1", "", plan.Write), leaf("2", "own", plan.Read)}, ""},
		"after, the same":        {[]*plan.Step{leaf("1", "gpu", plan.Write), leaf("2", "gpu", plan.Write), leaf("3", "", plan.Read)}, ""},
		"a gate":                 {[]*plan.Step{leaf("1", "gpu", plan.Write), {ID: "2", Kind: plan.Builtin, Effect: plan.Write}}, ""},
		"a member":               {[]*plan.Step{all(leaf("1", "", plan.Write), all(leaf("2", "gpu", plan.Read)))}, "2 has queue"},
		"clean-up, listed first": {[]*plan.Step{all(last(leaf("1", "", plan.Write)), leaf("2", "gpu", plan.Read))}, ""},
		"before the clean-up":    {[]*plan.Step{all(last(leaf("1", "gpu", plan.Read)), leaf("2", "", plan.Write))}, "1 has queue"},
		"a long lock":            {[]*plan.Step{locked}, "c holds the lock \"db\" for up to 5001 attempts"},
	} {
		got := ""
		if s, why := attempt.Apart(&plan.Plan{Steps: tt.steps}, "own"); s != nil {
			got = s.ID + " " + why
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
