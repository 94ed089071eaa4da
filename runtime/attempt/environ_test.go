package attempt

import (
	"testing"

	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/redact"
)

// TestHandedOn: a command in a clean checkout gets what a run hands on to runs that it starts.
func TestHandedOn(t *testing.T) {
	for _, name := range []string{JobsVariable, ParentVariable, LocksVariable, DepthVariable, SessionVariable, NonceVariable, StoreVariable, NotaryVariable, policy.Variable, redact.Variable} {
		if !environ.Own(name) {
			t.Errorf("%s is left out", name)
		}
	}
}
