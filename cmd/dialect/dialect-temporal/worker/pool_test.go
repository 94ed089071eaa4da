package worker

import (
	"testing"

	"github.com/command-dialect/dialect/runtime/remote"
)

// Two runs whose scripts resolve otherwise have no checkout in common.
func TestKeys(t *testing.T) {
	specs := []remote.Spec{
		{Name: "run1", Line: 2}, {Name: "run", Line: 12},
		{Script: "a", Name: "bc"}, {Script: "ab", Name: "c"},
		{Vars: map[string]string{"a": "b c:d"}}, {Vars: map[string]string{"a": "b", "c": "d"}},
		{}, {Lines: []int{}},
	}
	seen := make(map[string]int)
	for i := range specs {
		key := keyOf(&specs[i])
		if other, ok := seen[key]; ok {
			t.Errorf("%+v and %+v have one key: %s", specs[other], specs[i], key)
		}
		seen[key] = i
	}
}
