package scaffold_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
)

type files map[string]string

// project makes a folder with files, and a PATH that has these programs alone: "NAME", which succeeds, or
// "NAME: COMMAND", whose exit status is that of the shell's COMMAND.
func project(t *testing.T, f files, programs ...string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir, bin := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range f {
		write(filepath.Join(dir, name), text)
	}
	for _, p := range programs {
		name, command, _ := strings.Cut(p, ": ")
		write(filepath.Join(bin, name), "#!/bin/sh\n"+command+"\n")
	}
	t.Setenv("PATH", bin)
	return dir
}

// render returns a plan as text: the script, the matrix without its comment, and the report.
func render(p scaffold.Plan) string {
	var b strings.Builder
	if len(p.Files) == 2 {
		_, matrix, _ := strings.Cut(p.Files[0].Text, "\n")
		b.WriteString(p.Files[1].Text + matrix)
	}
	if len(p.Found) > 0 {
		fmt.Fprintf(&b, "found: %s\n", strings.Join(p.Found, ", "))
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", l)
	}
	return b.String()
}

func TestLook(t *testing.T) {
	allOfNode := files{"node_modules/.bin/prettier": "", "node_modules/.bin/biome": "", "node_modules/.bin/tsc": "", "node_modules/.bin/vitest": "",
		".prettierrc.json": "", "biome.json": "", "tsconfig.json": ""}
	for _, c := range []struct {
		name     string
		files    files
		programs []string
		want     string
	}{
		{"go", files{"go.mod": "module m\n"}, nil, `
Format with gofmt
Check with vet
Test with go
Gate against results
extends = ["go"]
found: go.mod
left out: staticcheck (not installed; bound already, so that the line "Check with staticcheck" is all it takes)
`},
		{"go, staticcheck on PATH", files{"go.mod": "module m\n"}, []string{"staticcheck"}, `
Format with gofmt
Check with vet
Check with staticcheck
Test with go
Gate against results
extends = ["go"]
found: go.mod, staticcheck
`},
		{"go, staticcheck of go.mod", files{"go.mod": "module m\ntool honnef.co/go/tools/cmd/staticcheck\n"}, []string{"staticcheck"}, `
Format with gofmt
Check with vet
Check with staticcheck
Test with go
Gate against results
extends = ["go"]

[commands.check_staticcheck]
verb = "check"
noun = "staticcheck"
tool = "go tool staticcheck ./..."
receipt_required = true
found: go.mod, staticcheck (a tool of go.mod)
`},
		{"python, in a virtual environment", files{".venv/bin/python": "#!/bin/sh\ntest $2 != black\n", "pyproject.toml": "ruff black\n", "a/test_a.py": ""}, nil, `
Format with ruff
Check with ruff
Test with pytest
Gate against results

[commands.format_ruff]
verb = "format"
noun = "ruff"
tool = ".venv/bin/python -m ruff format --check ."
receipt_required = true
inputs = [".venv/pyvenv.cfg", ".venv/lib/python*/site-packages/*.dist-info/RECORD"]

[commands.check_ruff]
verb = "check"
noun = "ruff"
tool = ".venv/bin/python -m ruff check ."
receipt_required = true
hint = "ruff check --fix fixes what it can"
inputs = [".venv/pyvenv.cfg", ".venv/lib/python*/site-packages/*.dist-info/RECORD"]

[commands.test_pytest]
verb = "test"
noun = "pytest"
tool = ".venv/bin/python -m pytest -q"
receipt_required = true
expect = { min_tests = 1 }
inputs = [".venv/pyvenv.cfg", ".venv/lib/python*/site-packages/*.dist-info/RECORD"]
found: a Python project, ruff, pytest
left out: black (the project mentions it, and it is not installed)
left out: flake8 (the project does not mention it)
left out: mypy (the project does not mention it)
`},
		{"python, tools of their own and unittest", files{"test_a.py": "", "mypy.ini": ""}, []string{"mypy", "python3: test $2$3 = unittest--help"}, `
Check with mypy
Test with unittest
Gate against results

[commands.check_mypy]
verb = "check"
noun = "mypy"
tool = "mypy ."
receipt_required = true

[commands.test_unittest]
verb = "test"
noun = "unittest"
tool = "python3 -m unittest"
receipt_required = true
expect = { min_tests = 1 }
found: a Python project, mypy, unittest
left out: ruff (the project does not mention it)
left out: black (the project does not mention it)
left out: flake8 (the project does not mention it)
left out: pytest (not installed)
`},
		{"python without tests: those of others do not count", files{"a.py": "", ".tox/test_a.py": "", "venv/test_a.py": "", "node_modules/test_a.py": ""}, []string{"python3: test $2$3 = compileall--help"}, `
Check for syntax
Gate against results

[commands.check_syntax]
verb = "check"
noun = "syntax"
tool = "python3 -m compileall -q ."
receipt_required = true
found: a Python project
left out: ruff (the project does not mention it)
left out: black (the project does not mention it)
left out: flake8 (the project does not mention it)
left out: mypy (the project does not mention it)
left out: pytest (there are no test files)
`},
		{"python, by uv and a program of Debian", files{"setup.cfg": "mypy\n", "uv.lock": "", "a_test.py": ""}, []string{"uv: test $5 = mypy", "pytest-3"}, `
Check with mypy
Test with pytest
Gate against results

[commands.check_mypy]
verb = "check"
noun = "mypy"
tool = "uv run --frozen python -m mypy ."
receipt_required = true

[commands.test_pytest]
verb = "test"
noun = "pytest"
tool = "pytest-3 -q"
receipt_required = true
expect = { min_tests = 1 }
found: a Python project, mypy, pytest
left out: ruff (the project does not mention it)
left out: black (the project does not mention it)
left out: flake8 (the project does not mention it)
`},
		{"node, with tools", with(allOfNode, "package.json", `{"devDependencies": {"prettier": "1", "@biomejs/biome": "1", "typescript": "1", "vitest": "1"}, "scripts": {"test": "vitest"}}`), []string{"node"}, `
Format with prettier
Check with biome
Check with tsc
Test with vitest
Gate against results
extends = ["node"]
found: package.json, prettier, biome, tsc, vitest
`},
		{"node, tools that do not count", files{"package.json": `{"dependencies": {"jest": "1", "eslint": "1"}, "scripts": {"test": "jest"}}`, "node_modules/.bin/eslint": "", "node_modules/.bin/prettier": ""}, []string{"node", "npm"}, `
Test with npm
Gate against results
extends = ["node"]
found: package.json, the script "test"
left out: eslint (it has no configuration here)
left out: jest (it is a dependency, and not installed: npm install)
`},
		{"node, packages that are not installed", files{"package.json": `{"devDependencies": {"eslint": "8"}, "scripts": {"test": "uvu", "lint": "eslint ."}}`, ".eslintrc": ""}, []string{"node", "npm"}, `
Test with npm
Gate against results
extends = ["node"]
found: package.json, the script "test"
left out: eslint (it is a dependency, and not installed: npm install)
left out: node_modules (the packages are not installed, and the script "test" may need them: npm install)
`},
		{"node, installed by what the lock file is of", files{"package.json": `{"dependencies": {"a": "1"}, "devDependencies": {"eslint": "8"}}`, "pnpm-lock.yaml": "", "a.test.js": ""}, []string{"node", "npm"}, `
Test with node
Gate against results
extends = ["node"]
found: package.json, tests of node
left out: eslint (it is a dependency, and not installed: pnpm install --frozen-lockfile)
left out: node_modules (the packages are not installed, and the tests may need them: pnpm install --frozen-lockfile)
`},
		{"node, a script that lints", files{"package.json": `{"scripts": {"test": "x", "lint": "y", "typecheck": "z", "check": "lint and test"}}`}, []string{"node", "npm"}, `
Check with lint
Check with typecheck
Test with npm
Gate against results
extends = ["node"]

[commands.check_lint]
verb = "check"
noun = "lint"
tool = "npm run --silent lint"
receipt_required = true
pins = ["package.json"]

[commands.check_typecheck]
verb = "check"
noun = "typecheck"
tool = "npm run --silent typecheck"
receipt_required = true
pins = ["package.json"]
found: package.json, the script "lint", the script "typecheck", the script "test"
`},
		{"mypy, which is told its files", files{"pyproject.toml": "[tool.mypy]\nstrict = true\nfiles = [\"src\"]\n", "src/a.py": ""}, []string{"mypy", "python3: exit 1"}, `
Check with mypy
Gate against results

[commands.check_mypy]
verb = "check"
noun = "mypy"
tool = "mypy"
receipt_required = true
found: a Python project, mypy
left out: ruff (the project does not mention it)
left out: black (the project does not mention it)
left out: flake8 (the project does not mention it)
left out: pytest (there are no test files)
`},
		{"go without a module", files{"a.go": "package a\n", "Makefile": "test:\n"}, []string{"make"}, `
Test with make
Gate against results

[commands.test_make]
verb = "test"
noun = "make"
tool = "make test"
receipt_required = true
pins = ["Makefile"]
found: Makefile
left out: the Go files (there is no go.mod: go mod init)
`},
		{"go, golangci-lint", files{"go.mod": "module m\n", ".golangci.yml": ""}, []string{"staticcheck", "golangci-lint"}, `
Format with gofmt
Check with vet
Check with staticcheck
Check with golangci
Test with go
Gate against results
extends = ["go"]

[commands.check_golangci]
verb = "check"
noun = "golangci"
tool = "golangci-lint run"
receipt_required = true
found: go.mod, staticcheck, golangci-lint
`},
		{"go, golangci-lint is missing", files{"go.mod": "module m\n", ".golangci.toml": ""}, []string{"staticcheck"}, `
Format with gofmt
Check with vet
Check with staticcheck
Test with go
Gate against results
extends = ["go"]
found: go.mod, staticcheck
left out: golangci-lint (it has a configuration here, and is not installed)
`},
		{"shell scripts without the ending", files{"a.sh": "", "bin/tool": "#!/usr/bin/env bash\n", "bin/other": "#!/usr/bin/python3\n", "deploy": "#!/bin/sh -e\n"}, []string{"shellcheck"}, `
Check with shellcheck
Gate against results
extends = ["shell"]
found: shell scripts
left out: bin/tool, deploy (shell scripts whose names do not end in .sh: bind a line to them by hand)
`},
		{"node, tests of its own", files{"package.json": `{"scripts": {"test": "echo no test specified"}}`, "src/a.test.js": ""}, []string{"node", "npm"}, `
Test with node
Gate against results
extends = ["node"]
found: package.json, tests of node
`},
		{"node, nothing to test", files{"package.json": `{}`}, []string{"node"}, `
found: package.json
left out: tests (package.json has no script "test", and there are no test files)
`},
		{"node, package.json is broken", files{"package.json": `{`}, []string{"node"}, `
found: package.json
left out: package.json (unexpected end of JSON input)
`},
		{"node, npm is missing", files{"package.json": `{"scripts": {"test": "x"}}`}, []string{"node"}, `
found: package.json
left out: npm test (npm is not installed)
`},
		{"node is missing", files{"package.json": `{"scripts": {"test": "x"}}`}, []string{"npm"}, `
found: package.json
left out: the Node project (node is not installed)
`},
		{"rust", files{"Cargo.toml": ""}, []string{"cargo"}, `
Format with rustfmt
Check with clippy
Test with cargo
Gate against results
extends = ["rust"]
found: Cargo.toml
`},
		{"rust without its components", files{"Cargo.toml": ""}, []string{"cargo: test $1 = --version"}, `
Check with cargo
Test with cargo
Gate against results
extends = ["rust"]
found: Cargo.toml
left out: rustfmt (not installed: rustup component add rustfmt)
left out: clippy (not installed: rustup component add clippy)
`},
		{"rust, a cargo that does not work", files{"Cargo.toml": ""}, []string{"cargo: exit 1"}, `
found: Cargo.toml
left out: the Rust project (cargo is not installed)
`},
		{"shell scripts, one folder down", files{"bin/a.sh": ""}, nil, `
Check with sh
Gate against results
extends = ["shell"]
found: shell scripts
left out: shellcheck (not installed; the syntax is checked instead)
`},
		{"shell scripts, with shellcheck", files{"a.sh": ""}, []string{"shellcheck"}, `
Check with shellcheck
Gate against results
extends = ["shell"]
found: shell scripts
`},
		{"shell scripts beside a Makefile", files{"a.sh": "", "makefile": "check: all\nlint := x\n\techo\n"}, []string{"make", "shellcheck"}, `
Check with make
Gate against results

[commands.check_make]
verb = "check"
noun = "make"
tool = "make check"
receipt_required = true
pins = ["makefile"]
found: makefile
`},
		{"runners: the first target of a verb", files{"Makefile": "test:\n", "justfile": "lint a=\"1\":\ncheck:\ntest:\n", "lefthook.yml": "", ".pre-commit-config.yaml": "", ".github/workflows/ci.yaml": ""},
			[]string{"make", "just", "lefthook"}, `
Test with make
Check with just
Check with hooks
Gate against results

[commands.test_make]
verb = "test"
noun = "make"
tool = "make test"
receipt_required = true
pins = ["Makefile"]

[commands.check_just]
verb = "check"
noun = "just"
tool = "just lint"
receipt_required = true
pins = ["justfile"]

[commands.check_hooks]
verb = "check"
noun = "hooks"
tool = "lefthook run pre-commit --all-files"
receipt_required = true
pins = ["lefthook.yml"]
found: Makefile, justfile, lefthook.yml
left out: .pre-commit-config.yaml (pre-commit is not installed)
left out: the workflows of CI (their steps are not read; a step ` + "`dialect run quality.dlct`" + ` runs this gate there)
`},
		{"two ecosystems, whose tools go before make", files{"go.mod": "", "Cargo.toml": "", "Makefile": "test:\n", "justfile": "test:\n"}, []string{"cargo", "make", "staticcheck"}, `
Format with gofmt
Check with vet
Check with staticcheck
Test with go
Format with rustfmt
Check with clippy
Test with cargo
Gate against results
extends = ["go", "rust"]
found: go.mod, staticcheck, Cargo.toml
left out: Makefile (its targets are covered already, or are not lint, check or test)
left out: justfile (just is not installed)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.files, c.programs...)
			p, err := scaffold.Look(dir)
			if errors.Is(err, scaffold.ErrNothing) != (len(p.Files) == 0) {
				t.Errorf("%d files, and the error is %v", len(p.Files), err)
			}
			if got, want := render(p), c.want[1:]; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if len(p.Files) > 0 {
				resolves(t, p)
			}
		})
	}
}

func with(f files, name, text string) files {
	f = maps.Clone(f)
	f[name] = text
	return f
}

// resolves writes a plan, and wants each line of its script to be bound.
func resolves(t *testing.T, p scaffold.Plan) {
	t.Helper()
	for _, f := range p.Files {
		if err := f.Write(); err != nil {
			t.Fatal(err)
		}
	}
	m, list := routing.Load(p.Files[0].Path, routing.FileName, routing.Options{})
	file, parsed := lang.Parse(diag.NewSource(scaffold.ScriptName, []byte(p.Files[1].Text)))
	bound, faults := resolve.Resolve(file, m, resolve.Options{Parsed: parsed})
	if err := append(list, faults...).Err(); err != nil || len(bound.Steps) < 2 {
		t.Errorf("%d steps: %v", len(bound.Steps), err)
	}
}

func TestLookNoDirectory(t *testing.T) {
	dir := project(t, files{"file": ""})
	for _, name := range []string{"file", "missing"} {
		path := filepath.Join(dir, name)
		_, err := scaffold.Look(path)
		if err == nil || errors.Is(err, scaffold.ErrNothing) || err.Error() != path+" is not a directory" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Write creates what is not there, and what the user has stays.
func TestWrite(t *testing.T) {
	dir := project(t, files{"go.mod": "", routing.FileName: "the user's\n"})
	p, err := scaffold.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	matrix, script := p.Files[0], p.Files[1]
	if err := matrix.Write(); matrix.Path != filepath.Join(dir, routing.FileName) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("%s: %v", matrix.Path, err)
	}
	if err := script.Write(); script.Path != filepath.Join(dir, scaffold.ScriptName) || err != nil {
		t.Errorf("%s: %v", script.Path, err)
	}
	for path, want := range (files{matrix.Path: "the user's\n", script.Path: script.Text}) {
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("%s has %q, %v, want %q", path, text, err, want)
		}
	}
}
