package habit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
)

// render returns commands as text, "?" after one whose words are not plain.
func render(list []habit.Command) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s%s", c.Program, strings.Join(append([]string{""}, c.Args...), " "))
		if !c.Plain {
			b.WriteString(" ?")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"pytest -q":                       "pytest -q\n",
		"python3.12 -m mypy src tests":    "mypy src tests\n",
		"{envpython} -m pytest {posargs}": "pytest {posargs} ?\n",
		"A=1 B='x y' poetry run python -W error -m mypy":         "mypy\n",
		"python setup.py test":                                   "python setup.py test\n",
		"uv run --frozen --group lint ruff check .":              "ruff check .\n",
		"coverage run -m pytest tests && coverage report":        "pytest tests\ncoverage report\n",
		"npx --no-install eslint src; tsc":                       "eslint src\ntsc\n",
		"go run honnef.co/go/tools/cmd/staticcheck@latest ./...": "staticcheck ./...\n",
		"go tool staticcheck ./...":                              "staticcheck ./...\n",
		"./node_modules/.bin/prettier --check \"src/**\"":        "prettier --check src/** ?\n",
		"@if test -n \"$X\"; then black --check .; fi":           "test -n $X ?\nblack --check .\nfi\n",
		"echo black # mypy":                                      "echo black\n",
		"a \\\n  b":                                              "a b\n",
		"cat x | grep 'a|b' > y":                                 "cat x\ngrep a|b > y ?\n",
		"sudo apt-get install shellcheck":                        "apt-get install shellcheck\n",
		"'unfinished":                                            "unfinished\n",
	} {
		if got := render(habit.Parse("f", text)); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ file, text, want, runner string }{
		{"Makefile", "CC := gcc\n.PHONY: test lint\ntest lint-all: a b\n\t@pytest -q\n\t-mypy src\n%.o: %.c\n\t$(CC) -c $<\nx = y: z\n", "pytest -q\nmypy src\n$(CC) -c $< ?\n", "make test lint-all"},
		{"justfile", "set shell := ['bash']\nalias t := test\n# a comment: x\ntest *args: build\n    cargo test {{args}}\n@lint:\n\tcargo clippy\n", "cargo test {{args}} ?\ncargo clippy\n", "just test lint"},
		{"Taskfile.yml", "version: 3\ntasks:\n  test:\n    cmds:\n      - go test ./...\n      - cmd: go vet ./...\n  lint: golangci-lint run\n", "go test ./...\ngo vet ./...\ngolangci-lint run\n", "task test lint"},
		{"Rakefile", "task :default => :test\ntask test: [:unit]\ntask 'man:build' do\nend\nbegin\n  RSpec::Core::RakeTask.new(:spec)\n  RuboCop::RakeTask.new do |t|\n  end\nrescue LoadError\nend\nnamespace :x do\n  task :lint\nend\n# task :gone\n", "", "rake default test man:build spec rubocop"},
		{"tox.ini", "[tox]\nenvlist=py\n[testenv]\ndeps = flake8\ncommands =\n  pytest \\\n    {posargs}\n[testenv:lint]\ncommands = black --check src\n[flake8]\n", "pytest {posargs} ?\nblack --check src\n", ""},
		{"setup.cfg", "[tox:tox]\n[tox:testenv]\ncommands = mypy x\n[metadata]\ndescription = black\n", "mypy x\n", ""},
		{"pyproject.toml", "# black\n[tool.hatch.envs.lint.scripts]\nstyle = [\"ruff check .\", 'black --check .']\n[tool.poe.tasks]\nt = 'pytest'\n[tool.poe.tasks.m]\ncmd = 'mypy src'\nhelp = 'flake8 is gone'\n[tool.tox.env_run_base]\ncommands = [['pytest', '-x']]\n", "pytest -x\nruff check .\nblack --check .\npytest\nmypy src\n", ""},
		{"noxfile.py", "import nox\n@nox.session\ndef lint(session):\n    session.run('flake8', \"src\")\n    session.run(\n        'pytest', *session.posargs, env=env)\n", "flake8 src\npytest ?\n", ""},
		{".pre-commit-config.yaml", "repos:\n- repo: x\n  hooks:\n  - id: ruff\n    args: [--fix]\n  - id: mypy\n- repo: local\n  hooks:\n  - id: z\n    entry: ./check.sh\n# - id: flake8\n", "ruff check --fix ?\nmypy ?\ncheck.sh\n", ""},
		{"lefthook.yml", "pre-commit:\n  commands:\n    lint:\n      glob: '*.js'\n      run: npx eslint {staged_files}\n", "eslint {staged_files} ?\n", ""},
		{"package.json", `{"scripts": {"test": "vitest run", "lint": "eslint . && tsc"}, "x": "mocha"}`, "eslint .\ntsc\nvitest run\n", ""},
		{".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n    - uses: x\n      with:\n        args: flake8\n    - run: |\n        make check\n        npm run lint\n", "make check\nnpm run lint\n", ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		h := habit.Read(dir)
		if got := render(h.Commands); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.file, got, c.want)
		}
		runner := ""
		for _, r := range h.Runners {
			runner = r.Program + " " + strings.Join(r.Targets, " ")
		}
		if runner != c.runner {
			t.Errorf("%s: %q, want %q", c.file, runner, c.runner)
		}
		for _, h := range h.Commands {
			if h.Source != c.file {
				t.Errorf("%s: of %s", c.file, h.Source)
			}
		}
	}
}

// Of what workflows set only plain values count that alone decide what a test sees, the first of each name.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".github", "workflows"), 0o777); err != nil {
		t.Fatal(err)
	}
	const text = "env:\n  TZ: America/New_York\n  LANG: ${{ matrix.lang }}\n  TOKEN: x\njobs:\n  a:\n    env:\n      TZ: UTC\n      GOFLAGS: -mod=mod\n    steps:\n    - with:\n        LC_ALL: C\n"
	if err := os.WriteFile(filepath.Join(dir, ".github", "workflows", "ci.yml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const file = ".github/workflows/ci.yml"
	want := []habit.Variable{{Name: "TZ", Value: "America/New_York", Source: file}, {Name: "GOFLAGS", Value: "-mod=mod", Source: file}}
	if got := habit.Read(dir).Variables; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a && b | c 'd")
	f.Add("python -m")
	f.Add("uv run --with")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range habit.Parse("f", text) {
			if c.Program == "" {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}
