package cli

import (
	"context"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/policy"
)

// trustedRules returns the matrix that the baseline has in the place of m, and how m compares with
// it. Without a baseline, or where HEAD does not have the matrix yet, that is m itself.
func trustedRules(ctx context.Context, m *routing.Matrix, base string) (*routing.Matrix, *policy.Baseline, policy.State, error) {
	b, err := policy.Open(ctx, resolve.Matrix(m), base)
	if err != nil {
		return nil, nil, policy.State{}, err
	}
	if pm := resolve.Matrix(m); b.Same(pm) {
		return m, b, b.Compare(pm, pm), nil
	}
	trusted, findings := routing.Load(m.Path, m.Name, routing.Options{ReadFile: b.ReadFile})
	state := b.Compare(resolve.Matrix(m), resolve.Matrix(trusted))
	if b.Kind == policy.None || state.New || findings.Count(diag.Error) > 0 {
		trusted = m // with a baseline that is there, the state has a complaint
	}
	return trusted, b, state, nil
}

// fromBaseline loads the matrix that is at m's place in a baseline.
func fromBaseline(m plan.Matrix) policy.Loader {
	return func(read func(path string) ([]byte, error)) plan.Matrix {
		trusted, _ := routing.Load(m.Path, m.Name, routing.Options{ReadFile: read})
		return resolve.Matrix(trusted)
	}
}
