package survey

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
)

// goUses finds the command of the project that runs `go SUB`.
func (d *draft) goUses(sub string) (habit.Command, bool) {
	return d.habits.Find(func(c habit.Command) bool { return c.Program == "go" && len(c.Args) > 0 && c.Args[0] == sub })
}

func (d *draft) golang() {
	work, err := d.read("go.work")
	switch {
	case err == nil && d.below == "":
		d.goWork(string(work))
		return
	case d.exists("go.mod") && d.below != "" && !d.matches("*.go", "*/*.go", "*/*/*.go"):
		return
	case d.exists("go.mod"):
	case d.below == "" && d.matches("*.go"):
		d.leaveOut("the Go files", "there is no go.mod: go mod init")
		return
	default:
		return
	}
	d.found("go.mod")
	const install = "go mod download"
	mod, _ := d.read("go.mod")
	lint, linted := d.habits.Uses("golangci-lint")
	config := d.matches(".golangci.*")
	source := func(c habit.Command, ok bool) string {
		if !ok && linted {
			return lint.Source // it has both
		}
		return c.Source
	}
	fmted, ok := d.habits.Find(func(c habit.Command) bool {
		return c.Program == "gofmt" || c.Program == "gofumpt" || c.Program == "goimports" || c.Program == "go" && len(c.Args) > 0 && c.Args[0] == "fmt"
	})
	d.pack("go", "format_gofmt", "Format with gofmt", source(fmted, ok), install)
	d.pack("go", "check_vet", "Check with vet", source(d.goUses("vet")), install)
	static, uses := d.habits.Uses("staticcheck")
	switch {
	case bytes.Contains(mod, []byte("honnef.co/go/tools/cmd/staticcheck")):
		d.found("staticcheck (a tool of go.mod)")
		d.bind("Check with staticcheck", binding{tool: "go tool staticcheck ./..."}, "go.mod", install)
	case uses && installed("staticcheck"):
		d.found("staticcheck (" + static.Source + ")")
		d.pack("go", "check_staticcheck", "Check with staticcheck", static.Source, install)
	case uses:
		d.lacks("staticcheck", static.Source+" runs it; it is not installed", "go install honnef.co/go/tools/cmd/staticcheck@latest")
	}
	switch {
	case !linted && !config:
	case installed("golangci-lint"):
		d.found("golangci-lint")
		d.bind("Check with golangci", binding{tool: "golangci-lint run"}, "its configuration", install)
	default:
		d.leaveOut("golangci-lint", "the project uses it; it is not installed")
	}
	d.pack("go", "test_go", "Test with go", "go.mod", install)
}

// goWork binds the modules of a go.work, each by its path: there is no pattern that matches them all.
func (d *draft) goWork(text string) {
	var dirs []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:use\s+)?("?)(\.[A-Za-z0-9_./-]*)("?)\s*(?://.*)?$`).FindAllStringSubmatch(text, -1) {
		if dir := path.Clean(m[2]); !strings.HasPrefix(dir, "..") && d.exists(dir+"/go.mod") {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		d.leaveOut("go.work", "it uses no module that is here")
		return
	}
	d.found("go.work")
	patterns, folders := "", strings.Join(dirs, " ")
	if slices.Contains(dirs, ".") { // gofmt goes into all that is below
		folders = "."
	}
	for _, dir := range dirs {
		patterns += " ./" + strings.TrimPrefix(path.Join(dir, "..."), "./")
	}
	const install = "go work sync"
	fmted, _ := d.habits.Uses("gofmt", "gofumpt", "golangci-lint")
	vet, _ := d.goUses("vet")
	d.bind("Format with gofmt", binding{tool: "gofmt -l " + folders, expect: `{ stdout = "" }`, hint: "run `gofmt -w " + folders + "`"}, fmted.Source, install)
	d.bind("Check with vet", binding{tool: "go vet" + patterns}, vet.Source, install)
	d.bind("Test with go", binding{tool: "go test -json" + patterns}, "go.work", install)
	var unused []string
	for _, file := range d.glob("*/go.mod", "*/*/go.mod") {
		if dir := path.Dir(file); !slices.Contains(dirs, dir) && !foreign(dir) {
			unused = append(unused, dir)
		}
	}
	d.leaveFolders(unused, "not used by go.work: bind a line to each by hand, with cwd")
}

func (d *draft) rust() {
	text, err := d.read("Cargo.toml")
	if err != nil {
		return
	}
	d.found("Cargo.toml")
	if !works(d.dir, "cargo", "--version") {
		d.leaveOut("the Rust project", "cargo is not installed")
		return
	}
	cargo, _ := settings.TOML(text)
	uses := func(sub string) string {
		c, _ := d.habits.Find(func(c habit.Command) bool {
			i := slices.IndexFunc(c.Args, func(a string) bool { return !strings.HasPrefix(a, "+") })
			return c.Program == "cargo" && i >= 0 && c.Args[i] == sub
		})
		return c.Source
	}
	// With a package of its own, a workspace means its root alone where it is not named.
	all := cargo.Has("workspace") && cargo.Has("package")
	const install = "cargo fetch"
	line := func(name, line, sub string, all bool, tool, expect, hint string) {
		source := uses(sub)
		if sub == "test" && source == "" {
			source = "Cargo.toml"
		}
		if all {
			d.bind(line, binding{tool: tool, expect: expect, hint: hint}, source, install)
		} else {
			d.pack("rust", name, line, source, install)
		}
	}
	if works(d.dir, "cargo", "fmt", "--version") {
		line("format_rustfmt", "Format with rustfmt", "fmt", all, "cargo fmt --all --check", "", "run `cargo fmt --all`")
	} else {
		d.lacks("rustfmt", "not installed", "rustup component add rustfmt")
	}
	if works(d.dir, "cargo", "clippy", "--version") {
		line("check_clippy", "Check with clippy", "clippy", all, "cargo clippy --workspace --all-targets --quiet -- -D warnings", "", "")
	} else {
		line("check_cargo", "Check with cargo", "check", all, "cargo check --workspace --all-targets --quiet", "", "")
		if source := uses("clippy"); source != "" {
			d.lacks("clippy", source+" runs it; it is not installed", "rustup component add clippy")
		}
	}
	line("test_cargo", "Test with cargo", "test", all, "cargo test --workspace --quiet", "{ min_tests = 1 }", "")
	if cargo.Has("workspace") {
		d.found("its workspace")
	}
	if all {
		d.Caches = append(d.Caches, "target")
	}
}

// shellFiles are where shell scripts are looked for.
var shellFiles = []string{"*.sh", "*/*.sh"}

func (d *draft) shell() {
	d.bats()
	scripts := d.matches(shellFiles...)
	check, uses := d.habits.Uses("shellcheck")
	if !scripts || len(d.Lines) > 0 && !uses && !d.exists(".shellcheckrc") {
		return
	}
	d.found("shell scripts")
	if others := d.plainScripts(); len(others) > 0 {
		d.leaveOut(strings.Join(others, ", "), "shell scripts whose names do not end in .sh: bind a line to them by hand")
	}
	if installed("shellcheck") {
		d.pack("shell", "check_shellcheck", "Check with shellcheck", check.Source, "")
		d.Lines[len(d.Lines)-1].Instead = &scaffold.Line{Text: "Check with sh", Name: "check_sh", Pack: "shell"}
		return
	}
	d.leaveOut("shellcheck", "not installed; the syntax is checked instead")
	d.pack("shell", "check_sh", "Check with sh", "", "")
}

// bats looks for tests of bats: in the folder test or tests, or in the one that the project's own
// command names.
func (d *draft) bats() {
	folders := []string{}
	for _, f := range d.glob("*.bats", "*/*.bats", "*/*/*.bats") {
		top, _, nested := strings.Cut(f, "/")
		if !nested {
			top = "."
		}
		if top != "node_modules" && top != "vendor" && !slices.Contains(folders, top) {
			folders = append(folders, top)
		}
	}
	if len(folders) == 0 || d.has("Test") {
		return
	}
	use, own := d.habits.Uses("bats")
	source := use.Source
	if !own {
		source = folders[0]
	}
	for _, program := range []string{"bin/bats", "test/bats/bin/bats", "test/libs/bats/bin/bats", "node_modules/.bin/bats", "bats"} {
		if d.exists(program) || program == "bats" && installed("bats") {
			d.found("tests of bats")
			d.bind("Test with bats", binding{tool: program + " -r " + strings.Join(folders, " "), expect: "{ min_tests = 1 }"}, source, "git submodule update --init")
			return
		}
	}
	d.leaveOut("the tests of bats", "bats is not installed")
}

// plainScripts returns the shell scripts, here and one folder down, whose names do not end in .sh; at most eight.
func (d *draft) plainScripts() (list []string) {
	shebang := regexp.MustCompile(`^#!(?:/usr)?/bin/(?:env )?(?:ba|da|k)?sh\b`)
	for _, name := range d.glob("*/*", "*") {
		if path.Ext(name) != "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "node_modules") {
			continue
		}
		if text, err := d.read(name); err == nil && shebang.Match(text[:min(len(text), 64)]) && len(list) < 8 {
			list = append(list, name)
		}
	}
	return list
}
