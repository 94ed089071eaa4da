package scaffold

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func (d *draft) golang() {
	d.found("go.mod")
	d.extends = append(d.extends, "go")
	d.lines = append(d.lines, "Format with gofmt", "Check with vet")
	const line = "Check with staticcheck"
	mod, _ := d.read("go.mod")
	switch {
	case bytes.Contains(mod, []byte("honnef.co/go/tools/cmd/staticcheck")):
		d.found("staticcheck (a tool of go.mod)")
		d.bind(line, "go tool staticcheck ./...", "")
	case installed("staticcheck"):
		d.found("staticcheck")
		d.lines = append(d.lines, line)
	default:
		d.leaveOut("staticcheck", "not installed; bound already, so that the line \""+line+"\" is all it takes")
	}
	switch {
	case !d.matches(".golangci.*"):
	case installed("golangci-lint"):
		d.found("golangci-lint")
		d.bind("Check with golangci", "golangci-lint run", "")
	default:
		d.leaveOut("golangci-lint", "it has a configuration here, and is not installed")
	}
	d.lines = append(d.lines, "Test with go")
}

// nodeTools are the tools of the pack node that a project may have in node_modules, with the
// packages that bring each, the line that runs it, and the configuration without which it says nothing of use.
var nodeTools = []struct {
	bin, dependency, devDependency, line string
	config                               []string
}{
	{"prettier", "prettier", "prettier", "Format with prettier", []string{".prettierrc*", "prettier.config.*"}},
	{"biome", "biome", "@biomejs/biome", "Check with biome", []string{"biome.json*"}},
	{"eslint", "eslint", "eslint", "Check with eslint", []string{"eslint.config.*", ".eslintrc*"}},
	{"tsc", "typescript", "typescript", "Check with tsc", []string{"tsconfig.json"}},
	{"vitest", "vitest", "vitest", "Test with vitest", nil},
	{"jest", "jest", "jest", "Test with jest", nil},
}

func (d *draft) node() {
	d.found("package.json")
	if !installed("node") {
		d.leaveOut("the Node project", "node is not installed")
		return
	}
	var p struct {
		Scripts                       map[string]string
		Dependencies, DevDependencies map[string]string
	}
	text, err := d.read("package.json")
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		d.leaveOut("package.json", err.Error())
		return
	}
	d.extends = append(d.extends, "node")
	install := d.nodeInstall()
	for _, t := range nodeTools {
		_, dependency := p.Dependencies[t.dependency]
		_, devDependency := p.DevDependencies[t.devDependency]
		switch {
		case !dependency && !devDependency:
		case !d.exists("node_modules/.bin/" + t.bin):
			d.leaveOut(t.bin, "it is a dependency, and not installed: "+install)
		case t.config != nil && !d.matches(t.config...):
			d.leaveOut(t.bin, "it has no configuration here")
		default:
			d.found(t.bin)
			d.lines = append(d.lines, t.line)
		}
	}
	missing := len(p.Dependencies)+len(p.DevDependencies) > 0 && !d.exists("node_modules") && !d.exists(".pnp.cjs")
	if !d.has("Check") && !missing && installed("npm") {
		for _, name := range []string{"lint", "typecheck"} {
			if p.Scripts[name] != "" {
				d.found("the script \"" + name + "\"")
				d.bind("Check with "+name, "npm run --silent "+name, "pins = [\"package.json\"]\n")
			}
		}
	}
	script := p.Scripts["test"]
	needy := ""
	scripted := script != "" && !strings.Contains(script, "no test specified") // the words of `npm init`
	switch {
	case d.has("Test"):
	case scripted && !installed("npm"):
		d.leaveOut("npm test", "npm is not installed")
	case scripted:
		d.found("the script \"test\"")
		d.lines = append(d.lines, "Test with npm")
		needy = "the script \"test\" may need them"
	case d.matches("*.test.js", "*.test.mjs", "*.test.cjs", "test/*.js", "test/*.mjs", "test.js", "src/*.test.js", "tests/*.test.js"): // what `node --test` runs
		d.found("tests of node")
		d.lines = append(d.lines, "Test with node")
		needy = "the tests may need them"
	default:
		d.leaveOut("tests", "package.json has no script \"test\", and there are no test files")
	}
	if missing && needy != "" {
		d.leaveOut("node_modules", "the packages are not installed, and "+needy+": "+install)
	}
}

// nodeInstall returns the command that installs the packages of package.json, as its lock file has them.
func (d *draft) nodeInstall() string {
	for _, l := range []struct{ lock, command string }{
		{"package-lock.json", "npm ci"},
		{"npm-shrinkwrap.json", "npm ci"},
		{"pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		{"yarn.lock", "yarn install --frozen-lockfile"},
		{"bun.lock", "bun install --frozen-lockfile"},
		{"bun.lockb", "bun install --frozen-lockfile"},
	} {
		if d.exists(l.lock) {
			return l.command
		}
	}
	return "npm install"
}

func (d *draft) rust() {
	d.found("Cargo.toml")
	if !works(d.dir, "cargo", "--version") {
		d.leaveOut("the Rust project", "cargo is not installed")
		return
	}
	d.extends = append(d.extends, "rust")
	if works(d.dir, "cargo", "fmt", "--version") {
		d.lines = append(d.lines, "Format with rustfmt")
	} else {
		d.leaveOut("rustfmt", "not installed: rustup component add rustfmt")
	}
	if works(d.dir, "cargo", "clippy", "--version") {
		d.lines = append(d.lines, "Check with clippy")
	} else {
		d.lines = append(d.lines, "Check with cargo")
		d.leaveOut("clippy", "not installed: rustup component add clippy")
	}
	d.lines = append(d.lines, "Test with cargo")
}

func (d *draft) shell() {
	if !d.matches("*.sh", "*/*.sh") {
		return
	}
	d.found("shell scripts")
	d.extends = append(d.extends, "shell")
	if others := d.plainScripts(); len(others) > 0 {
		d.leaveOut(strings.Join(others, ", "), "shell scripts whose names do not end in .sh: bind a line to them by hand")
	}
	if installed("shellcheck") {
		d.lines = append(d.lines, "Check with shellcheck")
		return
	}
	d.leaveOut("shellcheck", "not installed; the syntax is checked instead")
	d.lines = append(d.lines, "Check with sh")
}

// plainScripts returns the shell scripts, here and one folder down, whose names do not end in .sh; at most eight.
func (d *draft) plainScripts() (list []string) {
	shebang := regexp.MustCompile(`^#!(?:/usr)?/bin/(?:env )?(?:ba|da|k)?sh\b`)
	for _, p := range []string{"*/*", "*"} {
		found, _ := filepath.Glob(filepath.Join(d.dir, p))
		for _, path := range found {
			name, err := filepath.Rel(d.dir, path)
			if err != nil || filepath.Ext(name) != "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "node_modules") {
				continue
			}
			if text, err := d.read(name); err == nil && shebang.Match(text[:min(len(text), 64)]) && len(list) < 8 {
				list = append(list, filepath.ToSlash(name))
			}
		}
	}
	return list
}

// runners looks at what the project uses to run its checks now. A target is bound only where no line has
// its verb yet: what a tool of an ecosystem does already is not bound a second time.
func (d *draft) runners() {
	for _, r := range []struct {
		program string
		files   []string
	}{
		{"make", []string{"GNUmakefile", "makefile", "Makefile"}},
		{"just", []string{"justfile", "Justfile", ".justfile"}},
	} {
		file, list := d.targets(r.files)
		if file == "" {
			continue
		}
		if !installed(r.program) {
			d.leaveOut(file, r.program+" is not installed")
			continue
		}
		bound := len(d.bindings)
		for _, t := range []struct{ name, verb string }{{"lint", "Check"}, {"check", "Check"}, {"test", "Test"}} {
			if slices.Contains(list, t.name) && !d.has(t.verb) {
				d.bind(t.verb+" with "+r.program, r.program+" "+t.name, "pins = [\""+file+"\"]\n")
			}
		}
		if len(d.bindings) > bound {
			d.found(file)
		} else {
			d.leaveOut(file, "its targets are covered already, or are not lint, check or test")
		}
	}
	for _, h := range []struct{ file, program, tool string }{
		{".pre-commit-config.yaml", "pre-commit", "pre-commit run --all-files"},
		{"lefthook.yml", "lefthook", "lefthook run pre-commit --all-files"},
	} {
		switch {
		case !d.exists(h.file):
		case !installed(h.program):
			d.leaveOut(h.file, h.program+" is not installed")
		default:
			d.found(h.file)
			d.bind("Check with hooks", h.tool, "pins = [\""+h.file+"\"]\n")
		}
	}
	if d.matches(".github/workflows/*.y*ml") {
		d.leaveOut("the workflows of CI", "their steps are not read; a step `dialect run "+ScriptName+"` runs this gate there")
	}
}

// targets returns the first of the files that can be read, and the targets or recipes it names.
func (d *draft) targets(files []string) (file string, list []string) {
	target := regexp.MustCompile(`(?m)^([a-z][a-z0-9_-]*)\s*(?:[a-z0-9_=" '*+-]*)?:(?:[^=]|$)`)
	for _, name := range files {
		text, err := d.read(name)
		if err != nil {
			continue
		}
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
		return name, list
	}
	return "", nil
}
