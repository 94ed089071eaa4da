package survey

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
)

// A pythonTool is one that is bound where a project runs it or has it configured.
type pythonTool struct {
	noun, verb string
	module     string   // its name as a module, a command and a table of configuration
	sub        []string // the words that follow its name
	files      []string // that are its configuration
	hint       string
}

var pythonTools = []pythonTool{
	{noun: "ruff", verb: "Format", module: "ruff", sub: []string{"format", "--check"}, hint: "run `%s format .`"},
	{noun: "black", verb: "Format", module: "black", sub: []string{"--check"}, hint: "run `%s .`"},
	{noun: "isort", verb: "Format", module: "isort", sub: []string{"--check-only"}, files: []string{".isort.cfg"}, hint: "run `%s .`"},
	{noun: "ruff", verb: "Check", module: "ruff", sub: []string{"check"}, files: []string{"ruff.toml", ".ruff.toml"}, hint: "run `%s check --fix .`"},
	{noun: "flake8", verb: "Check", module: "flake8", files: []string{".flake8"}},
	{noun: "pylint", verb: "Check", module: "pylint", files: []string{".pylintrc", "pylintrc"}},
	{noun: "mypy", verb: "Check", module: "mypy", files: []string{"mypy.ini", ".mypy.ini"}},
	{noun: "pyright", verb: "Check", module: "pyright", files: []string{"pyrightconfig.json"}},
}

// A python is what the configuration of a Python project says.
type python struct {
	*draft
	pyproject, setup, tox settings.Value
	needs                 map[string]string // what it depends on for its development, by the file that says so
	install               string            // the command that installs all of it
}

func (d *draft) python() {
	// Scripts in tests alone make no Python project of one that has lines already.
	bare := d.below == "" && (d.matches("*.py") || len(d.Lines) == 0 && d.matches("tests/test*.py", "test/test*.py"))
	configured := d.exists("pyproject.toml") || d.exists("setup.py") || d.exists("setup.cfg")
	if !configured && !bare {
		return
	}
	p := d.readPython()
	tests := p.hasTests()
	if d.below == "" && len(p.pyproject.At("project").Keys) == 0 && len(p.pyproject.At("tool", "poetry").Keys) == 0 && !d.exists("setup.py") && !d.exists("setup.cfg") && len(d.Lines) > 0 && !tests {
		return // the configuration of some tool in a project of another language
	}
	if configured || tests {
		d.found("a Python project")
	} // else scripts, maybe of a project of another language
	for _, t := range pythonTools {
		p.tool(t)
	}
	switch {
	case tests:
		p.tests()
	case configured:
		d.leaveOut("pytest", "there are no test files")
	}
}

// pythonSyntax binds a look at the syntax of Python's files where there is nothing else to bind.
func (d *draft) pythonSyntax() {
	if len(d.Lines) > 0 || !d.matches("*.py") && !slices.Contains(d.Found, "a Python project") {
		return
	}
	if tool, ok := d.pythonCommand("compileall"); ok {
		d.found("Python files")
		d.bind("Check for syntax", binding{tool: tool + " -q ."}, "", "")
	}
}

// readPython reads what configures a Python project.
func (d *draft) readPython() *python {
	p := &python{draft: d, needs: map[string]string{}}
	if text, err := d.read("pyproject.toml"); err == nil {
		v, ok := settings.TOML(text)
		if p.pyproject = v; !ok {
			d.leaveOut("pyproject.toml", "it is not TOML")
		}
	}
	for file, v := range map[string]*settings.Value{"setup.cfg": &p.setup, "tox.ini": &p.tox} {
		if text, err := d.read(file); err == nil {
			*v = settings.INI(text)
		}
	}
	p.requirements()
	p.install = p.installer()
	return p
}

// tool binds a tool if the project runs it, or has it configured or installed for itself.
func (p *python) tool(t pythonTool) {
	source, paths := p.source(t)
	if source == "" {
		return
	}
	command, ok := p.pythonCommand(t.module)
	if !ok {
		install := p.install
		if install == "" || p.needs[t.module] == "" && !slices.Contains(strings.Fields(install), t.module) {
			install = "pip install " + t.module
		}
		p.lacks(t.verb+" with "+t.noun, source+" has it; it is not installed", install)
		return
	}
	words := append([]string{command}, t.sub...)
	words = append(words, paths...)
	b := binding{tool: strings.Join(words, " "), inputs: venvInputs(command), outside: p.outside(command)}
	if t.hint != "" {
		b.hint = fmt.Sprintf(t.hint, command)
	}
	p.found(t.module)
	p.bind(t.verb+" with "+t.noun, b, source, p.install)
}

// source returns the file by which the project uses a tool, and the paths that it is given there.
func (p *python) source(t pythonTool) (source string, paths []string) {
	matches := func(c habit.Command) bool {
		if c.Program != t.module {
			return false
		}
		if t.module != "ruff" {
			return true
		}
		sub := "check"
		if len(c.Args) > 0 && c.Args[0] == "format" {
			sub = "format"
		}
		return sub == t.sub[0]
	}
	c, ok := p.habits.Find(func(c habit.Command) bool { return matches(c) && c.Plain && len(p.args(t, c)) > 0 })
	if !ok {
		c, ok = p.habits.Find(matches)
	}
	switch {
	case ok:
		source = c.Source
	case t.module == "ruff" && t.sub[0] == "format":
		if source = p.configured([]string{"ruff", "format"}, nil); source == "" {
			return "", nil
		}
	default:
		if source = p.configured([]string{t.module}, t.files); source == "" {
			if source = p.needs[t.module]; source == "" {
				return "", nil
			}
		}
	}
	if c.Plain {
		paths = p.args(t, c)
	}
	if len(paths) == 0 {
		paths = p.paths(t)
	}
	return source, paths
}

// args returns what a binding takes over from a command of the project: of mypy all, which is configured there
// how strict it is, of others the files and folders that are there.
func (p *python) args(t pythonTool, c habit.Command) (list []string) {
	if t.module == "mypy" && c.Plain && len(c.Args) > 0 {
		return c.Args
	}
	for _, a := range c.Args {
		if !strings.HasPrefix(a, "-") && habit.IsPlain(a) && a != "." && p.exists(a) && !filepath.IsAbs(a) {
			list = append(list, a)
		}
	}
	return list
}

// paths returns what a tool looks at where no command of the project says it.
func (p *python) paths(t pythonTool) []string {
	switch t.module {
	case "ruff", "black", "isort":
		return []string{"."} // what they leave out is in their configuration
	case "flake8":
		if p.exists(".venv") || p.exists("venv") {
			return []string{"--extend-exclude", ".venv,venv"}
		}
		return nil
	case "pyright":
		return nil
	case "mypy":
		for _, key := range []string{"files", "packages", "modules"} {
			if p.pyproject.At("tool", "mypy").Has(key) || p.setup.At("mypy").Has(key) || p.ini("mypy.ini", "mypy", key) || p.ini(".mypy.ini", "mypy", key) {
				return nil
			}
		}
	}
	if p.exists("src") {
		return []string{"src"}
	}
	var packages []string
	for _, init := range p.glob("*/__init__.py", "*/__init__.pyi") {
		if dir := filepath.Dir(init); !slices.Contains([]string{"tests", "test", "docs", "doc", "examples"}, dir) && habit.IsPlain(dir) && !slices.Contains(packages, dir) {
			packages = append(packages, dir)
		}
	}
	if len(packages) > 0 {
		return packages
	}
	return []string{"."}
}

// ini reports whether a section of an INI file has a key.
func (p *python) ini(file, section, key string) bool {
	text, err := p.read(file)
	return err == nil && settings.INI(text).At(section).Has(key)
}

// configured returns the file that configures what path names below [tool] of pyproject.toml, or, by the
// first of its keys, in the files of INI; or the first of files that is there.
func (p *python) configured(path, files []string) string {
	for _, f := range files {
		if p.exists(f) {
			return f
		}
	}
	tool := p.pyproject.At("tool").At(path[:len(path)-1]...)
	switch name := path[0]; {
	case tool.Has(path[len(path)-1]):
		return "pyproject.toml"
	case len(path) > 1:
	case p.setup.Has(name), p.setup.Has("tool:" + name):
		return "setup.cfg"
	case p.tox.Has(name):
		return "tox.ini"
	}
	return ""
}

// tests binds pytest where the project uses it, else unittest, else pytest, which runs the tests of both.
func (p *python) tests() {
	source := p.configured([]string{"pytest"}, []string{"pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"})
	c, runs := p.habits.Uses("pytest", "py.test")
	unit, unitRuns := p.habits.Uses("unittest")
	switch {
	case source == "" && runs:
		source = c.Source
	case source == "":
		source = p.needs["pytest"]
	}
	tool, ok := p.pythonCommand("pytest")
	if ok && (source != "" || !unitRuns) {
		p.found("pytest")
		words := []string{tool, "-q"}
		if c.Plain && !p.pyproject.At("tool", "pytest", "ini_options").Has("testpaths") {
			words = append(words, p.args(pythonTool{}, c)...)
		}
		if source == "" {
			source = "its tests"
		}
		p.bind("Test with pytest", binding{tool: strings.Join(words, " "), expect: "{ min_tests = 1 }", inputs: venvInputs(tool), outside: p.outside(tool)}, source, p.install)
		return
	}
	if source != "" {
		p.lacks("Test with pytest", source+" has it; it is not installed", p.install)
		return
	}
	if p.exists("manage.py") {
		if tool, ok := p.pythonCommand("django"); ok {
			python, _, _ := strings.Cut(tool, " -m ")
			p.found("manage.py")
			p.bind("Test with django", binding{tool: python + " manage.py test", expect: "{ min_tests = 1 }", inputs: venvInputs(tool)}, "manage.py", p.install)
			return
		}
	}
	if tool, ok := p.pythonCommand("unittest"); ok {
		p.found("unittest")
		words := []string{tool}
		if unitRuns && unit.Plain {
			words = append(words, unit.Args...)
		} else if tests := p.glob("tests/test*.py", "test/test*.py"); len(tests) > 0 && !p.exists(filepath.Dir(tests[0])+"/__init__.py") {
			words = append(words, "discover", "-s", filepath.Dir(tests[0]))
		}
		if unit.Source == "" {
			unit.Source = "its tests"
		}
		p.bind("Test with unittest", binding{tool: strings.Join(words, " "), expect: "{ min_tests = 1 }", inputs: venvInputs(tool)}, unit.Source, p.install)
	}
}

// requirements collects what the project depends on, by the file that says so.
func (p *python) requirements() {
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*`)
	add := func(file string, specs ...string) {
		for _, s := range specs {
			for line := range strings.Lines(s) {
				if n := strings.ToLower(name.FindString(strings.TrimSpace(line))); n != "" && p.needs[n] == "" {
					p.needs[n] = file
				}
			}
		}
	}
	const pyproject = "pyproject.toml"
	p.pyproject.At("project").Walk(func(path []string, v settings.Value) {
		if len(path) > 0 && (path[0] == "dependencies" || path[0] == "optional-dependencies") && v.Text != "" {
			add(pyproject, v.Text)
		}
	})
	for _, at := range [][]string{{"dependency-groups"}, {"tool", "uv"}, {"tool", "pdm", "dev-dependencies"}} {
		p.pyproject.At(at...).Walk(func(_ []string, v settings.Value) { add(pyproject, v.Text) })
	}
	p.pyproject.At("tool", "poetry").Walk(func(path []string, v settings.Value) {
		if len(path) > 1 && strings.HasSuffix(path[len(path)-2], "dependencies") {
			add(pyproject, path[len(path)-1])
		}
	})
	add("setup.cfg", p.setup.At("options", "install_requires").Text)
	for _, key := range p.setup.At("options.extras_require").Keys {
		add("setup.cfg", p.setup.At("options.extras_require", key).Text)
	}
	for _, section := range p.tox.Keys {
		if strings.HasPrefix(section, "testenv") {
			add("tox.ini", p.tox.At(section, "deps").Text)
		}
	}
	for _, file := range p.requirementFiles() {
		if text, err := p.read(file); err == nil {
			add(file, string(text))
		}
	}
}

func (p *python) requirementFiles() []string {
	return p.glob("*requirements*.txt", "requirements/*.txt", "requirements/*.in", "test-requirements.txt")
}

// installer returns the command that installs the project and what it needs for its tests.
func (p *python) installer() string {
	switch {
	case p.exists("uv.lock") && installed("uv"):
		return "uv sync --all-extras --all-groups"
	case p.exists("poetry.lock") && installed("poetry"):
		return "poetry install"
	case p.exists("pdm.lock") && installed("pdm"):
		return "pdm install"
	}
	var words []string
	pip := "python3 -m venv .venv && .venv/bin/pip install"
	for _, venv := range []string{".venv", "venv"} {
		if p.exists(venv + "/bin/python") {
			pip = venv + "/bin/python -m pip install"
			break
		}
	}
	if p.exists("setup.py") || p.pyproject.Has("project") || p.pyproject.Has("build-system") || p.setup.Has("metadata") {
		extras := p.pyproject.At("project", "optional-dependencies").Keys
		extras = append(slices.Clip(extras), p.setup.At("options.extras_require").Keys...)
		words = append(words, "-e", ".")
		if extra := firstOf(extras, "test", "tests", "testing", "dev", "develop", "development", "all"); extra != "" {
			words[1] = "'.[" + extra + "]'"
		}
	}
	groups := p.groups()
	for _, g := range groups {
		words = append(words, "--group", g)
	}
	for _, suffix := range []string{"tests.txt", "test.txt", "testing.txt", "dev.txt", "requirements.txt"} {
		if i := slices.IndexFunc(p.requirementFiles(), func(f string) bool { return strings.HasSuffix(f, suffix) }); i >= 0 {
			words = append(words, "-r", p.requirementFiles()[i])
			break
		}
	}
	if _, unit := p.habits.Uses("unittest"); !unit && len(words) < 3 && !strings.Contains(strings.Join(words, ""), "[") && p.hasTests() {
		words = append(words, "pytest")
	}
	if len(words) == 0 {
		return ""
	}
	for _, t := range pythonTools { // those that pre-commit installs for itself, say, and no list of the project has
		if source, _ := p.source(t); source != "" && p.needs[t.module] == "" && !slices.Contains(words, t.module) {
			words = append(words, t.module)
		}
	}
	if len(groups) > 0 { // --group is of pip 25.1, and a new environment has the pip of its Python
		python, _, _ := strings.Cut(pip, " install")
		if i := strings.LastIndex(python, " && "); i >= 0 {
			python = python[i+len(" && "):]
		}
		pip = pip + " --upgrade pip && " + python + " install"
	}
	return pip + " " + strings.Join(words, " ")
}

// groups returns the dependency groups that have what the lines run: a tool of this list, or tests.
func (p *python) groups() (list []string) {
	all := p.pyproject.At("dependency-groups")
	name := regexp.MustCompile(`^[A-Za-z0-9._-]*`)
	for _, g := range all.Keys {
		for _, spec := range all.At(g).Texts() {
			module := strings.ToLower(name.FindString(spec))
			if module == "pytest" || slices.ContainsFunc(pythonTools, func(t pythonTool) bool { return t.module == module }) {
				list = append(list, g)
				break
			}
		}
	}
	if len(list) == 0 {
		if g := firstOf(all.Keys, "test", "tests", "testing", "dev"); g != "" {
			list = []string{g}
		}
	}
	return list
}

// firstOf returns the first of the wanted words that is in list; empty if none is.
func firstOf(list []string, wanted ...string) string {
	for _, w := range wanted {
		if slices.Contains(list, w) {
			return w
		}
	}
	return ""
}

// venvInputs returns the files that record what is installed in the virtual
// environment of tool; none if tool is in none.
func venvInputs(tool string) []string {
	venv, _, ok := strings.Cut(tool, "/bin/python ")
	if !ok {
		return nil
	}
	return []string{venv + "/pyvenv.cfg", venv + "/lib/python*/site-packages/*.dist-info/RECORD"}
}

// outside reports whether a command is neither of a virtual environment nor of a tool that makes one. An
// environment that shows the packages of the system runs those of the system, too.
func (d *draft) outside(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	if venv, module, ok := strings.Cut(command, "/bin/python -m "); ok {
		return d.exists(venv+"/pyvenv.cfg") && !d.matches(venv+"/lib/python*/site-packages/"+module+"*")
	}
	return !strings.Contains(first, "/") && !slices.Contains([]string{"uv", "poetry", "pdm"}, first) && os.Getenv("VIRTUAL_ENV") == ""
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
	for _, m := range []struct{ lock, runner string }{{"uv.lock", "uv run --frozen"}, {"poetry.lock", "poetry run"}, {"pdm.lock", "pdm run"}} {
		if d.exists(m.lock) && installed(strings.Fields(m.runner)[0]) {
			candidates = append(candidates, m.runner+" python -m "+name)
		}
	}
	candidates = append(candidates, "python3 -m "+name, name, name+"-3")
	probe := "--version"
	if name == "unittest" || name == "compileall" {
		probe = "--help"
	}
	for _, c := range candidates {
		argv := append(strings.Fields(c), probe)
		if strings.Contains(argv[0], "/") {
			path, err := filepath.Abs(filepath.Join(d.dir, argv[0]))
			if err != nil {
				continue
			}
			argv[0] = path
		}
		if works(d.dir, argv...) {
			return c, true
		}
	}
	return "", false
}

// hasTests reports whether there is a file that pytest would collect.
func (p *python) hasTests() bool {
	found := false
	_ = filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		name := e.Name()
		if e.IsDir() && path != p.dir && (strings.HasPrefix(name, ".") || name == "venv" || name == "node_modules") {
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
