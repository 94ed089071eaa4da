package cli

import (
	"context"
	"path/filepath"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/place"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
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

// loadMatrixOf is [loadMatrix] with the bytes that the commit rev has: of a matrix in the
// place of the one that is here, or, where none is, of the nearest in the commit itself. Files outside
// of the repository are in no commit; they are read as they are. A matrix that the commit does not
// have is Absent, and loads with an error.
func loadMatrixOf(ctx context.Context, rev, dir, name string) (*workspace.Commit, *routing.Matrix, diag.List, error) {
	path, shown, err := findMatrix(dir, name)
	root := dir
	if err == nil {
		root = filepath.Dir(path)
	}
	c, cerr := workspace.Resolve(ctx, root, rev, workspace.Options{})
	if cerr != nil {
		return nil, nil, nil, exit.Usagef("--tree: %v", cerr)
	}
	for at := dir; err != nil; at = filepath.Dir(at) {
		path = filepath.Join(at, routing.FileName)
		if f, lerr := c.Lookup(ctx, path); lerr == nil && f.File {
			shown, err = place.Short(path), nil
		} else if at == filepath.Dir(at) {
			return c, nil, nil, err
		}
	}
	m, findings := routing.Load(path, shown, routing.Options{ReadFile: func(path string) ([]byte, error) {
		if f, err := c.Lookup(ctx, path); err == nil && f.Outside {
			return routing.ReadFile(path)
		}
		return c.ReadFile(ctx, path)
	}})
	return c, m, findings, nil
}

// isAbsent reports whether m was looked for and is not there.
func isAbsent(m *routing.Matrix) bool {
	for _, f := range m.Read {
		if f.Path == m.Path {
			return f.Absent
		}
	}
	return false
}
