package plan

import (
	"slices"
	"testing"
)

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

func TestEnviron(t *testing.T) {
	p := &Plan{
		Steps: []*Step{{Env: map[string]string{"A_TOKEN": "1"}}, {Members: []*Step{{Env: map[string]string{"B": "2", "C": "${C:-x}"}}}}},
		Servers: map[string]Server{"s": {
			Env:     map[string]string{"A_TOKEN": "1", "D": "$x"},
			Headers: map[string]string{"X-Api-Key": "3", "authorization": "Bearer 4", "Cookie": "5 6"},
			URL:     "https://a/mcp?api-key=7%2F8&page=1",
		}},
	}
	want := []string{"A_TOKEN=1", "B=2", "Bearer_TOKEN=4", "Cookie=5 6", "D=$x", "X_Api_Key=3", "api_key=7/8", "authorization=Bearer 4", "page=1"}
	if got := p.Environ(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (*Plan)(nil).Environ(); got != nil {
		t.Errorf("of no plan: %q", got)
	}
}

// TestIdentity: the command of a step is what it is known by, and for a task that is what it asks, too.
func TestIdentity(t *testing.T) {
	ask := func(what string) []string {
		return (&Step{Kind: Task, Target: "new_task", Argv: []string{"sh", "agent.sh"}, Values: []Value{{Name: "object", Text: what}}}).Identity()
	}
	if hard, easy := ask("hard"), ask("easy"); slices.Equal(hard, easy) || !slices.Equal(hard, []string{"sh", "agent.sh", "task:new_task", "hard"}) {
		t.Errorf("%q, %q", hard, easy)
	}
	s := &Step{Argv: []string{"true"}, Values: []Value{{Text: "abc", Secret: true}, {Text: "abcabc", Secret: true}, {Text: "x"}, {Text: "", Secret: true}}}
	if got := s.WithoutSecrets("abcabc abc x"); got != "[secret] [secret] x" || !s.Secret() {
		t.Errorf("%q", got)
	}
	if s.Same = []string{"other"}; s.Identity()[0] != "other" {
		t.Error("it is not what the plan says")
	}
}
