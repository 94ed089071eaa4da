package survey

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

// Missing says what a command needs that is not installed, and the command that installs it; what is empty
// if nothing is known to be missing. The command runs in dir; root is the root of the matrix, from which a program
// with a folder is looked up. It looks for packages of Node and modules of
// Python; of a program it says no more than the command.
func Missing(root, dir string, argv []string) (what, install string) {
	if len(argv) == 0 {
		return "", ""
	}
	if rel, err := filepath.Rel(dir, filepath.Join(root, argv[0])); err == nil && strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		argv = append([]string{filepath.ToSlash(rel)}, argv[1:]...)
	}
	d := &draft{dir: dir}
	by := d.manager()
	program := argv[0]
	switch i := slices.Index(argv, "-m"); {
	case strings.HasPrefix(program, "node_modules/") && !d.exists(program):
		return program, by.install
	case slices.ContainsFunc(managers, func(m manager) bool { return m.program == program }):
		text, err := d.read("package.json")
		if err != nil {
			return "", ""
		}
		if p, err := settings.JSON(text); err == nil && d.packagesMissing(p) {
			return "node_modules", by.install
		}
	case i > 0 && i+1 < len(argv) && strings.HasPrefix(filepath.Base(program), "python"):
		if strings.Contains(program, "/") {
			path, err := filepath.Abs(filepath.Join(dir, program))
			if err != nil || !d.exists(program) {
				return "", ""
			}
			program = path
		}
		module := argv[i+1]
		const find = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
		if !works(dir, program, "-c", "pass") || works(dir, program, "-c", find, module) {
			return "", ""
		}
		d.habits = habit.Read(dir)
		p := d.readPython()
		if install = p.install; install == "" || p.needs[module] == "" {
			install = argv[0] + " -m pip install " + module
		}
		return "the Python module " + module, install
	}
	return "", ""
}

// Installed reports whether every package that the package.json of dir names is installed there: to install them once more brings nothing.
// It is false where there is no package.json.
func Installed(dir string) bool {
	d := &draft{dir: dir}
	text, err := d.read("package.json")
	if err != nil {
		return false
	}
	p, err := settings.JSON(text)
	if err != nil {
		return false
	}
	for _, name := range slices.Concat(p.At("dependencies").Keys, p.At("devDependencies").Keys) {
		if !d.exists("node_modules/" + name) {
			return false
		}
	}
	return true
}

// Absent says by files alone what of the project's own a process binding of m needs that is not installed, the command that installs it, and the
// folder in which that runs: the package manager installs packages of Node, and the setup of clean checkouts a program that the project has for
// itself. what is empty if nothing is known to be missing.
func Absent(m *routing.Matrix, b *routing.Binding) (what, dir, install string) {
	words := strings.Fields(b.Tool())
	if len(words) == 0 {
		return "", "", ""
	}
	program := filepath.FromSlash(words[0])
	own := strings.Contains(words[0], "/") && filepath.IsLocal(program) && !place.Exists(filepath.Join(m.Root, program))
	if !strings.HasPrefix(filepath.Base(program), "python") { // which [Missing] starts
		if what, install = Missing(m.Root, b.AbsDir(m.Root), words); what != "" && install != "" {
			return what, b.AbsDir(m.Root), install
		}
	}
	if !own {
		return "", "", ""
	}
	var commands []string
	for _, c := range m.Clean.Setup {
		commands = append(commands, c.Text)
	}
	if len(commands) == 0 {
		return "", "", ""
	}
	return words[0], m.Root, strings.Join(commands, " && ")
}
