package survey_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
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
		write(filepath.Join(dir, name), strings.ReplaceAll(text, "ROOT", dir))
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
	if len(p.Lines) > 0 {
		_, matrix, _ := strings.Cut(p.Files()[0].Text, "\n")
		b.WriteString(p.Files()[1].Text + matrix)
		for _, l := range p.Lines {
			fmt.Fprintf(&b, "%s: source %q, install %q", l.Name, l.Source, l.Install)
			if l.Outside {
				b.WriteString(", outside")
			}
			b.WriteString("\n")
		}
	}
	if len(p.Found) > 0 {
		fmt.Fprintf(&b, "found: %s\n", strings.Join(p.Found, ", "))
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", l)
	}
	for _, l := range p.Installs {
		fmt.Fprintf(&b, "install: %s\n", l)
	}
	for _, l := range p.Offers {
		fmt.Fprintf(&b, "offer: %s\n", l)
	}
	return b.String()
}

var update = flag.Bool("update", false, "write testdata/look.golden")

// TestLook compares what is proposed for small projects with testdata/look.golden.
func TestLook(t *testing.T) {
	const golden = "testdata/look.golden"
	t.Setenv("VIRTUAL_ENV", "")
	allOfNode := files{"node_modules/.bin/prettier": "", "node_modules/.bin/biome": "", "node_modules/.bin/tsc": "", "node_modules/.bin/vitest": "",
		".prettierrc.json": "", "biome.json": "", "tsconfig.json": ""}
	path, err := filepath.Abs(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	if text, err := os.ReadFile(path); err == nil {
		for part := range strings.SplitSeq(string(text), "=== ") {
			name, of, _ := strings.Cut(part, "\n")
			want[name] = of
		}
	}
	var all strings.Builder
	for _, c := range []struct {
		name     string
		files    files
		programs []string
	}{
		{"go", files{"go.mod": "module m\n"}, nil},
		{"go, staticcheck on PATH", files{"go.mod": "module m\n"}, []string{"staticcheck"}},
		{"go, staticcheck of go.mod", files{"go.mod": "module m\ntool honnef.co/go/tools/cmd/staticcheck\n"}, []string{"staticcheck"}},
		{"python, in a virtual environment", files{".venv/bin/python": "#!/bin/sh\ntest $2 != black\n", "pyproject.toml": "ruff black\n", "a/test_a.py": ""}, nil},
		{"python, tools of their own and unittest", files{"test_a.py": "", "mypy.ini": ""}, []string{"mypy", "python3: test $2$3 = unittest--help"}},
		{"python without tests: those of others do not count", files{"a.py": "", ".tox/test_a.py": "", "venv/test_a.py": "", "node_modules/test_a.py": ""}, []string{"python3: test $2$3 = compileall--help"}},
		{"C, with a script of Python", files{"Makefile": "test:\n", "setversion.py": "", "a.c": ""}, []string{"make", "python3"}},
		{"python, a Makefile whose tests are of another kind", files{"setup.py": "", "Makefile": "test:\n"}, []string{"make", "python3"}},
		{"python, by uv and a program of Debian", files{"setup.cfg": "mypy\n", "uv.lock": "", "a_test.py": ""}, []string{"uv: test $5 = mypy", "pytest-3"}},
		{"node, with tools", with(allOfNode, "package.json", `{"devDependencies": {"prettier": "1", "@biomejs/biome": "1", "typescript": "1", "vitest": "1"}, "scripts": {"test": "vitest"}}`), []string{"node"}},
		{"node, tools that do not count", files{"package.json": `{"dependencies": {"jest": "1", "eslint": "1"}, "scripts": {"test": "jest"}}`, "node_modules/.bin/eslint": "", "node_modules/.bin/prettier": ""}, []string{"node", "npm"}},
		{"node, packages that are not installed", files{"package.json": `{"devDependencies": {"eslint": "8"}, "scripts": {"test": "uvu", "lint": "eslint ."}}`, ".eslintrc": ""}, []string{"node", "npm"}},
		{"node, installed by what the lock file is of", files{"package.json": `{"dependencies": {"a": "1"}, "devDependencies": {"eslint": "8"}}`, "pnpm-lock.yaml": "", "a.test.js": ""}, []string{"node", "npm"}},
		{"node, a script that lints", files{"package.json": `{"scripts": {"test": "x", "lint": "y", "typecheck": "z", "check": "lint and test"}}`}, []string{"node", "npm"}},
		{"python, groups and a hook", files{".venv/bin/python": "#!/bin/sh\ntest $2 = mypy\n", "pyproject.toml": "[project]\n[tool.mypy]\n[dependency-groups]\ndocs = ['sphinx']\ndev = ['tox', {include-group = 'tests'}]\ntests = ['freezegun', 'pytest>=8']\ntyping = ['mypy ; python_version > \"3\"']\n",
			".pre-commit-config.yaml": "repos:\n- repo: https://example.com/psf/black\n  hooks:\n  - id: black\n", "a.py": "", "test_a.py": ""}, nil},
		{"mypy, which is told its files", files{"pyproject.toml": "[tool.mypy]\nstrict = true\nfiles = [\"src\"]\n", "src/a.py": ""}, []string{"mypy", "python3: exit 1"}},
		{"clean: go with modules", files{"go.mod": "module m\n", "go.sum": "x"}, nil},
		{"clean: go, vendored", files{"go.mod": "module m\n", "go.sum": "x", "vendor/modules.txt": ""}, nil},
		{"clean: go, a workspace", files{"go.work": "go 1.26\nuse ./a\n", "a/go.mod": ""}, nil},
		{"clean: npm", files{"package.json": `{"devDependencies": {"a": "1"}, "scripts": {"test": "x"}}`, "package-lock.json": "", ".npmrc": ""}, []string{"node", "npm"}},
		{"clean: npm, a script of its own and workspaces", files{"package.json": `{"workspaces": ["a"], "scripts": {"test": "x", "prepare": "y"}}`, "package-lock.json": "", ".npmrc": ""}, []string{"node", "npm"}},
		{"clean: npm without a lock file", files{"package.json": `{"devDependencies": {"a": "1"}, "scripts": {"test": "x"}}`, "node_modules/a/x": ""}, []string{"node", "npm"}},
		{"clean: yarn", files{"package.json": `{"devDependencies": {"a": "1"}, "scripts": {"test": "x"}}`, "yarn.lock": ""}, []string{"node", "yarn"}},
		{"clean: yarn, a later one", files{"package.json": `{"devDependencies": {"a": "1"}, "scripts": {"test": "x", "postinstall": "y"}}`, "yarn.lock": "", ".yarnrc.yml": ""}, []string{"node", "yarn"}},
		{"clean: cargo", files{"Cargo.toml": "", "Cargo.lock": ""}, []string{"cargo"}},
		{"clean: pip", files{"test_a.py": "", "requirements.txt": "a==1 --hash=sha256:00\n"}, []string{"python3: test $2$3 = unittest--help"}},
		{"clean: pip without hashes", files{"test_a.py": "", "requirements.txt": "a==1\n"}, []string{"python3: test $2$3 = unittest--help"}},
		{"clean: bundler and make", files{"Gemfile": "", "Gemfile.lock": "GEM\n", "Makefile": "test:\n"}, []string{"make"}},
		{"clean: bundler with checksums", files{"Gemfile": "", "Gemfile.lock": "GEM\n\nCHECKSUMS\n", "Makefile": "test:\n"}, []string{"make"}},
		{"go without a module", files{"a.go": "package a\n", "Makefile": "test:\n"}, []string{"make"}},
		{"go, golangci-lint", files{"go.mod": "module m\n", ".golangci.yml": ""}, []string{"staticcheck", "golangci-lint"}},
		{"go, golangci-lint is missing", files{"go.mod": "module m\n", ".golangci.toml": ""}, []string{"staticcheck"}},
		{"shell scripts without the ending", files{"a.sh": "", "bin/tool": "#!/usr/bin/env bash\n", "bin/other": "#!/usr/bin/python3\n", "deploy": "#!/bin/sh -e\n"}, []string{"shellcheck"}},
		{"node, tests of its own", files{"package.json": `{"scripts": {"test": "echo no test specified"}}`, "src/a.test.js": ""}, []string{"node", "npm"}},
		{"node, nothing to test", files{"package.json": `{}`}, []string{"node"}},
		{"node, package.json is broken", files{"package.json": `{`}, []string{"node"}},
		{"node, npm is missing", files{"package.json": `{"scripts": {"test": "x"}}`}, []string{"node"}},
		{"node is missing", files{"package.json": `{"scripts": {"test": "x"}}`}, []string{"npm"}},
		{"rust", files{"Cargo.toml": ""}, []string{"cargo"}},
		{"rust without its components", files{"Cargo.toml": ""}, []string{"cargo: test $1 = --version"}},
		{"rust, a cargo that does not work", files{"Cargo.toml": ""}, []string{"cargo: exit 1"}},
		{"shell scripts, one folder down", files{"bin/a.sh": ""}, nil},
		{"shell scripts, with shellcheck", files{"a.sh": ""}, []string{"shellcheck"}},
		{"shell scripts beside a Makefile", files{"a.sh": "", "makefile": "check: all\nlint := x\n\techo\n"}, []string{"make", "shellcheck"}},
		{"runners: the first target of a verb", files{"Makefile": "test:\n", "justfile": "lint a=\"1\":\ncheck:\ntest:\n", "lefthook.yml": "", ".pre-commit-config.yaml": "", ".github/workflows/ci.yaml": ""}, []string{"make", "just", "lefthook"}},
		{"two ecosystems, whose tools go before make", files{"go.mod": "", "Cargo.toml": "", "Makefile": "test:\n", "justfile": "test:\n"}, []string{"cargo", "make", "staticcheck"}},
		{"go, with its habits", files{"go.mod": "module m\n", "Makefile": "lint:\n\tgofmt -l .\n\tgo vet ./...\n\tstaticcheck ./...\n"}, []string{"make"}},
		{"go, a workspace", files{"go.work": "go 1.26\nuse (\n\t./a\n\t./b/c // c\n\t../out\n\t./gone\n)\n", "a/go.mod": "", "b/c/go.mod": "", "b/d/go.mod": "", "examples/go.mod": "", "vendor/v/go.mod": ""}, nil},
		{"go, a workspace with a module in its root", files{"go.work": "go 1.26\nuse (\n\t.\n\t./a\n)\n", "go.mod": "", "a/go.mod": ""}, nil},
		{"python: what is mentioned in a comment or a text is none of its tools", files{"pyproject.toml": "# black\n[project]\ndescription = \"flake8 and mypy\"\n", "a.py": "", ".flake8.bak": ""}, []string{"python3"}},
		{"python, tox", files{"setup.py": "", "src/p/__init__.py": "", "tests/test_p.py": "", "tox.ini": "[testenv]\ncommands = python -m pytest {posargs:tests}\n[testenv:lint]\ncommands =\n    flake8 src tests\n    mypy --strict src\n    black --check --diff src\n"}, []string{"python3"}},
		{"python, nox, poetry and pre-commit", files{"pyproject.toml": "[tool.poetry]\nname = \"x\"\n[tool.poetry.group.dev.dependencies]\npytest = \"8\"\n[tool.black]\n[tool.ruff.format]\n", "poetry.lock": "", "p/__init__.py": "", "tests/test_p.py": "", "noxfile.py": "session.run('mypy', 'p')\n", ".pre-commit-config.yaml": "repos:\n- repo: x\n  hooks:\n  - id: isort\n  - id: trailing-whitespace\n"}, []string{"poetry", "python3: exit 1"}},
		{"python, its tools are not installed", files{"pyproject.toml": "[project]\nname = 'x'\n[project.optional-dependencies]\ntest = ['pytest>=8']\ndocs = ['sphinx']\n[tool.mypy]\n", "test_x.py": ""}, []string{"python3: exit 1"}},
		{"python, django", files{"manage.py": "", "requirements.txt": "Django>=4\n", "a/test_a.py": ""}, []string{"python3: test $2 = django"}},
		{"python, unittest in a folder", files{"setup.py": "", "tests/test_a.py": ""}, []string{"python3: test $2$3 = unittest--help"}},
		{"python, tests and nothing else", files{"requirements.txt": "flask\n", "tests/test_a.py": "", "app/a.py": ""}, []string{"python3: test $2$3 = unittest--help"}},
		{"tests in Python of a project in Go", files{"go.mod": "module x\n", "a.go": "", "tests/test_a.py": ""}, []string{"go", "python3"}},
		{"node, tests that build", files{"package.json": `{"scripts": {"build": "tsc --build --clean && tsc --build", "test": "npm run build && node --test"}, "devDependencies": {"typescript": "5"}}`, "node_modules/.bin/tsc": "", "tsconfig.json": ""}, []string{"node", "npm"}},
		{"node, scripts of pnpm", files{"package.json": `{"scripts": {"test": "vitest run", "lint": "eslint --fix .", "lint:check": "eslint .", "format:check": "prettier --check src", "type-check": "npm run tsc", "tsc": "tsc -b"}, "devDependencies": {"eslint": "9", "typescript": "5", "vitest": "2"}}`, "pnpm-lock.yaml": "", "node_modules/.bin/eslint": "", "eslint.config.js": "", "node_modules/.bin/tsc": "", "tsconfig.json": "", "node_modules/.bin/vitest": ""}, []string{"node", "pnpm"}},
		{"node, a tool that nothing runs", files{"package.json": `{"devDependencies": {"prettier": "3"}, "scripts": {"test": "x"}}`, "node_modules/.bin/prettier": "", ".prettierrc": ""}, []string{"node", "npm"}},
		{"rust, a workspace with a package", files{"Cargo.toml": "[package]\nname = 'x'\n[workspace]\nmembers = ['y']\n", ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n    - run: cargo +nightly clippy\n", "y/Cargo.toml": ""}, []string{"cargo"}},
		{"bats", files{"test/a.bats": "", "bin/bats": "", "install.sh": "", ".shellcheckrc": "", ".github/workflows/tests.yml": "jobs:\n  a:\n    steps:\n    - run: bin/bats --formatter tap test\n"}, []string{"shellcheck"}},
		{"bats is missing", files{"tests/a.bats": ""}, nil},
		{"a Makefile with other targets", files{"Makefile": "all: x\nx.o: x.c\n\tcc x.c\nclean:\n"}, []string{"make"}},
		{"a Taskfile", files{"Taskfile.yml": "tasks:\n  lint: echo\n  test:\n    cmds: [echo]\n"}, []string{"task"}},
		{"rake", files{"Rakefile": "require 'rake/testtask'\ntask :default => :test\nRake::TestTask.new do |t|\n  t.libs << 'lib'\nend\n"}, []string{"rake"}},
		{"rake, with bundler", files{"Gemfile": "gem 'rake'\n", "Rakefile": "RSpec::Core::RakeTask.new(:spec)\nRuboCop::RakeTask.new\ntask default: %i[spec rubocop]\n"}, []string{"rake", "bundle"}},
		{"rake, with bundler that is missing", files{"Gemfile": "gem 'rake'\n", "Rakefile": "Minitest::TestTask.create\n"}, []string{"rake"}},
		{"rake without tests", files{"Rakefile": "task :build do\nend\nnamespace :x do\n  task 'publish' => :build\nend\n"}, []string{"rake"}},
		{"cmake", files{"CMakeLists.txt": "", "a.c": ""}, nil},
		{"cmake, of the tests alone", files{"a.h": "", "test/CMakeLists.txt": "", "vendor/b/CMakeLists.txt": ""}, nil},
		{"cmake, configured", files{"CMakeLists.txt": "", "out/CMakeCache.txt": "# x\nCMAKE_HOME_DIRECTORY:INTERNAL=ROOT\n", "out/CTestTestfile.cmake": ""}, []string{"cmake", "ctest"}},
		{"cmake, configured for another project", files{"CMakeLists.txt": "", "lib/CMakeCache.txt": "CMAKE_HOME_DIRECTORY:INTERNAL=/other\n", "lib/CTestTestfile.cmake": ""}, []string{"cmake", "ctest"}},
		{"cmake, configured without tests", files{"CMakeLists.txt": "", "out/CMakeCache.txt": "CMAKE_HOME_DIRECTORY:INTERNAL=ROOT\n"}, []string{"cmake", "ctest"}},
		{"meson, configured", files{"meson.build": "", "build/meson-private/coredata.dat": "", "lib/meson.build": ""}, []string{"meson"}},
		{"a monorepo", files{"services/api/go.mod": "module api\n", "services/api/cmd/a.go": "", "web/package.json": `{"scripts": {"test": "x", "lint": "y"}}`, "lib/py_tools/pyproject.toml": "[project]\n[tool.mypy]\n", "lib/py_tools/test_a.py": "", "examples/x/go.mod": "", "node_modules/y/package.json": "{}", ".hidden/go.mod": "", "a/b/c/go.mod": ""}, []string{"node", "npm", "mypy", "pytest"}},
		{"workspaces whose root has no tests", files{"package.json": `{"workspaces": ["src/*"]}`, "src/a/package.json": `{}`, "src/b/package.json": `{"scripts": {"test": "x"}}`}, []string{"node", "npm"}},
		{"workspaces without tests", files{"package.json": `{"scripts": {"lint": "x"}}`, "pnpm-workspace.yaml": "packages:\n  - 'p/*'\n", "p/a/package.json": `{}`}, []string{"node", "pnpm"}},
		{"python, an environment that shows the system's packages", files{".venv/bin/python": "#!/bin/sh\n", ".venv/pyvenv.cfg": "", ".venv/lib/python3.11/site-packages/mypy/x": "", "pyproject.toml": "[tool.mypy]\n[tool.black]\n", "a.py": ""}, nil},
		{"a monorepo with environments of its own", files{"web/package.json": `{"devDependencies": {"eslint": "9"}}`, "web/eslint.config.js": "", "web/node_modules/.bin/eslint": "", "py/.venv/bin/python": "#!/bin/sh\n", "py/setup.py": "", "py/test_a.py": ""}, []string{"node"}},
		{"a monorepo with languages that no line is known for", files{"go/go.mod": "", "go/a.go": "", "java/pom.xml": "", "java/build.gradle": "", "dotnet/X.sln": "", "ruby/Gemfile": "", "node_modules/x/Gemfile": "", "perl/Makefile.PL": ""}, nil},
		{"python, tox runs py.test", files{"pyproject.toml": "[project]\n", "test_a.py": "", "tox.ini": "[testenv]\ncommands = py.test {posargs}\n"}, []string{"python3"}},
		{"a monorepo, and what no line is made of is told of", files{"a/go.mod": "", "a/a.go": "", "b/package.json": "{}", "docs/site/package.json": "{}", "x/y/z/Cargo.toml": "", "vendor/v/go.mod": "", "c/Makefile": "test:\n", "d/e/justfile": "test:\n", "tests/Makefile": "test:\n"}, []string{"node", "npm"}},
		{"a monorepo of many", files{"a/go.mod": "", "b/go.mod": "", "c/go.mod": "", "d/go.mod": "", "x/e/go.mod": "", "x/a/go.mod": "", "_x/go.mod": "", "_x/a.go": "", "empty/go.mod": "", "a/a.go": "", "b/a.go": "", "c/a.go": "", "d/a.go": "", "x/e/a.go": "", "x/a/a.go": ""}, nil},
		{"a monorepo whose root covers what is below", files{"package.json": `{"workspaces": ["packages/*"], "scripts": {"test": "x"}}`, "packages/a/package.json": `{"scripts": {"test": "y"}}`, "go.work": "use ./m\n", "m/go.mod": ""}, []string{"node", "npm"}},
		{"a context of Docker", files{"Makefile": "test:\n", "Dockerfile": "", ".dockerignore": ".git\n"}, []string{"make"}},
		{"modules, one of which names another", files{"a/go.mod": "module a\n\nreplace b => ../b\n", "a/a.go": "", "b/go.mod": "module b\n", "b/b.go": ""}, nil},
		{"matrices of projects below", files{"go.mod": "", "a/routing.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"true\"\ncwd = \"y\"\n", "a/y/z": "", "b/c/routing.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"true\"\n", "b/c/all.dlct": ""}, nil},
		{"a matrix of others", files{"go.mod": "", ".agents/matrix.toml": "[commands.test_x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"true\"\n", "broken.toml": "[commands.\n", "Cargo.lock.toml": "[x]\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.files, c.programs...)
			p, err := survey.Look(dir)
			if errors.Is(err, survey.ErrNothing) != (len(p.Lines) == 0) {
				t.Errorf("%d lines, and the error is %v", len(p.Lines), err)
			}
			got := render(p)
			fmt.Fprintf(&all, "=== %s\n%s", c.name, got)
			if got != want[c.name] && !*update {
				t.Errorf("got:\n%s\nwant:\n%s", got, want[c.name])
			}
			if len(p.Lines) > 0 {
				resolves(t, p)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func with(f files, name, text string) files {
	f = maps.Clone(f)
	f[name] = text
	return f
}

// resolves writes a plan, and wants each line of its script to be bound, and the gate of the matrix to be
// exactly the lines, which run at the same time where all of them only read.
func resolves(t *testing.T, p scaffold.Plan) {
	t.Helper()
	write(t, p)
	files := p.Files()
	m, list := routing.Load(files[0].Path, routing.FileName, routing.Options{})
	for _, d := range lint.Check(m, lint.Options{}) {
		if d.Code != diag.MissingTool { // the programs are on PATH only while Look looks
			t.Errorf("the matrix is warned of: %s: %s", d.Code, d.Message)
		}
	}
	bind := func(text string) *plan.Plan {
		file, parsed := lang.Parse(diag.NewSource(scaffold.ScriptName, []byte(text)))
		bound, faults := resolve.Resolve(file, m, resolve.Options{Parsed: parsed})
		if err := append(list, faults...).Err(); err != nil {
			t.Fatal(err)
		}
		return bound
	}
	script := bind(files[1].Text).Steps
	gate := bind("Gate for quality\n").Steps[0]
	if len(script) < 2 || len(gate.Members) != len(script)-1 {
		t.Fatalf("%d lines, and the gate has %d members", len(script), len(gate.Members))
	}
	reads := true
	for i, s := range gate.Members {
		if !slices.Equal(s.Argv, script[i].Argv) || s.Dir != script[i].Dir {
			t.Errorf("%q in the gate, %q in the script", s.Argv, script[i].Argv)
		}
		reads = reads && s.Effect == plan.Read
	}
	if builds := strings.Contains(files[1].Text, "Build with "); reads == builds || gate.Parallel == builds {
		t.Errorf("the lines only read: %v, the gate runs them at the same time: %v", reads, gate.Parallel)
	}
}

func write(t *testing.T, p scaffold.Plan) {
	t.Helper()
	for _, f := range p.Files() {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLookNoDirectory(t *testing.T) {
	dir := project(t, files{"file": ""})
	for _, name := range []string{"file", "missing"} {
		path := filepath.Join(dir, name)
		_, err := survey.Look(path)
		if err == nil || errors.Is(err, survey.ErrNothing) || err.Error() != path+" is not a directory" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNew: what is there is not proposed a second time, and what the user left out of the script neither, where
// the matrix binds it.
func TestNew(t *testing.T) {
	f := files{"go.mod": "module m\n", "package.json": `{"scripts": {"lint": "x", "test": "y"}}`}
	dir := project(t, f, "node", "npm")
	p, err := survey.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.New().Lines) != len(p.Lines) || len(p.Existing()) > 0 {
		t.Errorf("%+v, %q", p.New(), p.Existing())
	}
	write(t, p)
	if n := p.New(); len(n.Lines) > 0 || len(p.Existing()) != 2 {
		t.Errorf("%+v, %q", n, p.Existing())
	}
	script := p.Files()[1].Path
	if err := os.WriteFile(script, []byte("Format with gofmt\ncheck with VET\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	n := p.New()
	var lines []string
	for _, l := range n.Lines {
		lines = append(lines, l.Text)
	}
	if got := strings.Join(lines, ", "); got != "Test with go, Test with npm" {
		t.Errorf("new: %s", got)
	}
	const want = "# quality.dlct:\nTest with go\nTest with npm\n\n# routing.toml: into the composite of gate_quality [\"test_go\", \"test_npm\"], into extends [\"go\", \"node\"]\n"
	if got := n.Addition(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLookCircle: the pattern of a workspace is the project's own. It leads through a folder of links to itself once.
func TestLookCircle(t *testing.T) {
	dir := project(t, files{
		"package.json":   `{"workspaces": ["` + strings.Repeat("*/", 12) + `*"]}`,
		"p/package.json": `{"scripts": {"test": "x"}}`,
	}, "node", "npm")
	for i := range 40 {
		if err := os.Symlink(".", filepath.Join(dir, "p", fmt.Sprint("l", i))); err != nil {
			t.Fatal(err)
		}
	}
	p, err := survey.Look(dir)
	if err != nil || !strings.Contains(fmt.Sprint(p.Found), "workspaces") {
		t.Errorf("%v %q %q", err, p.Found, p.LeftOut)
	}
}

// TestLookElsewhere leaves out what a link leads to: it does not belong to the project, and nothing of it is tried.
func TestLookElsewhere(t *testing.T) {
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "lib"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lib/package.json": `{"scripts": {"test": "x"}}`, "package.json": `{"scripts": {"test": "x"}}`} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dir := project(t, files{"svc/package.json": `{"scripts": {"test": "x"}}`}, "node", "npm")
	for _, name := range []string{"shared", "svc/deep"} {
		if err := os.Symlink(other, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := survey.Look(dir)
	if text := fmt.Sprint(p.Lines, p.Found, p.LeftOut); err != nil || strings.Contains(text, "shared") || strings.Contains(text, "deep") || !strings.Contains(text, "svc") {
		t.Errorf("%v %s", err, text)
	}
}
