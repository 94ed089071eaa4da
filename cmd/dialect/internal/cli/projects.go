package cli

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
)

// works reports whether a command answers, so that what init writes runs as it is.
func works(dir string, argv ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	return cmd.Run() == nil
}

// say adds a line, unless it is there.
func (d *draft) say(line string) {
	if !slices.Contains(d.lines, line) {
		d.lines = append(d.lines, line)
	}
}

// has reports whether a line of a verb is there.
func (d *draft) has(verb string) bool {
	return slices.ContainsFunc(d.lines, func(l string) bool { return strings.HasPrefix(l, verb+" ") })
}

// nodeTools are the tools of the pack node that a project may have in node_modules, with the
// line that runs each, and the file of configuration without which it says nothing of use.
var nodeTools = []struct {
	bin, line string
	config    []string
}{
	{"prettier", "Format with prettier", []string{".prettierrc*", "prettier.config.*"}},
	{"biome", "Check with biome", []string{"biome.json*"}},
	{"eslint", "Check with eslint", []string{"eslint.config.*", ".eslintrc*"}},
	{"tsc", "Check with tsc", []string{"tsconfig.json"}},
	{"vitest", "Test with vitest", nil},
	{"jest", "Test with jest", nil},
}

func (d *draft) nodeProject(dir string) {
	d.found = append(d.found, "package.json")
	if _, err := exec.LookPath("node"); err != nil {
		d.left = append(d.left, "the Node project (node is not installed)")
		return
	}
	var p struct {
		Scripts                       map[string]string
		Dependencies, DevDependencies map[string]string
	}
	text, err := regular.Read(filepath.Join(dir, "package.json"), 16<<20)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		d.left = append(d.left, "package.json ("+err.Error()+")")
		return
	}
	d.extends = append(d.extends, "node")
	for _, t := range nodeTools {
		_, dep := p.Dependencies[t.bin]
		_, dev := p.DevDependencies[t.bin]
		if t.bin == "tsc" {
			_, dep = p.Dependencies["typescript"]
			_, dev = p.DevDependencies["typescript"]
		}
		if t.bin == "biome" {
			_, dev = p.DevDependencies["@biomejs/biome"]
		}
		configured := t.config == nil
		for _, pattern := range t.config {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			configured = configured || len(found) > 0
		}
		switch {
		case !dep && !dev:
		case !exists(dir, "node_modules/.bin/"+t.bin):
			d.left = append(d.left, t.bin+" (it is a dependency, and not installed: npm ci)")
		case !configured:
			d.left = append(d.left, t.bin+" (it has no configuration here)")
		default:
			d.found = append(d.found, t.bin)
			d.say(t.line)
		}
	}
	script := p.Scripts["test"]
	switch {
	case d.has("Test"):
	case script != "" && !strings.Contains(script, "no test specified"):
		if _, err := exec.LookPath("npm"); err != nil {
			d.left = append(d.left, "npm test (npm is not installed)")
			return
		}
		d.found = append(d.found, "the script \"test\"")
		d.say("Test with npm")
	case hasNodeTests(dir):
		d.found = append(d.found, "tests of node")
		d.say("Test with node")
	default:
		d.left = append(d.left, "tests (package.json has no script \"test\", and there are no test files)")
	}
}

// hasNodeTests reports whether there is a file that `node --test` would run.
func hasNodeTests(dir string) bool {
	for _, pattern := range []string{"*.test.js", "*.test.mjs", "*.test.cjs", "test/*.js", "test/*.mjs", "test.js", "src/*.test.js", "tests/*.test.js"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}

func (d *draft) rustProject(dir string) {
	d.found = append(d.found, "Cargo.toml")
	if !works(dir, "cargo", "--version") {
		d.left = append(d.left, "the Rust project (cargo is not installed)")
		return
	}
	d.extends = append(d.extends, "rust")
	if works(dir, "cargo", "fmt", "--version") {
		d.say("Format with rustfmt")
	} else {
		d.left = append(d.left, "rustfmt (not installed: rustup component add rustfmt)")
	}
	if works(dir, "cargo", "clippy", "--version") {
		d.say("Check with clippy")
	} else {
		d.say("Check with cargo")
		d.left = append(d.left, "clippy (not installed: rustup component add clippy)")
	}
	d.say("Test with cargo")
}

func (d *draft) shellScripts(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "*.sh"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.sh"))
	if len(found)+len(more) == 0 {
		return
	}
	d.found = append(d.found, "shell scripts")
	d.extends = append(d.extends, "shell")
	if _, err := exec.LookPath("shellcheck"); err == nil {
		d.say("Check with shellcheck")
		return
	}
	d.left = append(d.left, "shellcheck (not installed; the syntax is checked instead)")
	d.say("Check with sh")
}

// target is a line of a Makefile, or of a justfile, that names what can be made.
var target = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([a-z][a-z0-9_-]*)\s*(?:[a-z0-9_=" '*+-]*)?:(?:[^=]|$)`)
})

// targets returns which of the usual names a file has.
func targets(dir string, names ...string) (file string, list []string) {
	for _, name := range names {
		text, err := regular.Read(filepath.Join(dir, name), 16<<20)
		if err != nil {
			continue
		}
		for _, m := range target().FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
		return name, list
	}
	return "", nil
}

// runners looks at what the project uses to run its checks now. What a tool of an ecosystem
// does already is not bound a second time.
func (d *draft) runners(dir string) {
	for _, r := range []struct {
		program, noun string
		files         []string
	}{
		{"make", "make", []string{"GNUmakefile", "makefile", "Makefile"}},
		{"just", "just", []string{"justfile", "Justfile", ".justfile"}},
	} {
		file, list := targets(dir, r.files...)
		if file == "" {
			continue
		}
		if _, err := exec.LookPath(r.program); err != nil {
			d.left = append(d.left, file+" ("+r.program+" is not installed)")
			continue
		}
		used := false
		for _, t := range []struct{ name, verb string }{{"lint", "Check"}, {"check", "Check"}, {"test", "Test"}} {
			if !slices.Contains(list, t.name) || d.has(t.verb) {
				continue
			}
			used = true
			d.bind(strings.ToLower(t.verb), r.noun, "with", r.program+" "+t.name, "pins = [\""+file+"\"]\n")
		}
		if used {
			d.found = append(d.found, file)
		} else {
			d.left = append(d.left, file+" (its targets are covered already, or are none of lint, check and test)")
		}
	}
	for _, h := range []struct{ file, program, noun, tool string }{
		{".pre-commit-config.yaml", "pre-commit", "hooks", "pre-commit run --all-files"},
		{"lefthook.yml", "lefthook", "hooks", "lefthook run pre-commit --all-files"},
	} {
		if !exists(dir, h.file) {
			continue
		}
		if _, err := exec.LookPath(h.program); err != nil {
			d.left = append(d.left, h.file+" ("+h.program+" is not installed)")
			continue
		}
		d.found = append(d.found, h.file)
		d.bind("check", h.noun, "with", h.tool, "pins = [\""+h.file+"\"]\n")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, ".github", "workflows", "*.y*ml")); len(found) > 0 {
		d.left = append(d.left, "the workflows of CI (their steps are not read; a step `dialect run "+scriptName+"` runs this gate there)")
	}
}
