package routing_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/stdlib"
)

// TestToolsThatLook has command lines of a verb that writes: only those of the table are known to only look.
func TestToolsThatLook(t *testing.T) {
	for _, line := range []string{
		"gofmt -l .", "gofmt -d .", "gofmt -s -l {args...}", "/usr/local/go/bin/gofmt --l .", "go tool goimports -l .", "gofumpt -extra -d .",
		"black --check --quiet src tests", "black --diff .", ".venv/bin/python -m black --check .", "python3.12 -m black --check .", "python3 -m ruff format --check .",
		"ruff format --diff .", "ruff check --no-fix .", "ruff check --diff .", "ruff --quiet format --check", "uv run ruff format --check .", "uvx ruff format --check", "uv run --frozen python -m black --check .",
		"poetry run isort --check-only .", "isort -c .", "isort --check .", "isort --diff .", "yapf --diff -r .", "prettier --check .", "prettier -c .", "prettier -l .", "npx prettier --list-different .",
		"npx --yes prettier --check .", "npx --no-install prettier --check .", "pnpm exec prettier --check .", "node_modules/.bin/prettier --check {args...}", "env CI=1 PRETTIER_X=2 prettier --check .", "env prettier --check .",
		"biome ci .", "rustfmt --check src/main.rs", "cargo fmt --check", "cargo fmt -- --check", "cargo fmt --all -- --check", "cargo +nightly fmt --check", "shfmt -d .", "shfmt -l .", "shfmt --list .", "shfmt -i 2 --diff .",
		"clang-format --dry-run --Werror a.c", "clang-format -n a.c", "terraform fmt -check -recursive", "deno fmt --check", "mix format --check-formatted", "zig fmt --check src", "stylua --check .", "dialect fmt --check q.dlct",
		"gofmt.exe -l .", "shfmt -d '{file}'",
	} {
		if got := effect(t, line, ""); got != plan.Read {
			t.Errorf("%s: %s, want read", line, got)
		}
	}
	for _, line := range []string{
		// These wrote after a failure, for a flag.
		"rsync -l src dst", "ln -l a b", "xargs -l rm", "gofmt -l -w .", "gofmt -w -l .", "x --check .", "x --diff", "x --dry-run", "x -l .", "deploy --dry-run", "make --check", "rsync --dry-run a b",
		// What unmakes it, in the ways that it can be spelled.
		"gofmt -l --w .", "gofmt -l -w=true .", "gofmt -d -cpuprofile=p .", "gofmt -l=false .", "prettier --check --write .", "prettier -c -w .", "prettier -cw .", "prettier -lw .", "prettier --check --wri .", "shfmt -l -w .", "shfmt -d --write .",
		"ruff check .", "ruff check --fix .", "ruff check --diff --fix .", "ruff check --no-fix --fix .", "ruff check --no-fix --add-noqa .", "ruff check --no-fix --output-file=x .", "ruff check --no-fix -o x .", "ruff --check .", "ruff clean --diff",
		"terraform fmt -check -write=true", "terraform apply -check", "clang-format -n -i a.c", "clang-format -i a.c", "rustfmt --check --emit files a.rs", "yapf --diff -i .", "biome check .", "biome ci --write .", "biome format",
		"cargo build --check", "cargo fmt", "cargo clippy --fix -- --check", "dialect run --check", "zig build --check", "isort .", "black .",
		// What is not a flag, or is another program's.
		"black -- --check", "prettier . -- --check", "black '--check it'", "black --check=no", "black {object}", "black --check -{object}", "black --check --{object}=1", "python3 --check -m black", "python3 -m pip install black --check", "sh -c 'black --check'",
		"env -i X=1 black --check", "npx -p evil prettier --check", "npx cowsay --check", "go run gofmt -l", "go tool x -l", "uv run --with evil black --check", "uv pip black --check", "sudo black --check", "time black --check",
	} {
		if got := effect(t, line, ""); got != plan.Write {
			t.Errorf("%s: %s, want write", line, got)
		}
	}
	// A script may put an option of its own into a tool that lets it, and a shell may do anything.
	for _, more := range []string{"flags = true", "shell = true"} {
		line := "gofmt -l {args...}"
		if more == "shell = true" {
			line = "gofmt -l ."
		}
		if got := effect(t, line, more); got != plan.Write {
			t.Errorf("%s, %s: %s, want write", line, more, got)
		}
	}
	if got := effect(t, "gofmt -l .", "flags = true\neffect = \"read\""); got != plan.Read {
		t.Errorf("what the binding says does not count: %s", got)
	}
}

// effect returns the effect of a tool whose verb writes.
func effect(t *testing.T, tool, more string) plan.Effect {
	t.Helper()
	m := load(t, fmt.Sprintf("[commands.a]\nverb = \"format\"\nnoun = \"a\"\ntool = %q\n%s\n", tool, more))
	return m.ByName("a").Effect
}

// TestEffectsOfPacks has each binding of each pack: what it is decides whether it runs after a failure.
func TestEffectsOfPacks(t *testing.T) {
	write := map[string]bool{"git sync_remote": true} // all others read
	bindings := 0
	for _, pack := range stdlib.Packs() {
		m, list := routing.Load("/project/routing.toml", routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
			if path == "/project/routing.toml" {
				return fmt.Appendf(nil, "extends = [%q]\n", pack), nil
			}
			return nil, os.ErrNotExist
		}})
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Bindings {
			if name, _ := strings.CutPrefix(b.Source.Name, "pack:"); name != pack {
				continue
			}
			bindings++
			want := plan.Read
			if key := pack + " " + b.Name; write[key] {
				want = plan.Write
				delete(write, key)
			}
			if b.Effect != want {
				t.Errorf("%s of pack %s: %s, want %s", b.Name, pack, b.Effect, want)
			}
		}
	}
	if bindings < 30 || len(write) > 0 {
		t.Errorf("%d bindings; not found: %v", bindings, write)
	}
}

// TestShellWithFlags: with flags = true a value could be an option of the shell, such as -c.
func TestShellWithFlags(t *testing.T) {
	for tool, want := range map[string]bool{"bash": false, "bash {args...}": false, `sh -c 'x "$@"' sh {args...}`: true, "sh build.sh {args...}": true} {
		for flags, ok := range map[string]bool{"true": want, "false": true} {
			text := "[commands.run_it]\nverb = \"run\"\nnoun = \"it\"\ntool = '''" + tool + "'''\nflags = " + flags + "\n"
			if _, findings := loadWith(t, text, nil); (findings.Count(diag.Error) == 0) != ok {
				t.Errorf("%s, flags = %s: %v", tool, flags, findings)
			}
		}
	}
}
