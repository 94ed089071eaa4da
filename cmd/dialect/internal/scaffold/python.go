package scaffold

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// pythonTools are the tools that are bound where a project mentions them.
var pythonTools = []struct{ name, verb, arguments, extra string }{
	{"ruff", "Check", "check .", "hint = \"ruff check --fix fixes what it can\"\n"},
	{"black", "Format", "--check .", "hint = \"black . formats\"\n"},
	{"flake8", "Check", "", ""},
	{"mypy", "Check", ".", ""},
}

func (d *draft) python() {
	d.found("a Python project")
	config := d.pythonConfig()
	for _, t := range pythonTools {
		if !strings.Contains(config, t.name) {
			d.leaveOut(t.name, "the project does not mention it")
		} else if tool, ok := d.pythonCommand(t.name); !ok {
			d.leaveOut(t.name, "the project mentions it, and it is not installed")
		} else {
			d.found(t.name)
			if t.name == "ruff" {
				d.bind("Format with ruff", tool+" format --check .", venvInputs(tool))
			}
			arguments := t.arguments
			if t.name == "mypy" && mypyFiles().MatchString(config) {
				arguments = "" // those of its configuration
			}
			d.bind(t.verb+" with "+t.name, strings.TrimSpace(tool+" "+arguments), t.extra+venvInputs(tool))
		}
	}
	if !d.hasPythonTests() {
		d.leaveOut("pytest", "there are no test files")
	} else if tool, ok := d.pythonCommand("pytest"); ok {
		d.found("pytest")
		d.bind("Test with pytest", tool+" -q", "expect = { min_tests = 1 }\n"+venvInputs(tool))
	} else {
		if tool, ok := d.pythonCommand("unittest"); ok {
			d.found("unittest")
			d.bind("Test with unittest", tool, "expect = { min_tests = 1 }\n"+venvInputs(tool))
		}
		d.leaveOut("pytest", "not installed")
	}
	if len(d.bindings) == 0 {
		if tool, ok := d.pythonCommand("compileall"); ok {
			d.bind("Check for syntax", tool+" -q .", "")
		}
	}
}

// mypyFiles matches a configuration of mypy that names what is to be checked.
var mypyFiles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[(?:tool\.)?mypy\]\n(?:[^\[\n].*\n|\n)*?(?:files|packages|modules)\s*=`)
})

// venvInputs returns the key of a binding that names the records of what is installed in the virtual
// environment of tool; empty if tool is in none.
func venvInputs(tool string) string {
	venv, _, ok := strings.Cut(tool, "/bin/python ")
	if !ok {
		return ""
	}
	return fmt.Sprintf("inputs = [%q, %q]\n", venv+"/pyvenv.cfg", venv+"/lib/python*/site-packages/*.dist-info/RECORD")
}

// pythonCommand finds a command that runs the tool called name: as a module of
// the project's virtual environment or of python3, or as a program of its own.
func (d *draft) pythonCommand(name string) (string, bool) {
	var candidates []string
	for _, venv := range []string{".venv", "venv"} {
		if d.exists(venv + "/bin/python") {
			candidates = append(candidates, venv+"/bin/python -m "+name)
		}
	}
	if d.exists("uv.lock") {
		candidates = append(candidates, "uv run --frozen python -m "+name)
	}
	candidates = append(candidates, "python3 -m "+name, name, name+"-3")
	probe := "--version"
	if name == "unittest" || name == "compileall" {
		probe = "--help"
	}
	for _, c := range candidates {
		argv := append(strings.Fields(c), probe)
		if strings.Contains(argv[0], "/") {
			argv[0] = filepath.Join(d.dir, argv[0])
		}
		if works("", argv...) {
			return c, true
		}
	}
	return "", false
}

// pythonConfig returns the text in which a project mentions the tools it uses.
func (d *draft) pythonConfig() string {
	var b strings.Builder
	names := []string{"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "mypy.ini", ".mypy.ini", ".flake8", "ruff.toml", ".ruff.toml", ".pre-commit-config.yaml", "Makefile", "noxfile.py"}
	requirements, _ := filepath.Glob(filepath.Join(d.dir, "requirements*.txt"))
	for _, r := range requirements {
		names = append(names, filepath.Base(r))
	}
	for _, name := range names {
		if text, err := d.read(name); err == nil {
			// The name of a file such as mypy.ini is a mention too.
			b.WriteString(name + "\n")
			b.Write(text)
		}
	}
	return b.String()
}

// hasPythonTests reports whether there is a file that pytest would collect.
func (d *draft) hasPythonTests() bool {
	found := false
	_ = filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		name := e.Name()
		if e.IsDir() && path != d.dir && (strings.HasPrefix(name, ".") || name == "venv" || name == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".py") && (strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.py")) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
