package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
)

const (
	matrixName = "routing.toml"
	scriptName = "quality.dlct"
)

func newInit(u *ui) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "write a matrix and a script for the project that is here",
		Long: `Look at the project in DIR (default: here) and write a ` + matrixName + ` and a
` + scriptName + ` that run as they are: from go.mod, pyproject.toml and its like, package.json,
Cargo.toml, shell scripts, and from what a Makefile, a justfile, pre-commit or lefthook offer. What
was found, and what was left out and why, is said. Nothing that exists is overwritten.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return initProject(u, dir, dry)
		},
	}
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print the files, and write nothing")
	return cmd
}

// A draft is what init makes of a project.
type draft struct {
	extends  []string
	bindings []string // [commands.x] tables
	lines    []string
	found    []string // what it is built on, for people
	left     []string // what was left out, and why
}

func initProject(u *ui, dir string, dry bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return exit.Usagef("%s is not a directory", dir)
	}
	var d draft
	if exists(dir, "go.mod") {
		d.goProject(dir)
	}
	if isPython(dir) {
		d.pythonProject(dir)
	}
	if exists(dir, "package.json") {
		d.nodeProject(dir)
	}
	if exists(dir, "Cargo.toml") {
		d.rustProject(dir)
	}
	d.runners(dir)
	if len(d.lines) == 0 {
		d.shellScripts(dir)
	}
	if len(d.lines) == 0 {
		d.tell(u)
		return exit.Failf(exit.Failed, "found nothing to run in %s: no go.mod, Python files, package.json, Cargo.toml, Makefile, justfile or shell scripts", dir).
			Hint("write a %s by hand:\n%s", matrixName, sampleMatrix)
	}
	d.lines = append(d.lines, "Gate against results")
	files := []struct{ name, text string }{{matrixName, d.matrix()}, {scriptName, d.script()}}
	if dry {
		for _, f := range files {
			fmt.Fprintf(u.out, "# %s\n%s\n", filepath.Join(dir, f.name), f.text)
		}
		d.tell(u)
		return nil
	}
	for _, f := range files {
		if !exists(dir, f.name) {
			if err := outfile.Settle(outfile.InUse{}, &outfile.File{Name: filepath.Join(dir, f.name), Fresh: true}); err != nil {
				return err
			}
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		err := (&outfile.File{Path: path}).Create([]byte(f.text), 0o666)
		if errors.Is(err, fs.ErrExist) {
			u.notef("%s is there already and was left as it is", path)
			continue
		}
		if err != nil {
			return exit.Failf(exit.Failed, "%v", err)
		}
		u.notef("wrote %s", path)
	}
	d.tell(u)
	u.notef("now: dialect run %s", filepath.Join(dir, scriptName))
	return nil
}

func (d *draft) tell(u *ui) {
	if len(d.found) > 0 {
		u.notef("found: %s", strings.Join(d.found, ", "))
	}
	for _, l := range d.left {
		u.notef("left out: %s", l)
	}
}

func (d *draft) matrix() string {
	var b strings.Builder
	b.WriteString("# What the lines of " + scriptName + " run: verb + noun -> tool. Made by `dialect init`.\n")
	if len(d.extends) > 0 {
		fmt.Fprintf(&b, "extends = [\"%s\"]\n", strings.Join(d.extends, `", "`))
	}
	for _, t := range d.bindings {
		b.WriteString("\n" + t)
	}
	return b.String()
}

func (d *draft) script() string { return strings.Join(d.lines, "\n") + "\n" }

// bind adds a binding of its own and the line that uses it.
func (d *draft) bind(verb, noun, prep, tool, extra string) {
	title := strings.ToUpper(verb[:1]) + verb[1:]
	d.bindings = append(d.bindings, fmt.Sprintf("[commands.%s_%s]\nverb = %q\nnoun = %q\ntool = %q\nreceipt_required = true\n%s", verb, noun, verb, noun, tool, extra))
	d.lines = append(d.lines, title+" "+prep+" "+noun)
}

func (d *draft) goProject(dir string) {
	d.found = append(d.found, "go.mod")
	d.extends = append(d.extends, "go")
	d.lines = append(d.lines, "Format with gofmt", "Check with vet", "Test with go")
	mod, _ := regular.Read(filepath.Join(dir, "go.mod"), 16<<20)
	switch {
	case bytes.Contains(mod, []byte("honnef.co/go/tools/cmd/staticcheck")):
		d.found = append(d.found, "staticcheck (a tool of go.mod)")
		d.lines = append(d.lines[:len(d.lines)-1], "Check with staticcheck", "Test with go")
		d.bindings = append(d.bindings, "[commands.check_staticcheck]\nverb = \"check\"\nnoun = \"staticcheck\"\ntool = \"go tool staticcheck ./...\"\nreceipt_required = true\n")
	default:
		if _, err := exec.LookPath("staticcheck"); err == nil {
			d.found = append(d.found, "staticcheck")
			d.lines = append(d.lines[:len(d.lines)-1], "Check with staticcheck", "Test with go")
		} else {
			d.left = append(d.left, "staticcheck (not installed; bound already, so that the line \"Check with staticcheck\" is all it takes)")
		}
	}
}

func isPython(dir string) bool {
	if exists(dir, "pyproject.toml") || exists(dir, "setup.py") || exists(dir, "setup.cfg") {
		return true
	}
	py, _ := filepath.Glob(filepath.Join(dir, "*.py"))
	return len(py) > 0
}

// A pythonTool is a tool that init knows how to bind.
type pythonTool struct {
	name       string
	verb, prep string
	arguments  string
	extra      string
}

var pythonTools = []pythonTool{
	{"ruff", "check", "with", "check .", "hint = \"ruff check --fix mends what it can\"\n"},
	{"black", "format", "with", "--check .", "hint = \"black . formats\"\n"},
	{"flake8", "check", "with", "", ""},
	{"mypy", "check", "with", ".", ""},
}

func (d *draft) pythonProject(dir string) {
	d.found = append(d.found, "a Python project")
	config := pythonConfig(dir)
	for _, t := range pythonTools {
		if !strings.Contains(config, t.name) {
			d.left = append(d.left, t.name+" (the project does not mention it)")
			continue
		}
		tool, ok := pythonCommand(dir, t.name)
		if !ok {
			d.left = append(d.left, t.name+" (the project mentions it, and it is not installed)")
			continue
		}
		d.found = append(d.found, t.name)
		if t.name == "ruff" {
			d.bind("format", "ruff", "with", tool+" format --check .", venvInputs(tool))
		}
		d.bind(t.verb, t.name, t.prep, strings.TrimSpace(tool+" "+t.arguments), t.extra+venvInputs(tool))
	}
	tests := hasPythonTests(dir)
	switch tool, ok := pythonCommand(dir, "pytest"); {
	case tests && ok:
		d.found = append(d.found, "pytest")
		d.bind("test", "pytest", "with", tool+" -q", "expect = { min_tests = 1 }\n"+venvInputs(tool))
	case tests:
		if tool, ok := pythonCommand(dir, "unittest"); ok {
			d.found = append(d.found, "unittest")
			d.bind("test", "unittest", "with", tool, "expect = { min_tests = 1 }\n"+venvInputs(tool))
		}
		d.left = append(d.left, "pytest (not installed)")
	default:
		d.left = append(d.left, "pytest (there are no test files)")
	}
	if len(d.bindings) == 0 {
		if tool, ok := pythonCommand(dir, "compileall"); ok {
			d.bind("check", "syntax", "for", tool+" -q .", "")
		}
	}
}

// venvInputs names the records of what is installed in the virtual environment that tool is
// of, as a line of a binding; empty if it is of none.
func venvInputs(tool string) string {
	venv, _, ok := strings.Cut(tool, "/bin/python ")
	if !ok || strings.Contains(venv, "/") {
		return ""
	}
	return fmt.Sprintf("inputs = [%q, %q]\n", venv+"/pyvenv.cfg", venv+"/lib/python*/site-packages/*.dist-info/RECORD")
}

// pythonCommand finds a command that runs the tool called name: as a module of
// the project's virtual environment or of python3, or as a program of its own.
func pythonCommand(dir, name string) (string, bool) {
	var candidates []string
	for _, venv := range []string{".venv", "venv"} {
		if exists(dir, venv+"/bin/python") {
			candidates = append(candidates, venv+"/bin/python -m "+name)
		}
	}
	if exists(dir, "uv.lock") {
		candidates = append(candidates, "uv run --frozen python -m "+name)
	}
	candidates = append(candidates, "python3 -m "+name, name, name+"-3")
	for _, c := range candidates {
		argv := strings.Fields(c)
		probe := "--version"
		if name == "unittest" || name == "compileall" {
			probe = "--help"
		}
		if strings.Contains(argv[0], "/") {
			argv[0] = filepath.Join(dir, argv[0])
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := exec.CommandContext(ctx, argv[0], append(argv[1:], probe)...).Run()
		cancel()
		if err == nil {
			return c, true
		}
	}
	return "", false
}

// pythonConfig is the text in which a project mentions the tools it uses.
func pythonConfig(dir string) string {
	var b strings.Builder
	names := []string{"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "mypy.ini", ".mypy.ini", ".flake8", "ruff.toml", ".ruff.toml", ".pre-commit-config.yaml", "Makefile", "noxfile.py"}
	reqs, _ := filepath.Glob(filepath.Join(dir, "requirements*.txt"))
	for _, r := range reqs {
		names = append(names, filepath.Base(r))
	}
	for _, name := range names {
		if text, err := regular.Read(filepath.Join(dir, name), 16<<20); err == nil {
			// The name of a file such as mypy.ini is a mention too.
			b.WriteString(name + "\n")
			b.Write(text)
		}
	}
	return b.String()
}

// hasPythonTests reports whether there is a file that pytest would collect.
func hasPythonTests(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		name := e.Name()
		if e.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "venv" || name == "node_modules") {
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

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

const sampleMatrix = `[commands.test_make]
verb = "test"
noun = "make"
tool = "make test"
receipt_required = true`

// projectRoot is the directory of the nearest matrix above dir.
func projectRoot(dir string) (string, bool) {
	path, err := routing.Find(dir)
	if err != nil {
		return "", false
	}
	return filepath.Dir(path), true
}
