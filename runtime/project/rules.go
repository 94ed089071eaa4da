package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// FindMatrix returns the path of the nearest matrix for dir, or of the one that is named, and what
// messages call it. The error is that of [routing.Find].
func FindMatrix(dir, name string) (path, shown string, err error) {
	if name != "" {
		if path, err = filepath.Abs(name); err != nil {
			path = name
		}
		return path, name, nil
	}
	path, err = routing.Find(dir)
	if err != nil {
		return "", "", err
	}
	return path, place.Short(path), nil
}

// LoadMatrix finds and loads the matrix for dir, or the one that is named.
func LoadMatrix(dir, name string) (*routing.Matrix, diag.List, error) {
	path, name, err := FindMatrix(dir, name)
	if err != nil {
		return nil, nil, err
	}
	m, l := routing.Load(path, name, routing.Options{Root: RootOf(dir, path)})
	return m, l, nil
}

// RootOf returns the root of the project that a matrix is used for which was looked for from dir. A file
// called routing.toml makes its folder one. A matrix of another name, which somebody named, does not: the
// root is that of the project that dir is in, by its routing.toml, else by its repository; where dir is
// in none, it is the folder of the matrix.
func RootOf(dir, path string) string {
	if filepath.Base(path) == routing.FileName {
		return filepath.Dir(path)
	}
	if own, err := routing.Find(dir); err == nil {
		return filepath.Dir(own)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		if top := place.Repository(abs); place.Exists(filepath.Join(top, ".git")) {
			return top
		}
	}
	return filepath.Dir(path)
}

// LoadMatrixOf is [LoadMatrix] with the bytes that the commit rev has: of the nearest matrix in the
// commit, or, where it has none, in the place of the one that is here, which is Absent then, and
// loads with an error. Files outside of the repository are in no commit; they are read as they
// are. The commit is nil where rev names none.
func LoadMatrixOf(ctx context.Context, rev, dir, name string) (*workspace.Commit, *routing.Matrix, diag.List, error) {
	path, shown, err := FindMatrix(dir, name)
	root := dir
	if err == nil {
		root = RootOf(dir, path)
	}
	c, cerr := workspace.Resolve(ctx, root, rev, workspace.Options{})
	if cerr != nil {
		return nil, nil, nil, cerr
	}
	switch at := nearestIn(ctx, c, dir); {
	case name == "" && at != "":
		path, shown = at, place.Short(at)
	case err != nil:
		return c, nil, nil, err
	}
	m, findings := routing.Load(path, shown, routing.Options{Root: RootOf(dir, path), ReadFile: func(path string) ([]byte, error) {
		if f, err := c.Lookup(ctx, path); err == nil && f.Outside {
			return routing.ReadFile(path)
		}
		return c.ReadFile(ctx, path)
	}})
	return c, m, findings, nil
}

// nearestIn returns the path of the nearest matrix that a commit has in dir or above it; empty
// if it has none.
func nearestIn(ctx context.Context, c *workspace.Commit, dir string) string {
	for at := range regular.Above(dir) {
		path := filepath.Join(at, routing.FileName)
		if f, err := c.Lookup(ctx, path); err == nil && f.File {
			return path
		}
	}
	return ""
}

// Lost returns the path of the matrix that HEAD has for dir, where none is here any more; empty
// if HEAD has none either, or if err, which is that of [FindMatrix], is about something else.
func Lost(ctx context.Context, dir string, err error) string {
	if !errors.Is(err, routing.ErrNotFound) {
		return ""
	}
	return MatrixIn(ctx, "HEAD", dir)
}

// MatrixIn returns the path of the matrix that the commit rev has for dir; empty if it has none, or if there is no such commit.
func MatrixIn(ctx context.Context, rev, dir string) string {
	c, err := workspace.Resolve(ctx, dir, rev, workspace.Options{})
	if err != nil {
		return ""
	}
	return nearestIn(ctx, c, dir)
}

// IsAbsent reports whether m was looked for and is not there.
func IsAbsent(m *routing.Matrix) bool {
	for _, f := range m.Read {
		if f.Path == m.Path {
			return f.Absent
		}
	}
	return false
}

// Trusted returns the matrix that the baseline has in the place of m, and how m compares with
// it: the commit base, else the user's pin, else HEAD. Without a baseline, or where HEAD does not
// have the matrix yet, that is m itself. dir is where m was looked for; empty where it was named. run starts git;
// nil for this process.
func Trusted(ctx context.Context, run git.Runner, m *routing.Matrix, base, dir string) (*routing.Matrix, *policy.Baseline, policy.State, error) {
	b, err := policy.Open(ctx, run, resolve.Matrix(m), base)
	if err != nil {
		return nil, nil, policy.State{}, err
	}
	var state policy.State
	trusted := m
	if pm := resolve.Matrix(m); b.Same(pm) {
		state = b.Compare(pm, pm)
	} else {
		of, findings := routing.Load(m.Path, m.Name, routing.Options{Root: m.Root, ReadFile: b.ReadFile})
		state = b.Compare(pm, resolve.Matrix(of))
		if b.Kind != policy.None && !state.New && findings.Count(diag.Error) == 0 {
			trusted = of // else, with a baseline that is there, the state has a complaint
		}
	}
	if dir != "" {
		state.Elsewhere = elsewhere(b, m, state, base, dir)
	}
	return trusted, b, state, nil
}

// elsewhere says that another matrix is meant for dir than m, which was found: one that is nearer in
// the baseline, the one above that the baseline has where m is new, or, without a base,
// one that the user has pinned. Who may write the files chooses what is found.
func elsewhere(b *policy.Baseline, m *routing.Matrix, state policy.State, base, dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	pinned, nearer := policy.IsPinned(m.Root), true
	for at := range regular.Above(dir) {
		nearer = nearer && at != m.Root
		path := filepath.Join(at, routing.FileName)
		switch {
		case nearer && b.Has(path):
			return fmt.Sprintf("%s is gone: %s has it", place.Short(path), b.Name)
		case state.New && !nearer && at != m.Root && b.Has(path):
			return fmt.Sprintf("%s is new, and nearer than %s, which is the matrix of this folder in %s: commit it, or trust it with `dialect trust`", place.Short(m.Path), place.Short(path), b.Name)
		case base == "" && at != m.Root && (nearer || !pinned) && policy.IsPinned(at):
			return fmt.Sprintf("you pinned the project at %s, but the nearest matrix is %s; run `dialect trust` to pin that one as well", at, place.Short(m.Path))
		}
	}
	return ""
}

// Check compares the matrix of a plan with its baseline: see [policy.Check].
func Check(ctx context.Context, m plan.Matrix, base string) (policy.State, error) {
	return policy.Check(ctx, m, base, func(read func(path string) ([]byte, error)) plan.Matrix {
		trusted, _ := routing.Load(m.Path, m.Name, routing.Options{Root: m.Root, ReadFile: read})
		return resolve.Matrix(trusted)
	})
}

// Rules returns the paths of the files that a matrix is made of, its pins included.
func Rules(m plan.Matrix) (paths []string) {
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// RulesAround returns the paths of the files that the matrix above dir is made of, and of the
// scripts beside it and in dir.
func RulesAround(dir string) (paths []string) {
	folders := []string{dir}
	if m, _, err := LoadMatrix(dir, ""); err == nil {
		paths = append(Rules(resolve.Matrix(m)), m.Path)
		folders = append(folders, m.Root)
	}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that cannot be read has no script that can be run
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".dlct" {
				paths = append(paths, filepath.Join(folder, e.Name()))
			}
		}
	}
	return paths
}

// IsProject reports whether dir is in a project: below a matrix, or in a worktree of git. Else it
// could be anything, such as a whole disk, and no snapshot is taken of it.
func IsProject(dir string) bool {
	_, noMatrix := routing.Find(dir)
	_, noGit := os.Lstat(filepath.Join(place.Repository(dir), ".git"))
	return noMatrix == nil || noGit == nil
}
