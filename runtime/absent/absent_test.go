package absent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/absent"
)

// What the output names comes first; what it does not is listed where the command passed in the working tree, and at most five are.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	root, home := filepath.Join(dir, "work", "project"), filepath.Join(dir, "home")
	for _, name := range []string{
		"work/project/main.py", "work/project/settings.py", "work/project/.env", "work/project/src/gen/version.txt", "work/project/src/a.c",
		"work/project/node_modules/left-pad/index.js", "work/project/node_modules/@types/node/index.d.ts", "work/project/.venv/lib/python3.12/site-packages/yaml/__init__.py",
		"work/pytest.ini", "home/.npmrc", "data/model.bin", "work/project/.git/config",
	} {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ignored := func(rel string) bool {
		return slices.ContainsFunc([]string{"settings.py", ".env", "src/gen/", "node_modules/", ".venv/"}, func(p string) bool {
			return rel == p || strings.HasSuffix(p, "/") && strings.HasPrefix(rel, p)
		})
	}
	hidden := func(path string) (string, bool) { return dir, !strings.HasPrefix(path, root) }
	for output, test := range map[string]struct {
		passed bool
		want   []string
	}{
		"ModuleNotFoundError: No module named 'settings'":          {false, []string{"settings.py, which its output names"}},
		"Error: Cannot find module 'left-pad'\nRequire stack:":     {false, []string{"node_modules, which has left-pad"}},
		"Cannot find type definition file for '@types/node'.":      {false, []string{"node_modules, which has @types/node"}},
		"import yaml\nModuleNotFoundError: No module named 'yaml'": {false, []string{".venv, which has yaml"}},
		"open " + dir + "/data/model.bin: no such file":            {false, []string{dir + "/data/model.bin, which is hidden with all of " + dir}},
		"open ~/.npmrc: no such file":                              {false, []string{"~/.npmrc, which is hidden with all of " + dir}},
		"KeyError: 'DATABASE_URL'":                                 {false, []string{"the variable DATABASE_URL, which its output names"}},
		"src/a.c:3: fatal error: gen/version.txt: No such file":    {false, []string{"src/gen, which has version.txt"}},
		"main.py failed": {false, nil},
		"":               {false, nil},
		"it failed":      {true, []string{".env", ".venv", "node_modules", "settings.py", "src/gen", "2 more"}},
		"no settings, no .env, left-pad, yaml, version.txt, DATABASE_URL": {true, []string{
			"the variable DATABASE_URL, which its output names", ".env, which its output names", ".venv, which has yaml", "node_modules, which has left-pad",
			"settings.py, which its output names", "3 more"}},
	} {
		o := absent.Options{Root: root, Home: home, Ignored: ignored, Hidden: hidden, Output: []byte(output), Names: []string{"DATABASE_URL", "A", "UNUSED"}, Passed: test.passed}
		if got := absent.Find(t.Context(), o); !slices.Equal(got, test.want) {
			t.Errorf("%s\n%q, want\n%q", output, got, test.want)
		}
	}
}

// Whatever a tool prints, the search ends, and looks at no more than it may.
func FuzzFind(f *testing.F) {
	f.Add([]byte("No module named 'settings'"))
	f.Add([]byte(strings.Repeat("/", 5000) + "~/ ~/.. ../.."))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, output []byte) {
		o := absent.Options{Root: root, Home: root, Ignored: func(string) bool { return true }, Hidden: func(string) (string, bool) { return "/", true }, Output: output}
		if found := absent.Find(t.Context(), o); len(found) > 6 {
			t.Errorf("%d are named", len(found))
		}
	})
}
