// Package habit reads which commands a project runs by itself: the recipes of its Makefile and justfile,
// the environments of tox, nox and hatch, the steps of its workflows, its hooks, the scripts of
// package.json. The folder of a project comes in; commands go out as words, each with the file that has
// it. Nothing is run, and what cannot be read as plain words is reported as such.
package habit

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
	"github.com/command-dialect/dialect/lang/regular"
)

// A Command is one that a file of the project runs, without what only starts it: `poetry run python -m
// mypy src` is mypy with the argument src.
type Command struct {
	Program string // the name of the file that is run, or of the Python module
	Args    []string
	Plain   bool   // Args are words that mean themselves: no variable, pattern or placeholder
	Source  string // the file that has it, relative to the project
}

// Runners are the files of a runner that a project has, with the names of what they run.
type Runner struct {
	Program string // "make", "just", "task", "rake"
	File    string
	Targets []string
}

// Habits are the commands of a project, in the order in which the files are read.
type Habits struct {
	Commands []Command
	Runners  []Runner
	Files    []string // that were read, relative to the project

	Variables []Variable // that the workflows set, of those that change what tests see
}

// A Variable is one that a workflow sets.
type Variable struct {
	Name, Value string
	Source      string // the file that has it, relative to the project
}

// maxFile bounds what is read of a file, in bytes.
const maxFile = 1 << 20

// Read reads the files of the project in dir.
func Read(dir string) *Habits {
	r := &reader{dir: dir, out: new(Habits)}
	r.make()
	r.just()
	r.task()
	r.rake()
	r.ini("tox.ini", "")
	r.ini("setup.cfg", "tox:")
	r.pyproject()
	r.nox()
	r.hooks()
	r.packageJSON()
	r.workflows()
	return r.out
}

// Uses returns the first command that runs one of the programs, by name; ok is false where there is none.
func (h *Habits) Uses(programs ...string) (c Command, ok bool) {
	return h.Find(func(c Command) bool { return slices.Contains(programs, c.Program) })
}

// Find returns the first command for which f holds.
func (h *Habits) Find(f func(Command) bool) (c Command, ok bool) {
	if i := slices.IndexFunc(h.Commands, f); i >= 0 {
		return h.Commands[i], true
	}
	return Command{}, false
}

// A reader reads the files of one project.
type reader struct {
	dir string
	out *Habits
}

// read returns the text of a file of the project; empty if it cannot be read.
func (r *reader) read(name string) []byte {
	text, err := regular.Read(filepath.Join(r.dir, filepath.FromSlash(name)), maxFile)
	if err != nil {
		return nil
	}
	r.out.Files = append(r.out.Files, name)
	return text
}

// first returns the name and the text of the first of the files that can be read.
func (r *reader) first(names ...string) (string, []byte) {
	for _, name := range names {
		if text := r.read(name); text != nil {
			return name, text
		}
	}
	return "", nil
}

// shell adds the commands of a text that a shell would run.
func (r *reader) shell(source, text string) {
	r.out.Commands = append(r.out.Commands, Parse(source, text)...)
}

var patterns = sync.OnceValue(func() (p struct{ target, recipe, rake, session, run, word *regexp.Regexp }) {
	p.target = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*(?:\s+[A-Za-z][A-Za-z0-9_.-]*)*)\s*::?(?:[^=:]|$)`)
	p.recipe = regexp.MustCompile(`^@?([A-Za-z][A-Za-z0-9_-]*)(?:\s+[^:=]*)?:(?:[^=]|$)`)
	p.rake = regexp.MustCompile(`(?m)^(?:task[ (]+|\s*((?:[A-Z]\w*::)+\w*Task)\.(?:new|create)\b[ (]*)(?:[:"']([a-z_][\w:]*)|([a-z_]\w*): )?`) // an indented task is of a namespace
	p.run = regexp.MustCompile(`(?s)session\.run(?:_always)?\(\s*(.*?)\)`)
	p.word = regexp.MustCompile(`"([^"\n]*)"|'([^'\n]*)'|(\*?[A-Za-z_][A-Za-z0-9_.]*)`)
	return p
})

func (r *reader) make() {
	file, text := r.first("GNUmakefile", "makefile", "Makefile")
	if file == "" {
		return
	}
	run := Runner{Program: "make", File: file}
	for line := range strings.Lines(unbroken(string(text))) {
		line = strings.TrimRight(line, "\r\n")
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			r.shell(file, recipe)
		} else if m := patterns().target.FindStringSubmatch(line); m != nil {
			run.Targets = append(run.Targets, strings.Fields(m[1])...)
		}
	}
	r.out.Runners = append(r.out.Runners, run)
}

// rake reads the names of a Rakefile's tasks. It is a program: a task that a method makes has a name of its own only where
// one of the methods is known.
func (r *reader) rake() {
	file, text := r.first("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb")
	if file == "" {
		return
	}
	run := Runner{Program: "rake", File: file}
	for _, m := range patterns().rake.FindAllStringSubmatch(string(text), -1) {
		name := m[2] + m[3]
		if method := m[1]; name == "" && method != "" {
			name = map[string]string{"Rake::TestTask": "test", "Minitest::TestTask": "test", "RSpec::Core::RakeTask": "spec", "RuboCop::RakeTask": "rubocop"}[method]
		}
		if name != "" && !slices.Contains(run.Targets, name) {
			run.Targets = append(run.Targets, name)
		}
	}
	r.out.Runners = append(r.out.Runners, run)
}

func (r *reader) just() {
	file, text := r.first("justfile", "Justfile", ".justfile")
	if file == "" {
		return
	}
	run := Runner{Program: "just", File: file}
	for line := range strings.Lines(unbroken(string(text))) {
		line = strings.TrimRight(line, "\r\n")
		switch trimmed := strings.TrimLeft(line, " \t"); {
		case trimmed == "" || trimmed[0] == '#':
		case len(trimmed) < len(line):
			r.shell(file, trimmed)
		default:
			if m := patterns().recipe.FindStringSubmatch(line); m != nil && m[1] != "alias" && m[1] != "set" && m[1] != "import" && m[1] != "mod" {
				run.Targets = append(run.Targets, m[1])
			}
		}
	}
	r.out.Runners = append(r.out.Runners, run)
}

func (r *reader) task() {
	file, text := r.first("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml")
	if file == "" {
		return
	}
	tasks := settings.YAML(text).At("tasks")
	r.out.Runners = append(r.out.Runners, Runner{Program: "task", File: file, Targets: tasks.Keys})
	for _, name := range tasks.Keys {
		t := tasks.At(name)
		for _, c := range append(t.Texts(), append(t.At("cmds").Texts(), t.At("cmd").Texts()...)...) {
			r.shell(file, c)
		}
		for _, c := range t.At("cmds").List {
			r.shell(file, c.At("cmd").Text)
		}
	}
}

// ini reads the commands of tox from a file whose sections have prefix.
func (r *reader) ini(file, prefix string) {
	text := r.read(file)
	if text == nil {
		return
	}
	r.tox(file, prefix, settings.INI(text))
}

func (r *reader) tox(file, prefix string, v settings.Value) {
	for _, section := range v.Keys {
		if name, ok := strings.CutPrefix(section, prefix); ok && strings.HasPrefix(name, "testenv") {
			for _, key := range []string{"commands", "commands_pre", "commands_post"} {
				r.shell(file, unbroken(v.At(section, key).Text))
			}
		}
	}
}

func (r *reader) pyproject() {
	const file = "pyproject.toml"
	text := r.read(file)
	if text == nil {
		return
	}
	v, _ := settings.TOML(text)
	tool := v.At("tool")
	r.tox(file, "", settings.INI([]byte(tool.At("tox", "legacy_tox_ini").Text)))
	tool.At("tox").Walk(func(path []string, v settings.Value) {
		if len(path) > 0 && path[len(path)-1] == "commands" && len(v.List) > 0 {
			if words := v.Texts(); len(words) == len(v.List) {
				r.shell(file, strings.Join(words, " "))
			}
		}
	})
	tool.At("hatch", "envs").Walk(func(path []string, v settings.Value) {
		if len(path) > 1 && slices.Contains(path, "scripts") && v.Text != "" {
			r.shell(file, v.Text)
		}
	})
	for _, path := range [][]string{{"poe", "tasks"}, {"pdm", "scripts"}, {"rye", "scripts"}, {"taskipy", "tasks"}} {
		tool.At(path...).Walk(func(path []string, v settings.Value) {
			if v.Text != "" && (len(path) < 2 || slices.Contains([]string{"cmd", "shell", "composite", "chain"}, path[len(path)-1])) {
				r.shell(file, v.Text)
			}
		})
	}
}

// nox reads the commands of a noxfile, which is a program: of each session.run its words, where they are
// texts.
func (r *reader) nox() {
	const file = "noxfile.py"
	for _, m := range patterns().run.FindAllStringSubmatch(string(r.read(file)), -1) {
		var words []string
		plain := true
		for _, w := range patterns().word.FindAllStringSubmatch(m[1], -1) {
			if w[3] != "" {
				plain = false // a variable, or a keyword such as external=True
				continue
			}
			words = append(words, w[1]+w[2])
		}
		if c, ok := command(words); ok {
			c.Source, c.Plain = file, c.Plain && plain
			r.out.Commands = append(r.out.Commands, c)
		}
	}
}

// hooks reads what git runs before a commit.
func (r *reader) hooks() {
	const file = ".pre-commit-config.yaml"
	for _, repo := range settings.YAML(r.read(file)).At("repos").List {
		for _, hook := range repo.At("hooks").List {
			if entry := hook.At("entry").Text; entry != "" {
				r.shell(file, entry)
				continue
			}
			words := strings.Fields(hookCommand(hook.At("id").Text))
			if len(words) == 0 {
				continue
			}
			r.out.Commands = append(r.out.Commands, Command{Program: words[0], Args: append(words[1:], hook.At("args").Texts()...), Source: file})
		}
	}
	for _, file := range []string{"lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"} {
		settings.YAML(r.read(file)).Walk(func(path []string, v settings.Value) {
			if len(path) > 0 && path[len(path)-1] == "run" {
				r.shell(file, v.Text)
			}
		})
	}
}

// hookCommand returns what the hook of pre-commit called id runs; that is often its name.
func hookCommand(id string) string {
	switch id {
	case "ruff", "ruff-check":
		return "ruff check"
	case "ruff-format":
		return "ruff format"
	case "go-fmt":
		return "gofmt"
	case "go-vet":
		return "go vet"
	case "golangci-lint-full":
		return "golangci-lint"
	case "fmt":
		return "cargo fmt"
	case "clippy":
		return "cargo clippy"
	}
	return strings.TrimPrefix(strings.TrimSuffix(id, "-jupyter"), "mirrors-")
}

func (r *reader) packageJSON() {
	const file = "package.json"
	v, err := settings.JSON(r.read(file))
	if err != nil {
		return
	}
	scripts := v.At("scripts")
	for _, name := range scripts.Keys {
		r.shell(file, scripts.At(name).Text)
	}
}

// workflows reads the steps of CI.
func (r *reader) workflows() {
	files := []string{".gitlab-ci.yml", ".circleci/config.yml", ".travis.yml"}
	for _, ext := range []string{"yml", "yaml"} {
		for _, f := range regular.In(filepath.Join(r.dir, ".github", "workflows"), "*."+ext) {
			files = append(files, ".github/workflows/"+filepath.Base(f))
		}
	}
	for _, file := range files[:min(len(files), 50)] {
		settings.YAML(r.read(file)).Walk(func(path []string, v settings.Value) {
			if len(path) == 0 || v.Text == "" {
				return
			}
			switch name := path[len(path)-1]; {
			case name == "run" || name == "script" || name == "command":
				r.shell(file, v.Text)
			case len(path) > 1 && (path[len(path)-2] == "env" || path[len(path)-2] == "variables"):
				r.variable(file, name, v.Text)
			}
		})
	}
}

// variable keeps a variable whose value is plain and alone decides what a test sees: the first of each name.
func (r *reader) variable(file, name, value string) {
	switch name {
	case "TZ", "LANG", "LC_ALL", "NODE_ENV", "NODE_OPTIONS", "GOFLAGS", "CGO_ENABLED", "RUSTFLAGS", "PYTHONPATH", "PYTHONUTF8":
	default:
		return
	}
	if strings.ContainsAny(value, "$\n\"") || slices.ContainsFunc(r.out.Variables, func(v Variable) bool { return v.Name == name }) {
		return
	}
	r.out.Variables = append(r.out.Variables, Variable{name, value, file})
}

// unbroken joins lines that end in a backslash with those after them.
func unbroken(text string) string {
	return strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
}

// base is the name of a program without its folder.
func base(program string) string { return path.Base(strings.ReplaceAll(program, `\`, "/")) }
