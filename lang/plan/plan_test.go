package plan

import "testing"

// TestJudged says of which steps a run of their command alone says something.
func TestJudged(t *testing.T) {
	for name, c := range map[string]struct {
		step Step
		want bool
	}{
		"a process":      {Step{Kind: Process}, false},
		"an expectation": {Step{Kind: Process, Expect: Expect{EmptyStdout: true}}, true},
		"an environment": {Step{Kind: Process, Env: map[string]string{"A": "b"}}, true},
		"inputs":         {Step{Kind: Process, Inputs: []string{"x"}}, true},
		"a task":         {Step{Kind: Task}, true},
		"a tool of MCP":  {Step{Kind: MCP}, true},
		"a builtin":      {Step{Kind: Builtin}, true},
	} {
		if c.step.Judged() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}
