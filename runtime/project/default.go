package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// DefaultScript returns the script that is run in dir if none is named: the default of [run] of m, else the nearest
// quality.dlct from dir up to the root of m, else the only script of the nearest folder that has any. It returns the
// paths of those that it cannot choose from; without scripts it returns nothing. A folder that cannot be read has none.
func DefaultScript(dir string, m *routing.Matrix) (path string, several []string) {
	path, several, _ = defaultScript(dir, m, func(dir string) (names []string, _ error) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".dlct" {
				continue
			}
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && !info.IsDir() {
				names = append(names, e.Name())
			}
		}
		return names, nil
	})
	return path, several
}

// DefaultScriptIn is [DefaultScript] by the files that a commit has.
func DefaultScriptIn(ctx context.Context, c *workspace.Commit, dir string, m *routing.Matrix) (path string, several []string, err error) {
	return defaultScript(dir, m, func(dir string) ([]string, error) { return c.Files(ctx, dir) })
}

func defaultScript(dir string, m *routing.Matrix, files func(dir string) ([]string, error)) (path string, several []string, err error) {
	if m.Script != "" {
		return filepath.Join(m.Root, filepath.FromSlash(m.Script)), nil, nil
	}
	if rel, err := filepath.Rel(m.Root, dir); err != nil || !filepath.IsLocal(rel) {
		dir = m.Root
	}
	var nearest []string // the scripts of the nearest folder that has any
	for {
		names, err := files(dir)
		if err != nil {
			return "", nil, err
		}
		if slices.Contains(names, routing.ScriptName) {
			return filepath.Join(dir, routing.ScriptName), nil, nil
		}
		if len(nearest) == 0 {
			for _, name := range names {
				if filepath.Ext(name) == ".dlct" {
					nearest = append(nearest, filepath.Join(dir, name))
				}
			}
		}
		if dir == m.Root || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if len(nearest) == 1 {
		return nearest[0], nil, nil
	}
	return "", nearest, nil
}
