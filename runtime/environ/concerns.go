package environ

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// families are the variables of classOf that only certain programs read: by the beginning of their names, what begins
// otherwise first. A variable that is in none can steer any program: that of the loader, a shell or git.
var families = [...]struct {
	prefixes, programs string // words
	language           bool   // what make or npm runs is often one of them, even where its output does not say so
}{
	{"GOLANGCI_", "golangci-lint", false},
	{"STATICCHECK_", "staticcheck", false},
	{"GO", "go gofmt gofumpt golangci-lint staticcheck gotestsum govulncheck", true},
	{"CGO_ GO_EXTLINK_", "go", true},
	{"PYTEST_ HYPOTHESIS_", "pytest py.test", false},
	{"MYPY", "mypy dmypy", false},
	{"RUFF_", "ruff", false},
	{"BLACK_", "black", false},
	{"PYLINT", "pylint", false},
	{"COVERAGE_", "coverage pytest", false},
	{"TOX", "tox", false},
	{"NOX", "nox", false},
	{"UV_", "uv uvx", false},
	{"PIPENV_", "pipenv", false},
	{"PYTHON", "python python2 python3 pytest mypy tox nox pip coverage pylint flake8", true},
	{"ANSIBLE_", "ansible ansible-lint ansible-playbook molecule", false},
	{"YAMLLINT_", "yamllint", false},
	{"PRE_COMMIT_ SKIP", "pre-commit prek", false},
	{"LEFTHOOK", "lefthook", false},
	{"HUSKY", "husky", false},
	{"HK_", "hk", false},
	{"ESLINT_", "eslint xo", false},
	{"PRETTIER_", "prettier", false},
	{"VITEST", "vitest", false},
	{"BIOME_", "biome", false},
	{"TURBO_", "turbo", false},
	{"NX_", "nx", false},
	{"CYPRESS_", "cypress", false},
	{"CUCUMBER_", "cucumber cucumber-js", false},
	{"DENO_", "deno", false},
	{"YARN_", "yarn", false},
	{"PNPM_ pnpm_", "pnpm", false},
	{"npm_ NPM_", "npm npx pnpm yarn", false},
	{"NODE_ TS_NODE_ TSX_ SWC_ ESBUILD_ MOCHA_ BUN_", "node npm npx pnpm yarn bun jest vitest mocha ava tsc tsx eslint prettier", true},
	{"CARGO RUST CLIPPY_ NEXTEST_ MIRI INSTA_ PROPTEST_ QUICKCHECK_ TRYBUILD", "cargo rustc rustfmt rustdoc", true},
	{"PERL HARNESS_", "perl prove", true},
	{"RUBOCOP_", "rubocop", false},
	{"RUBY BUNDLE_ SPEC TESTOPTS", "ruby bundle rake rspec rubocop", true},
	{"MAVEN_", "mvn mvnw", false},
	{"GRADLE_", "gradle gradlew", false},
	{"ANT_", "ant", false},
	{"SBT_", "sbt", false},
	{"CLASSPATH JAVA JDK_ _JAVA_", "java javac mvn mvnw gradle gradlew ant sbt", true},
	{"DOTNET_ CORECLR_ COR_ COMPlus_ COMPLUS_ VSTEST_", "dotnet", true},
	{"BATS_", "bats", false},
	{"JUST_", "just", false},
	{"HADOLINT_", "hadolint", false},
	{"SHELLCHECK_", "shellcheck", false},
	{"TFLINT_", "tflint", false},
	{"TF_", "terraform tofu tflint terragrunt", false},
	{"VALE_", "vale", false},
	{"SEMGREP_", "semgrep", false},
	{"ROBOT_ REBOT_", "robot rebot", false},
	{"PHP COMPOSER", "php composer phpunit", true},
	{"LUA_", "lua luajit luarocks busted", true},
	{"R_", "R Rscript", true},
	{"JULIA_", "julia", true},
	{"ERL_ ELIXIR_ MIX_", "mix elixir erl rebar3", true},
	{"STACK_ GHC", "stack ghc cabal", true},
}

// runners are programs that run what a file of the project says.
const runners = "make gmake just task npm npx pnpm yarn bun sh bash dash zsh ksh env sudo docker podman nix rake tox nox invoke pre-commit lefthook hk ninja bazel"

// Concerns reports whether a variable that Make left out can have decided how a command ended, as far as its name tells:
// whether a program that reads it is in argv, or is named in output. What a runner such as make runs is not known; there a
// variable of a language concerns it, too.
func Concerns(variable string, argv []string, output []byte) bool {
	for _, f := range &families {
		if !slices.ContainsFunc(strings.Fields(f.prefixes), func(p string) bool { return strings.HasPrefix(variable, p) }) {
			continue
		}
		if bytes.Contains(output, []byte(variable)) {
			return true
		}
		programs := strings.Fields(f.programs)
		for _, a := range argv {
			for word := range strings.FieldsSeq(a) { // a shell has its script in one argument
				name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
				if slices.Contains(programs, name) || f.language && slices.Contains(strings.Fields(runners), name) {
					return true
				}
			}
		}
		return slices.ContainsFunc(programs, func(p string) bool { return names(output, p) })
	}
	return true
}

// names reports whether program is a word of text that stands where a shell or make echoes a command, or complains of one: at the
// beginning of a line, or after a space, a slash or a quote, with no letter after it.
func names(text []byte, program string) bool {
	if len(program) < 3 { // "go" is a word of English
		program += " "
	}
	for {
		i := bytes.Index(text, []byte(program))
		if i < 0 {
			return false
		}
		before := i == 0 || strings.IndexByte("\n \t/'\"`$", text[i-1]) >= 0
		text = text[i+len(program):]
		if before && (strings.HasSuffix(program, " ") || len(text) == 0 || strings.IndexByte(" \t\n:'\"`,;)", text[0]) >= 0) {
			return true
		}
	}
}
