// Package scaffold decides what `dialect init` writes. The folder of a project and the programs on PATH
// come in; a matrix and a script that run as they are go out, with what they are built on and what
// was left out. It asks tools whether they are installed, and runs none of the lines it proposes.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

// ScriptName is the name of the script of a plan; its matrix is called [routing.FileName].
const ScriptName = "quality.dlct"

// ErrNothing is wrapped by the error of [Look] when a project has nothing that a line could run.
var ErrNothing = errors.New("found nothing to run")

// A Plan is what [Look] proposes for a project.
type Plan struct {
	Files   []File   // the matrix and the script, in the order they are written
	Found   []string // what the files are built on, for people
	LeftOut []string // what they do without, and why
}

// A File is one of a plan. Path begins with the folder that [Look] was given.
type File struct{ Path, Text string }

// Write creates f. It replaces nothing: if anything has its path, the error is fs.ErrExist.
func (f File) Write() error {
	return (&outfile.File{Path: f.Path}).Create([]byte(f.Text), 0o666)
}

// Look returns the plan for the project in dir. It fails if dir is not a directory, and with
// [ErrNothing] if there is nothing to run; the plan then has no files, and still says what was left out.
func Look(dir string) (Plan, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Plan{}, fmt.Errorf("%s is not a directory", dir)
	}
	d := draft{dir: dir}
	if d.exists("go.mod") {
		d.golang()
	} else if d.matches("*.go") {
		d.leaveOut("the Go files", "there is no go.mod: go mod init")
	}
	if d.exists("pyproject.toml") || d.exists("setup.py") || d.exists("setup.cfg") || d.matches("*.py") {
		d.python()
	}
	if d.exists("package.json") {
		d.node()
	}
	if d.exists("Cargo.toml") {
		d.rust()
	}
	d.runners()
	if len(d.lines) == 0 {
		d.shell()
	}
	if len(d.lines) == 0 {
		return d.Plan, fmt.Errorf("%w in %s: no go.mod, Python files, package.json, Cargo.toml, Makefile, justfile or shell scripts", ErrNothing, dir)
	}
	d.lines = append(d.lines, "Gate against results")
	d.Files = []File{
		{filepath.Join(dir, routing.FileName), d.matrix()},
		{filepath.Join(dir, ScriptName), strings.Join(d.lines, "\n") + "\n"},
	}
	return d.Plan, nil
}

// A draft is a plan in the making.
type draft struct {
	Plan
	dir      string
	extends  []string // packs
	bindings []string // [commands.x] tables
	lines    []string // of the script
}

func (d *draft) matrix() string {
	var b strings.Builder
	b.WriteString("# What the lines of " + ScriptName + " run: verb + noun -> tool. Made by `dialect init`.\n")
	if len(d.extends) > 0 {
		fmt.Fprintf(&b, "extends = [\"%s\"]\n", strings.Join(d.extends, `", "`))
	}
	for _, t := range d.bindings {
		b.WriteString("\n" + t)
	}
	return b.String()
}

// bind adds a line, "Verb preposition noun", and a binding of it to tool; extra are more keys of the
// binding, in whole lines.
func (d *draft) bind(line, tool, extra string) {
	words := strings.Fields(line)
	verb, noun := strings.ToLower(words[0]), words[2]
	d.bindings = append(d.bindings, fmt.Sprintf("[commands.%s_%s]\nverb = %q\nnoun = %q\ntool = %q\nreceipt_required = true\n%s", verb, noun, verb, noun, tool, extra))
	d.lines = append(d.lines, line)
}

// has reports whether there is a line with verb, such as "Test".
func (d *draft) has(verb string) bool {
	return slices.ContainsFunc(d.lines, func(l string) bool { return strings.HasPrefix(l, verb+" ") })
}

func (d *draft) found(what string) { d.Found = append(d.Found, what) }

func (d *draft) leaveOut(what, why string) { d.LeftOut = append(d.LeftOut, what+" ("+why+")") }

func (d *draft) exists(name string) bool { return place.Exists(filepath.Join(d.dir, name)) }

// matches reports whether a file of the project matches one of the patterns.
func (d *draft) matches(patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, _ := filepath.Glob(filepath.Join(d.dir, p))
		return len(found) > 0
	})
}

// read returns a file of the project; one of more than 16 MiB is not a configuration that a person wrote.
func (d *draft) read(name string) ([]byte, error) {
	return regular.Read(filepath.Join(d.dir, name), 16<<20)
}

// installed reports whether a program is on PATH.
func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// works reports whether a command succeeds in dir; an empty dir is the working directory. A program may
// be on PATH and not work, such as a cargo without a toolchain.
func works(dir string, argv ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	return cmd.Run() == nil
}
