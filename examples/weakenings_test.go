package examples_test

import (
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A weakening makes a check pass that checks nothing, or less.
type weakening struct {
	name  string
	base  string            // of bases
	tool  string            // in the place of that of the base; empty if it stays
	shell bool              // tool is a script
	files map[string]string // that are changed
}

// An honest is a project with one check that is not weakened.
type honest struct {
	needs []string
	line  string
	bind  string // of the matrix: verb, noun and what else the binding has
	tool  string
	tests bool // it counts tests
	files map[string]string
}

var bases = map[string]honest{
	"pytest": {
		needs: []string{"pytest"}, line: "Test with pytest", bind: "verb = \"test\"\nnoun = \"pytest\"\n", tool: "pytest -q", tests: true,
		files: map[string]string{
			"tests/test_add.py": "def test_add():\n    assert 1 + 2 == 3\n\n\ndef test_more():\n    assert 1 + 1 == 2\n",
			".gitignore":        ".pytest_cache/\n__pycache__/\n",
		},
	},
	"make": {
		needs: []string{"pytest", "make"}, line: "Test with make", bind: "verb = \"test\"\nnoun = \"make\"\n", tool: "make --silent test", tests: true,
		files: map[string]string{
			"Makefile":          "test:\n\tpytest -q\n",
			"tests/test_add.py": "def test_add():\n    assert 1 + 2 == 3\n\n\ndef test_more():\n    assert 1 + 1 == 2\n",
			".gitignore":        ".pytest_cache/\n__pycache__/\n",
		},
	},
	"flake8": {
		needs: []string{"flake8"}, line: "Check with flake8", bind: "verb = \"check\"\nnoun = \"flake8\"\n", tool: "flake8",
		files: map[string]string{"add.py": "def add(a, b):\n    return a + b\n"},
	},
	"mypy": {
		needs: []string{"mypy"}, line: "Check with mypy", bind: "verb = \"check\"\nnoun = \"mypy\"\n", tool: "mypy .",
		files: map[string]string{"add.py": "def add(a: int, b: int) -> int:\n    return a + b\n", ".gitignore": ".mypy_cache/\n"},
	},
	"go test": {
		needs: []string{"go"}, line: "Test with go", bind: "verb = \"test\"\nnoun = \"go\"\n", tool: "go test -json ./...", tests: true,
		files: map[string]string{
			"go.mod":      "module example.com/add\n\ngo 1.21\n",
			"add_test.go": "package add\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif 1+2 != 3 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestMore(t *testing.T) {}\n",
		},
	},
	"go vet": {
		needs: []string{"go"}, line: "Check with vet", bind: "verb = \"check\"\nnoun = \"vet\"\n", tool: "go vet ./...",
		files: map[string]string{
			"go.mod":         "module example.com/add\n\ngo 1.21\n",
			"add.go":         "// Package add adds.\npackage add\n",
			"nothing/README": "no package\n",
		},
	},
	"tsc": {
		needs: []string{"node", "node_modules"}, line: "Check with tsc", bind: "verb = \"check\"\nnoun = \"tsc\"\n", tool: "node_modules/.bin/tsc -p .",
		files: map[string]string{
			"tsconfig.json": "{ \"compilerOptions\": { \"noEmit\": true, \"strict\": true, \"target\": \"esnext\", \"module\": \"esnext\", \"types\": [] }, \"include\": [\"src\"] }\n",
			"src/add.ts":    "export const add = (a: number, b: number): number => a + b;\n", ".gitignore": "node_modules\n",
		},
	},
	"eslint": {
		needs: []string{"node", "node_modules"}, line: "Check with eslint", bind: "verb = \"check\"\nnoun = \"eslint\"\n", tool: "node_modules/.bin/eslint .",
		files: map[string]string{
			"eslint.config.mjs": "export default [{ rules: { \"no-debugger\": \"error\", \"no-unused-vars\": \"error\" } }];\n",
			"src/add.js":        "export const add = (a, b) => a + b;\n", ".gitignore": "node_modules\n",
		},
	},
}

var weakenings = []weakening{
	{name: "`true`", base: "pytest", tool: "true"},
	{name: "`pytest -q \\|\\| true`", base: "pytest", tool: "pytest -q || true", shell: true},
	{name: "a pipe: `pytest -q \\| tail -n 3`", base: "pytest", tool: "pytest -q | tail -n 3", shell: true},
	{name: "`pytest -k nothing`", base: "pytest", tool: "pytest -q -k nothing"},
	{name: "`pytest -k nothing`, by a pipe", base: "pytest", tool: "pytest -q -k nothing | cat", shell: true},
	{name: "`pytest -k test_more`, one test of two", base: "pytest", tool: "pytest -q -k test_more"},
	{name: "`pytest --collect-only`", base: "pytest", tool: "pytest -q --collect-only"},
	{name: "an empty folder as `testpaths`", base: "pytest", files: map[string]string{"pytest.ini": "[pytest]\ntestpaths = empty\n", "empty/README": "no test\n"}},
	{name: "a conftest.py that swallows failures", base: "pytest", files: map[string]string{"conftest.py": `import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
`}},
	{name: "`exit 0` in a Makefile", base: "make", files: map[string]string{"Makefile": "test:\n\tpytest -q; exit 0\n"}},
	{name: "a pattern that leaves out all: `exclude = *`", base: "flake8", files: map[string]string{".flake8": "[flake8]\nexclude = *\n"}},
	{name: "mypy with `ignore_errors`", base: "mypy", files: map[string]string{"mypy.ini": "[mypy]\nignore_errors = True\n"}},
	{name: "`tsc --noCheck`", base: "tsc", tool: "node_modules/.bin/tsc -p . --noCheck"},
	{name: "eslint with every rule off", base: "eslint", files: map[string]string{"eslint.config.mjs": "export default [{ rules: {} }];\n"}},
	{name: "`go test -run NoSuchTest`", base: "go test", tool: "go test -json -run NoSuchTest ./..."},
	{name: "`go vet ./nothing/...`", base: "go vet", tool: "go vet ./nothing/..."},
}

// matrix is that of a base with a tool; tests asks for the number of tests that the base has.
func (b honest) matrix(tool string, shell, tests bool) string {
	text := "[commands.check]\n" + b.bind + "tool = '''" + tool + "'''\n"
	if shell {
		text += "shell = true\n"
	}
	if tests {
		text += "expect = { min_tests = 2 }\n"
	}
	text += "\n[commands.gate_quality]\nverb = \"gate\"\nnoun = \"quality\"\ncomposite = [\"check\"]\n"
	if slices.Contains(b.needs, "node_modules") {
		text += "\n[clean]\nshare = [\"node_modules\"]\n"
	}
	return text
}

// lab makes the project of a base.
func (b honest) lab(t *testing.T, tests bool) *lab {
	files := maps.Clone(b.files)
	files["routing.toml"], files["quality.dlct"] = b.matrix(b.tool, false, tests), b.line+"\nGate against results\n"
	return newLab(t, files)
}

// weaken changes the project.
func (w weakening) weaken(l *lab, b honest, tests bool) {
	if w.tool != "" {
		write(l.t, l.dir+"/routing.toml", b.matrix(w.tool, w.shell, tests))
	}
	for name, text := range w.files {
		write(l.t, l.dir+"/"+name, text)
	}
}

const missed = "passes"

// checked is what `dialect check` warns of.
func (l *lab) checked() string {
	_, text, _ := l.run("check", "quality.dlct")
	out, _, _ := l.run("check", "quality.dlct")
	for _, line := range strings.Split(text+out, "\n") {
		if i := strings.LastIndexByte(line, '['); strings.Contains(line, "warning:") && strings.Contains(line, "routing.toml") && i > 0 {
			return "**caught**: " + strings.Trim(line[i:], "[]")
		}
	}
	return missed
}

// ran is how a run ends.
func (l *lab) ran() string {
	out, _, status := l.run("run", "quality.dlct")
	if status == 0 {
		return missed
	}
	if strings.Contains(out, "vacuous") {
		return "**caught**: vacuous"
	}
	return "**caught**: failed"
}

// proved is what prove says.
func (l *lab) proved() string {
	p, stderr := l.prove()
	if len(p.Lines) != 1 {
		l.t.Fatalf("%d lines\n%s", len(p.Lines), stderr)
	}
	switch line := p.Lines[0]; line.Outcome {
	case "noticed":
		return missed
	case "blind":
		return "**caught**: it passes with " + what(line.Detail) + " broken"
	case "lenient":
		return "**caught**: it names the broken test, and passes"
	case "not_passed":
		return "**caught**: it does not pass as it is"
	default:
		return line.Outcome + ": " + line.Detail
	}
}

// what says what was broken, without where the nonce chose it.
func what(detail string) string {
	if strings.Contains(detail, "(") {
		return "a test"
	}
	return "a file"
}

// ruled is what verify says of the rules.
func (l *lab) ruled() string {
	out, _, _ := l.run("verify")
	if strings.HasPrefix(out, "POLICY CHANGED") {
		return "**caught**: POLICY CHANGED"
	}
	return missed
}

// cells are the row of a weakening, or, without one, of the base itself.
func (b honest) cells(t *testing.T, w *weakening) (row [4]string) {
	at := func(tests bool) *lab {
		l := b.lab(t, tests)
		if w != nil {
			w.weaken(l, b, tests)
		}
		return l
	}
	l := at(false)
	row[0], row[1], row[3] = l.checked(), l.proved(), l.ruled()
	if row[2] = "no tests"; b.tests {
		row[2] = at(true).ran()
	}
	return row
}

// TestWeakenings weakens honest checks and looks who notices: examples/controls.md says what happened.
func TestWeakenings(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a control runs in a clean checkout")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Run("honest", func(t *testing.T) {
		for name, b := range bases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				needed(t, b.needs)
				row := b.cells(t, nil)
				if row[0] != missed || row[1] != missed || row[2] != missed && b.tests || row[3] != missed {
					t.Errorf("%q", row)
				}
			})
		}
	})
	rows := make([][4]string, len(weakenings))
	t.Run("weakened", func(t *testing.T) {
		for i, w := range weakenings {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				b := bases[w.base]
				needed(t, b.needs)
				rows[i] = b.cells(t, &w)
			})
		}
	})
	text, err := os.ReadFile("controls.md")
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := strings.Split(string(text), "\n")
	var b strings.Builder
	b.WriteString(weakeningsHead)
	for i, w := range weakenings {
		b.WriteString(row(was, w.name, rows[i][1] != "", rows[i][:]...))
	}
	table(t, "controls.md", b.String(), string(text))
}

const weakeningsHead = `# Weakened checks, and what notices

Made by ` + "`go test ./examples -run Weakenings`" + `, which carries out each row and fails when a cell differs; ` + "`-update`" + ` writes
this file. In each row an honest check is weakened, by accident or to get rid of a failure, and the weakened check
is committed nowhere. The columns:

- check: ` + "`dialect check`" + ` warns of the binding.
- prove: ` + "`dialect prove`" + ` breaks something that the check should look at, in a clean checkout.
- min_tests: ` + "`dialect run`" + `, where the binding expects the number of tests that the project has.
- rules: ` + "`dialect verify`" + ` compares the matrix, and what it pins, with HEAD. What is committed, or is in a file that no binding pins, it
  does not see.

None of this holds somebody who knows of it: a check can pass for what is broken at random, and refuse that alone when
it is broken on purpose. ` + "`dialect help controls`" + ` has more.

A dropped exit status alone, as by ` + "`|| true`" + `, a pipe or ` + "`exit 0`" + ` in a Makefile, weakens no check whose tool counts its failures in an output that
dialect reads: the line fails all the same, and so prove finds nothing.

| weakening | check | prove | min_tests | rules |
|---|---|---|---|---|
`
