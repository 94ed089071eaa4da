package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// DefaultScript returns the script that is run in dir if none is named: the default of [run] of m, else the nearest
// quality.dlct from dir up to the root of m, else the only script of the nearest folder that has any. Outside of that root it is the one of the root, or else the one
// in dir. It returns the
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

// LostScript returns the path of the default script that HEAD has for dir, where none is here any more; empty where there is one, or several, or
// HEAD has none either.
func LostScript(ctx context.Context, dir string, m *routing.Matrix) string {
	path, several := DefaultScript(dir, m)
	if path != "" && place.Exists(path) || len(several) > 0 {
		return ""
	}
	c, err := workspace.Resolve(ctx, dir, "HEAD", workspace.Options{})
	if err != nil {
		return ""
	}
	if path, _, err = DefaultScriptIn(ctx, c, dir, m); err != nil || path == "" || !HeadHas(ctx, path) {
		return ""
	}
	return path
}

// HeadHas reports whether HEAD has the file at a path.
func HeadHas(ctx context.Context, path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	c, err := workspace.Resolve(ctx, filepath.Dir(path), "HEAD", workspace.Options{})
	if err != nil {
		return false
	}
	f, err := c.Lookup(ctx, path)
	return err == nil && f.File
}

func defaultScript(dir string, m *routing.Matrix, files func(dir string) ([]string, error)) (path string, several []string, err error) {
	if m.Script != "" {
		return filepath.Join(m.Root, filepath.FromSlash(m.Script)), nil, nil
	}
	var folders []string // the first that has one counts
	rel, err := filepath.Rel(m.Root, dir)
	outside := err != nil || !filepath.IsLocal(rel)
	if outside {
		folders = []string{m.Root, dir}
	} else {
		for at := dir; ; at = filepath.Dir(at) {
			if folders = append(folders, at); at == m.Root || at == filepath.Dir(at) {
				break
			}
		}
	}
	var nearest []string // the scripts of the nearest folder that has any
	for _, at := range folders {
		if outside && len(nearest) > 0 {
			break
		}
		names, err := files(at)
		if err != nil {
			return "", nil, err
		}
		if slices.Contains(names, routing.ScriptName) {
			return filepath.Join(at, routing.ScriptName), nil, nil
		}
		if len(nearest) == 0 {
			for _, name := range names {
				if filepath.Ext(name) == ".dlct" {
					nearest = append(nearest, filepath.Join(at, name))
				}
			}
		}
	}
	if len(nearest) == 1 {
		return nearest[0], nil, nil
	}
	return "", nearest, nil
}
