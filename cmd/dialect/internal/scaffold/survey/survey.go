// Package survey looks at a project for what `dialect init` proposes. The folder of the project and the programs
// on PATH come in; lines of a script and their bindings go out, with what they are built on and what
// was left out. It asks tools whether they are installed, and runs none of the lines that it proposes: package
// trial does.
//
// What a project runs by itself (package habit) and what it has configured (package settings) decide
// which lines are proposed, and with which arguments. A line whose tool comes with the language, and
// which nothing in the project runs, is a guess: its Source is empty.
//
// It is one package of up to 1,800 lines because all ecosystems of a folder add to one draft, and one may take
// the place of what another proposed.
package survey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/lockfiles"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/glob"
	"github.com/command-dialect/dialect/runtime/place"
)

// ErrNothing is wrapped by the error of [Look] when a project has nothing that a line could run.
var ErrNothing = errors.New("found nothing to run")

// Look returns the plan for the project in dir. It fails if dir is not a directory, and with
// [ErrNothing] if there is nothing to run; the plan then has no lines, and still says what was left out.
func Look(dir string) (scaffold.Plan, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return scaffold.Plan{}, fmt.Errorf("%s is not a directory", dir)
	}
	d := draft{Plan: scaffold.Plan{Dir: dir}, dir: dir, habits: habit.Read(dir)}
	for _, v := range d.habits.Variables {
		d.Sets = append(d.Sets, fmt.Sprintf("%s = %q (%s)", v.Name, v.Value, v.Source))
	}
	d.ecosystems()
	d.nested()
	d.runners()
	d.native()
	d.pythonSyntax()
	d.shell()
	d.unread()
	d.matrices()
	d.docker()
	m := d.manager()
	d.Clean = lockfiles.Propose(dir, lockfiles.Manager{Lock: m.lock, Program: m.program, Install: m.install})
	if len(d.Lines) == 0 {
		return d.Plan, fmt.Errorf("%w in %s, or in the folders below, that can be bound without your help", ErrNothing, dir)
	}
	slices.SortStableFunc(d.Lines, func(a, b scaffold.Line) int { return rank(a) - rank(b) })
	return d.Plan, nil
}

// rank orders lines: what is quick and points at places comes first.
func rank(l scaffold.Line) int {
	verb, _, _ := strings.Cut(l.Text, " ")
	return slices.Index([]string{"Format", "Check", "Build", "Test"}, verb)
}

// A draft is a plan in the making, for the project in dir or for one below it.
type draft struct {
	scaffold.Plan
	dir    string
	below  string // the path of a project below that of the plan, with slashes; empty for none
	prefix string // of the nouns of its lines
	habits *habit.Habits
}

// ecosystems looks for what each language's tools are configured by.
func (d *draft) ecosystems() {
	d.golang()
	d.python()
	d.node()
	d.rust()
}

// A binding is what a line runs, in the words of a matrix.
type binding struct {
	tool         string
	expect, hint string   // TOML, and a text
	inputs, pins []string // paths from the project
	outside      bool     // see [scaffold.Line]
}

// bind adds a line, "Verb preposition noun", that runs b.
func (d *draft) bind(line string, b binding, source, install string) {
	var t strings.Builder
	fmt.Fprintf(&t, "tool = %q\n", d.at(b.tool))
	if strings.HasPrefix(line, "Format ") {
		t.WriteString("effect = \"read\"\n") // it only compares, whatever its verb says
	}
	if b.expect != "" {
		fmt.Fprintf(&t, "expect = %s\n", b.expect)
	}
	t.WriteString("receipt_required = true\n")
	if b.hint != "" {
		fmt.Fprintf(&t, "hint = %q\n", b.hint)
	}
	words := strings.Fields(line)
	t.WriteString(d.packFiles(strings.ToLower(words[0]), words[2]))
	if d.add(line, t.String(), b.inputs, b.pins, source, install) {
		d.Lines[len(d.Lines)-1].Outside = b.outside
	}
}

// add adds a line with a table of its own: the keys are those without inputs and pins, in whole lines. It
// adds none, and returns false, where there is one of that name already.
func (d *draft) add(line, keys string, inputs, pins []string, source, install string) bool {
	words := strings.Fields(line)
	verb, noun := strings.ToLower(words[0]), words[2]
	if d.below != "" {
		noun = d.prefix + "-" + noun
		words[2] = noun
		keys = fmt.Sprintf("cwd = %q\n", d.below) + keys
		if install != "" {
			install = "cd " + d.below + " && " + install
		}
	}
	name := verb + "_" + strings.ReplaceAll(noun, "-", "_")
	if routing.CheckNoun(noun) != nil || slices.ContainsFunc(d.Lines, func(l scaffold.Line) bool { return l.Name == name }) {
		return false
	}
	keys = fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\n%s", name, verb, noun, keys)
	if len(inputs) > 0 {
		keys += "inputs = " + scaffold.List(d.paths(inputs)) + "\n"
	}
	if len(pins) > 0 {
		keys += "pins = " + scaffold.List(d.paths(pins)) + "\n"
	}
	d.Lines = append(d.Lines, scaffold.Line{Text: strings.Join(words, " "), Name: name, Source: source, Install: install, Table: keys})
	return true
}

// at returns a tool of the project as the matrix has it: a program with a folder is looked up from the
// root of the matrix, wherever it runs.
func (d *draft) at(tool string) string {
	program, _, _ := strings.Cut(tool, " ")
	if d.below == "" || !strings.Contains(program, "/") || strings.HasPrefix(program, "/") {
		return tool
	}
	return d.below + "/" + tool
}

// paths returns paths from the project as paths from that of the plan.
func (d *draft) paths(names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, strings.TrimPrefix(d.below+"/"+name, "/"))
	}
	return paths
}

// has reports whether there is a line with verb, such as "Test".
func (d *draft) has(verb string) bool {
	return slices.ContainsFunc(d.Lines, func(l scaffold.Line) bool { return strings.HasPrefix(l.Text, verb+" ") })
}

func (d *draft) found(what string) {
	if d.below != "" {
		what += " in " + d.below
	}
	if !slices.Contains(d.Found, what) {
		d.Found = append(d.Found, what)
	}
}

func (d *draft) leaveOut(what, why string) {
	if d.below != "" {
		what += " in " + d.below
	}
	d.LeftOut = append(d.LeftOut, what+" ("+why+")")
}

// lacks leaves out what is not installed, and names the command that installs it.
func (d *draft) lacks(what, why, install string) {
	d.leaveOut(what, why)
	if install != "" && d.below != "" && !strings.HasPrefix(install, "cd ") {
		install = "cd " + d.below + " && " + install
	}
	if install != "" && !slices.Contains(d.Installs, install) {
		d.Installs = append(d.Installs, install)
	}
}

func (d *draft) exists(name string) bool { return place.Exists(filepath.Join(d.dir, name)) }

// matches reports whether a file of the project matches one of the patterns.
func (d *draft) matches(patterns ...string) bool { return len(d.glob(patterns...)) > 0 }

// glob returns the paths of the files of the project that match one of the patterns, with slashes. A pattern may be the
// project's own, and one that matches too much for that matches nothing.
func (d *draft) glob(patterns ...string) (names []string) {
	for _, p := range patterns {
		found, _ := glob.Expand(context.Background(), d.dir, "./"+p)
		for _, f := range found {
			if rel, err := filepath.Rel(d.dir, f.Name); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
	}
	return names
}

// read returns a file of the project; one of more than 1 MiB is not a configuration that a person wrote.
func (d *draft) read(name string) ([]byte, error) {
	return regular.Read(filepath.Join(d.dir, name), 1<<20)
}
