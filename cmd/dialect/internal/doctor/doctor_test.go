package doctor

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// states returns "state name" of each check.
func states(r *Report) string {
	var list []string
	for _, c := range r.Checks {
		list = append(list, c.State+" "+c.Name)
	}
	return strings.Join(list, ", ")
}

// What tools do not get is a row of its own, where there is something.
func TestEnviron(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte("[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"sh -c :\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for environ, want := range map[string]string{"TERM=x": "", "TOX_OVERRIDE=x PYTHONPATH=y": "not passed on to the tools: PYTHONPATH, TOX_OVERRIDE"} {
		got := ""
		for _, c := range Examine(Options{Dir: dir, Environ: strings.Fields(environ)}).Checks {
			if c.Name == "environ" {
				got = c.Detail
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", environ, got, want)
		}
	}
}

func TestExamine(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct {
		matrix, store string
		want          string // a part of the states
		broken        bool
	}{
		"no matrix":           {"", "", "broken matrix", true},
		"no TOML":             {"[", "", "broken matrix", true},
		"a tool is missing":   {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"no-such-program-here\"\n", "", "ok matrix, broken tool", true},
		"a store is no store": {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"true\"\n", "text", "ok tools, broken store", true},
		"all is there":        {"[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"true\"\n", "", "ok matrix, warning cannot-fail, ok tools, ok store, ok key, warning git, warning trust", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{Dir: dir, Store: filepath.Join(dir, "s.db")}
			if c.matrix != "" {
				write(filepath.Join(dir, "routing.toml"), c.matrix)
			}
			if c.store != "" {
				write(o.Store, c.store)
			}
			r := Examine(o)
			if got := states(r); !strings.Contains(got, c.want) || r.Broken() != c.broken {
				t.Errorf("%s, broken %v; want %s", got, r.Broken(), c.want)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 2 {
				t.Errorf("it left %v", entries)
			}
		})
	}
}

// TestGit: dialect finds the system's git without PATH, and the row says which it uses.
func TestGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	g, err := git.FindGit("/nowhere")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Examine(Options{Dir: dir, Store: filepath.Join(dir, "s.db")}).WriteText(&b); err != nil || !strings.Contains(b.String(), "git is not in PATH: dialect itself uses "+g.Program) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestText(t *testing.T) {
	r := new(Report)
	r.say(broken, "tool", "install it", "a\x1b[2J")
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != "broken  tool  a\ufffd[2J\n              -> install it\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// Long texts are broken at words, below their column; each advice has a line of its own.
func TestTextIsNarrow(t *testing.T) {
	r := new(Report)
	r.say(ok, "key", strings.Repeat("advice ", 20)+"\ndialect help trust", "%s", strings.Repeat("detail ", 30))
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || strings.Count(b.String(), "\n         -> ") != 2 {
		t.Errorf("%v\n%s", err, b.String())
	}
	for l := range strings.Lines(b.String()) {
		if len(l) > 101 || !strings.HasPrefix(l, "ok  key  detail") && !strings.HasPrefix(l, "         ") {
			t.Errorf("%q", l)
		}
	}
}

// TestMissing: what the bindings of packs need counts where a script uses them, and comes with the command that
// installs it.
func TestMissing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "state name: detail -> advice" of tools
	}{
		"no script uses it": {map[string]string{"routing.toml": "extends = [\"node\"]\n"}, "ok tools: every program that the project and its scripts use is there -> "},
		"a script does": {map[string]string{"routing.toml": "extends = [\"node\"]\n", "q.dlct": "Check with eslint\n", "package-lock.json": ""},
			"broken tool: the program \"node_modules/.bin/eslint\" of \"check_eslint\" was not found -> npm ci"},
		"by a composite, below": {map[string]string{"routing.toml": "extends = [\"node\"]\n[commands.gate_all]\nverb = \"gate\"\nnoun = \"all\"\ncomposite = [\"test_vitest\"]\n", "d/q.dlct": "Gate for all\n", "yarn.lock": ""},
			"broken tool: the program \"node_modules/.bin/vitest\" of \"test_vitest\" was not found -> yarn install --frozen-lockfile"},
		"packages of a script of npm": {map[string]string{"routing.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"npm test\"\ncwd = \"web\"\n", "web/package.json": `{"devDependencies": {"x": "1"}}`, "web/npm": ""},
			"broken install: test_x needs node_modules, which is not installed -> npm install"},
		"a tool of Node, below": {map[string]string{"routing.toml": "[commands.check_x]\nverb = \"check\"\nnoun = \"x\"\ntool = \"web/node_modules/.bin/eslint .\"\ncwd = \"web\"\n", "web/pnpm-lock.yaml": ""},
			"broken tool: the program \"web/node_modules/.bin/eslint\" of \"check_x\" was not found -> pnpm install --frozen-lockfile"},
		"what the setup of clean checkouts installs": {map[string]string{"routing.toml": "[clean]\nsetup = [\"python3 -m venv .venv\", \".venv/bin/python -m pip install -r requirements.txt\"]\nlocks = [\"requirements.txt\"]\n[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \".venv/bin/python -m pytest -q\"\n", "requirements.txt": "pytest"},
			"broken tool: the program \".venv/bin/python\" of \"test_x\" was not found -> python3 -m venv .venv && .venv/bin/python -m pip install -r requirements.txt"},
		"a virtual environment": {map[string]string{"routing.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"venv/bin/pytest -q\"\n"},
			"broken tool: the program \"venv/bin/pytest\" of \"test_x\" was not found -> make the virtual environment with `python3 -m venv venv`, and install what the project needs into it"},
		"a module of Python": {map[string]string{"routing.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"python3 -m no_such_module_here -q\"\n"},
			"broken install: test_x needs the Python module no_such_module_here, which is not installed -> python3 -m pip install no_such_module_here"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			for program, of := range map[string]string{"npm": "packages of a script of npm", "python3": "a module of Python"} {
				if _, err := exec.LookPath(program); err != nil && of == name {
					t.Skip(err)
				}
			}
			var got []string
			for _, check := range Examine(Options{Dir: dir, Store: filepath.Join(dir, "s.db")}).Checks {
				if check.Name == "tool" || check.Name == "tools" || check.Name == "install" {
					detail := check.Detail
					if i := strings.Index(detail, "the program "); i > 0 {
						detail = detail[i:] // without its place
					}
					got = append(got, check.State+" "+check.Name+": "+detail+" -> "+check.Advice)
				}
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

// Without a matrix doctor names the command that makes one, once.
func TestNoMatrix(t *testing.T) {
	var b strings.Builder
	if err := Examine(Options{Dir: t.TempDir()}).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "`dialect init` makes one"); n != 1 {
		t.Errorf("%d times:\n%s", n, b.String())
	}
}

// TestTampered: a store that can be read, and is not what was logged, is not ok.
func TestTampered(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte("[commands.check_a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"true\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Store: filepath.Join(dir, "s.db")}
	s, err := sqlite.Open(t.Context(), o.Store, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := receipts.Canonical([]byte(`{"dialect":"x","planned":[],"run":"r-1","script":{"path":"x"},"session":"s","started":"2026-11-24T20:18:17.000000000Z","system":"x","version":1}`))
	if err == nil {
		err = errors.Join(s.Append(t.Context(), receipts.Record{Kind: receipts.KindRun, Body: body}), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := Examine(o); !strings.Contains(states(r), "ok store") {
		t.Fatal(r.Checks)
	}
	db, err := sql.Open("sqlite", o.Store)
	if err == nil {
		_, err = db.Exec("DELETE FROM record")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := Examine(o); !strings.Contains(states(r), "broken store") {
		t.Error(r.Checks)
	}
}
