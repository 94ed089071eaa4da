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

func TestSecrets(t *testing.T) {
	p := &Plan{Steps: []*Step{
		{Values: []Value{{Text: "a", Secret: true}, {Text: "b"}}},
		{Members: []*Step{{Values: []Value{{Text: "c", Secret: true}}}}},
	}}
	if got := p.Secrets(); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("%q", got)
	}
	if got := (*Plan)(nil).Secrets(); got != nil {
		t.Errorf("of no plan: %q", got)
	}
}
