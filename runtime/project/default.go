package project

import (
	"os"
	"path/filepath"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

// DefaultScript returns the script that is run in dir if none is named: the default of [run] of m, else the nearest
// quality.dlct from dir up to the root of m, else the only script of the nearest folder that has any. It returns the
// names of those that it cannot choose from; without scripts it returns nothing.
func DefaultScript(dir string, m *routing.Matrix) (path string, several []string) {
	if m.Script != "" {
		return filepath.Join(m.Root, filepath.FromSlash(m.Script)), nil
	}
	if rel, err := filepath.Rel(m.Root, dir); err != nil || !filepath.IsLocal(rel) {
		dir = m.Root
	}
	folders := []string{dir}
	for dir != m.Root && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		folders = append(folders, dir)
	}
	for _, dir := range folders {
		if path := filepath.Join(dir, routing.ScriptName); place.Exists(path) {
			return path, nil
		}
	}
	for _, dir := range folders {
		if found := scriptsIn(dir); len(found) == 1 {
			return found[0], nil
		} else if len(found) > 1 {
			return "", found
		}
	}
	return "", nil
}

// scriptsIn lists the scripts in a folder, sorted. A folder that cannot be read has none.
func scriptsIn(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".dlct" && !e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
