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
		}},
	}
	want := []string{"A_TOKEN=1", "B=2", "Bearer_TOKEN=4", "Cookie=5 6", "D=$x", "X_Api_Key=3", "authorization=Bearer 4"}
	if got := p.Environ(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (*Plan)(nil).Environ(); got != nil {
		t.Errorf("of no plan: %q", got)
	}
}
