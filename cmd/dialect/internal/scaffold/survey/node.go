package survey

import (
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
)

// nodeTools are the tools of the pack node that a project may have in node_modules, with the
// packages that bring each, the line that runs it, and the configuration without which it says nothing of use.
var nodeTools = []struct {
	bin, dependency, name, line string
	config                      []string
}{
	{"prettier", "prettier", "format_prettier", "Format with prettier", []string{".prettierrc*", "prettier.config.*"}},
	{"biome", "@biomejs/biome", "check_biome", "Check with biome", []string{"biome.json*"}},
	{"eslint", "eslint", "check_eslint", "Check with eslint", []string{"eslint.config.*", ".eslintrc*"}},
	{"tsc", "typescript", "check_tsc", "Check with tsc", []string{"tsconfig.json"}},
}

// nodeScripts are the names that projects give to the scripts that only look, with the noun of the line.
var nodeScripts = []struct {
	verb, noun string
	names      []string
}{
	{"Format", "style", []string{"format:check", "check:format", "check-format", "format-check", "prettier:check", "fmt:check", "fmt-check", "check:prettier"}},
	{"Check", "lint", []string{"lint", "lint:check", "check:lint", "lint:all", "eslint", "test:lint"}},
	{"Check", "types", []string{"typecheck", "type-check", "check:types", "check-types", "types:check", "check:type", "check-type", "check:ts", "tsc", "check:tsc", "test:types"}},
}

// A manager installs the packages of package.json, and runs its scripts.
type manager struct{ lock, install, program, run, test string }

var managers = []manager{
	{"package-lock.json", "npm ci", "npm", "npm run --silent", ""},
	{"npm-shrinkwrap.json", "npm ci", "npm", "npm run --silent", ""},
	{"pnpm-lock.yaml", "pnpm install --frozen-lockfile", "pnpm", "pnpm run --silent", "pnpm test"},
	{"yarn.lock", "yarn install --frozen-lockfile", "yarn", "yarn run", "yarn test"},
	{"bun.lock", "bun install --frozen-lockfile", "bun", "bun run", "bun run test"},
	{"bun.lockb", "bun install --frozen-lockfile", "bun", "bun run", "bun run test"},
}

// nodeInputs are what the managers write of what they installed.
var nodeInputs = []string{"node_modules/.package-lock.json", "node_modules/.modules.yaml", "node_modules/.yarn-state.yml", "node_modules/.yarn-integrity"}

// A node is what package.json says.
type node struct {
	*draft
	manager
	scripts settings.Value
	hooked  map[string]bool
}

// manager returns what installs the packages of package.json: that of its lock file, else npm.
func (d *draft) manager() manager {
	if i := slices.IndexFunc(managers, func(m manager) bool { return d.exists(m.lock) }); i >= 0 {
		return managers[i]
	}
	if d.exists("pnpm-workspace.yaml") {
		return manager{"", "pnpm install", "pnpm", "pnpm run --silent", "pnpm test"}
	}
	return manager{"", "npm install", "npm", "npm run --silent", ""}
}

// packagesMissing reports whether a package.json has dependencies, and nothing is installed.
func (d *draft) packagesMissing(p settings.Value) bool {
	return len(p.At("dependencies").Keys)+len(p.At("devDependencies").Keys) > 0 && !d.exists("node_modules") && !d.exists(".pnp.cjs")
}

func (d *draft) node() {
	if !d.exists("package.json") {
		return
	}
	d.found("package.json")
	if !installed("node") {
		d.leaveOut("the Node project", "node is not installed")
		return
	}
	text, err := d.read("package.json")
	var p settings.Value
	if err == nil {
		p, err = settings.JSON(text)
	}
	if err != nil {
		d.leaveOut("package.json", err.Error())
		return
	}
	n := node{draft: d, scripts: p.At("scripts"), manager: d.manager()}
	depends := func(name string) bool {
		return p.At("dependencies").Has(name) || p.At("devDependencies").Has(name)
	}
	missing := d.packagesMissing(p)
	first := len(d.Lines)
	for _, s := range nodeScripts {
		n.script(s.verb, s.noun, s.names)
	}
	for _, t := range nodeTools {
		use, uses := d.habits.Find(func(c habit.Command) bool { return c.Program == t.bin && !c.Changes() })
		switch {
		case !depends(t.dependency), n.covers(t.bin):
		case !d.exists("node_modules/.bin/" + t.bin):
			d.lacks(t.bin, "it is a dependency, and not installed", n.install)
		case t.config != nil && !d.matches(t.config...):
			d.leaveOut(t.bin, "it has no configuration here")
		case t.bin == "tsc" && n.builds(): // into the folders that tsc reads: after the tests it would say something else
			d.leaveOut(t.bin, "the script \"test\" builds with it")
		default:
			d.found(t.bin)
			source := ""
			if uses {
				source = use.Source
			}
			d.pack("node", t.name, t.line, source, n.install)
		}
	}
	if n.scripts.At("test").Text == "" && p.Has("workspaces") || d.exists("pnpm-workspace.yaml") && n.scripts.At("test").Text == "" {
		n.workspaces(p)
	} else {
		n.tests()
	}
	if n.scripts.At("build").Text != "" {
		for i := range d.Lines[first:] {
			d.Lines[first+i].Build = n.program + " run build"
			if d.below != "" {
				d.Lines[first+i].Build = "cd " + d.below + " && " + d.Lines[first+i].Build
			}
		}
	}
	if missing && len(d.Lines) == 0 {
		d.lacks("node_modules", "the packages are not installed", n.install)
	}
}

// script binds the first of the scripts that is there and only looks.
func (n *node) script(verb, noun string, names []string) {
	for _, name := range names {
		text := n.scripts.At(name).Text
		if text == "" || !habit.IsPlain(name) {
			continue
		}
		for _, c := range n.expand(text, 0) {
			if c.Changes() {
				n.leaveOut("the script \""+name+"\"", "it changes files: "+c.Program+" "+strings.Join(c.Args, " "))
				text = ""
				break
			}
		}
		if text == "" {
			continue
		}
		if !installed(n.program) {
			n.leaveOut("the script \""+name+"\"", n.program+" is not installed")
			return
		}
		n.found("the script \"" + name + "\"")
		n.bind(verb+" with "+noun, binding{tool: n.run + " " + name, inputs: nodeInputs, pins: []string{"package.json"}}, "package.json", n.install)
		if n.hooked == nil {
			n.hooked = make(map[string]bool)
		}
		for _, c := range n.expand(text, 0) {
			n.hooked[c.Program] = true
		}
		return
	}
}

// builds reports whether the tests begin with a build by tsc.
func (n *node) builds() bool {
	return slices.ContainsFunc(n.expand(n.scripts.At("test").Text, 0), func(c habit.Command) bool {
		return c.Program == "tsc" && (slices.Contains(c.Args, "--build") || slices.Contains(c.Args, "-b"))
	})
}

// expand returns the commands of a script, those of the scripts that it runs in their place.
func (n *node) expand(text string, depth int) (list []habit.Command) {
	for _, c := range habit.Parse("package.json", text) {
		name := ""
		switch {
		case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, c.Program) && len(c.Args) > 1 && c.Args[0] == "run":
			name = c.Args[1]
		case c.Program == "run-s" || c.Program == "run-p" || c.Program == "npm-run-all":
			for _, a := range c.Args {
				if t := n.scripts.At(a).Text; t != "" && depth < 4 {
					list = append(list, n.expand(t, depth+1)...)
				}
			}
		}
		if t := n.scripts.At(name).Text; name != "" && t != "" && depth < 4 {
			list = append(list, n.expand(t, depth+1)...)
			continue
		}
		list = append(list, c)
	}
	return list
}

// covers reports whether a script that is bound already runs a program.
func (n *node) covers(program string) bool { return n.hooked[program] }

// workspaces binds the tests of the packages of a workspace, where its root has no script for them.
func (n *node) workspaces(p settings.Value) {
	tool := map[string]string{"npm": "npm test --workspaces --if-present --silent", "pnpm": "pnpm -r --if-present test"}[n.program]
	patterns := append(p.At("workspaces").Texts(), p.At("workspaces", "packages").Texts()...)
	if text, err := n.read("pnpm-workspace.yaml"); err == nil {
		patterns = append(patterns, settings.YAML(text).At("packages").Texts()...)
	}
	for _, pattern := range patterns {
		for _, file := range n.glob(strings.TrimSuffix(pattern, "/") + "/package.json") {
			text, err := n.read(file)
			if err != nil || tool == "" {
				continue
			}
			if v, err := settings.JSON(text); err == nil && v.At("scripts", "test").Text != "" {
				n.found("workspaces")
				n.bind("Test with "+n.program, binding{tool: tool, inputs: nodeInputs, pins: []string{"package.json", file}}, file, n.install)
				return
			}
		}
	}
	n.leaveOut("tests of the workspaces", "no package of theirs has a script \"test\" that "+n.program+" runs")
}

func (n *node) tests() {
	script := n.scripts.At("test").Text
	commands := n.expand(script, 0)
	scripted := script != "" && !strings.Contains(script, "no test specified") // the words of `npm init`
	for _, bin := range []string{"vitest", "jest"} {
		// The script and nothing else: then the line of the pack does the same, and cannot watch.
		if scripted && len(commands) == 1 && commands[0].Program == bin && (len(commands[0].Args) == 0 || len(commands[0].Args) == 1 && commands[0].Args[0] == "run") && n.exists("node_modules/.bin/"+bin) {
			n.found(bin)
			n.pack("node", "test_"+bin, "Test with "+bin, "package.json", n.install)
			return
		}
	}
	switch {
	case scripted && !installed(n.program):
		n.leaveOut(n.program+" test", n.program+" is not installed")
	case scripted && n.manager.test != "":
		n.found("the script \"test\"")
		n.bind("Test with "+n.program, binding{tool: n.manager.test, inputs: nodeInputs, pins: []string{"package.json"}}, "package.json", n.install)
	case scripted:
		n.found("the script \"test\"")
		n.pack("node", "test_npm", "Test with npm", "package.json", n.install)
	case n.matches("*.test.js", "*.test.mjs", "*.test.cjs", "test/*.js", "test/*.mjs", "test.js", "src/*.test.js", "tests/*.test.js"): // what `node --test` runs
		n.found("tests of node")
		n.pack("node", "test_node", "Test with node", "its tests", n.install)
	case n.below == "":
		n.leaveOut("tests of Node", "package.json has no script \"test\", and no file is one of node --test")
	}
}
