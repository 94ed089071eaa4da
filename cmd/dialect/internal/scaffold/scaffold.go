// Package scaffold decides what `dialect init` writes. The folder of a project and the programs on PATH
// come in; lines of a script and their bindings go out, with what they are built on and what
// was left out. It asks tools whether they are installed, and runs none of the lines it proposes: package
// trial does.
//
// What a project runs by itself (package habit) and what it has configured (package settings) decide
// which lines are proposed, and with which arguments. A line whose tool comes with the language, and
// which nothing in the project runs, is a guess: its Source is empty.
package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

// ScriptName is the name of the script of a plan; its matrix is called [routing.FileName].
const ScriptName = routing.ScriptName

// ErrNothing is wrapped by the error of [Look] when a project has nothing that a line could run.
var ErrNothing = errors.New("found nothing to run")

// A Plan is what [Look] proposes for a project.
type Plan struct {
	Dir      string   // of the project, as it was named
	Lines    []Line   // of the script, without the gate at its end
	Found    []string // what the lines are built on, for people
	LeftOut  []string // what they do without, and why
	Offers   []string // what the user may add, for people
	Installs []string // commands that install what lines are left out for
	Defaults []string // lines of the table [defaults]
}

// A Line is a line of the script, and what it runs.
type Line struct {
	Text    string // "Test with pytest"
	Name    string // of its binding: "test_pytest"
	Pack    string // that has the binding; empty where the matrix has it
	Source  string // the file by which the project runs or configures the tool; empty for a guess
	Install string // the command that installs what the tool needs; empty if none is known
	Outside bool   // the tool is this machine's, not that of the environment which the project asks for

	table string // of the binding, where no pack has it
}

// A File is one of a plan. Path begins with the folder that [Look] was given.
type File struct{ Path, Text string }

// Files returns the matrix and the script, in the order in which they are written.
func (p Plan) Files() []File {
	return []File{
		{filepath.Join(p.Dir, routing.FileName), p.matrix()},
		{filepath.Join(p.Dir, ScriptName), p.script()},
	}
}

func (p Plan) script() string {
	var b strings.Builder
	for _, l := range p.Lines {
		b.WriteString(l.Text + "\n")
	}
	b.WriteString("Gate against results\n")
	return b.String()
}

func (p Plan) matrix() string {
	var b strings.Builder
	b.WriteString("# What the lines of " + ScriptName + " run: verb + noun -> tool. Made by `dialect init`.\n")
	var packs, names []string
	for _, l := range p.Lines {
		if l.Pack != "" && !slices.Contains(packs, l.Pack) {
			packs = append(packs, l.Pack)
		}
		names = append(names, l.Name)
	}
	if len(packs) > 0 {
		fmt.Fprintf(&b, "extends = %s\n", list(packs))
	}
	for _, l := range p.Lines {
		if l.table != "" {
			b.WriteString("\n" + l.table)
		}
	}
	if n := p.nouns(); n > maxNouns {
		fmt.Fprintf(&b, "\n[limits]\nnouns = %d # one for each tool of each project below\n", n)
	}
	fmt.Fprintf(&b, "\n# The lines of %s, as one: dialect verify --require quality\n[commands.gate_quality]\nverb = \"gate\"\nnoun = \"quality\"\ncomposite = %s\nreceipt_required = true\n", ScriptName, list(names))
	if len(p.Defaults) > 0 {
		b.WriteString("\n[defaults]\n" + strings.Join(p.Defaults, "\n") + "\n")
	}
	return b.String()
}

// maxNouns is the number of nouns above which a check of the matrix warns, where [limits] says nothing.
const maxNouns = 15

// nouns counts the nouns of the matrix, that of its gate included.
func (p Plan) nouns() int {
	nouns := map[string]bool{"quality": true}
	for _, l := range p.Lines {
		if l.table != "" {
			nouns[strings.Fields(l.Text)[2]] = true
		}
	}
	return len(nouns)
}

// list writes a TOML array of texts.
func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Look returns the plan for the project in dir. It fails if dir is not a directory, and with
// [ErrNothing] if there is nothing to run; the plan then has no lines, and still says what was left out.
func Look(dir string) (Plan, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Plan{}, fmt.Errorf("%s is not a directory", dir)
	}
	d := draft{Plan: Plan{Dir: dir}, dir: dir, habits: habit.Read(dir)}
	d.ecosystems()
	d.nested()
	d.runners()
	d.shell()
	d.unread()
	d.matrices()
	d.docker()
	if len(d.Lines) == 0 {
		return d.Plan, fmt.Errorf("%w in %s, or in the folders below, that can be bound without your help", ErrNothing, dir)
	}
	slices.SortStableFunc(d.Lines, func(a, b Line) int { return rank(a) - rank(b) })
	return d.Plan, nil
}

// rank orders lines: what is quick and points at places comes first.
func rank(l Line) int {
	verb, _, _ := strings.Cut(l.Text, " ")
	return slices.Index([]string{"Format", "Check", "Test"}, verb)
}

// A draft is a plan in the making, for the project in dir or for one below it.
type draft struct {
	Plan
	dir    string
	below  string // the path of a project below that of the plan, with slashes; empty for none
	prefix string // of the nouns of its lines
	habits *habit.Habits
	root   *draft // of the plan, where below is set
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
	outside      bool     // see [Line]
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
	if routing.CheckNoun(noun) != nil || slices.ContainsFunc(d.Lines, func(l Line) bool { return l.Name == name }) {
		return false
	}
	keys = fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\n%s", name, verb, noun, keys)
	if len(inputs) > 0 {
		keys += "inputs = " + list(d.paths(inputs)) + "\n"
	}
	if len(pins) > 0 {
		keys += "pins = " + list(d.paths(pins)) + "\n"
	}
	d.Lines = append(d.Lines, Line{Text: strings.Join(words, " "), Name: name, Source: source, Install: install, table: keys})
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
	return slices.ContainsFunc(d.Lines, func(l Line) bool { return strings.HasPrefix(l.Text, verb+" ") })
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
	if install == "" {
		return
	}
	if d.below != "" && !strings.HasPrefix(install, "cd ") {
		install = "cd " + d.below + " && " + install
	}
	if !slices.Contains(d.Installs, install) {
		d.Installs = append(d.Installs, install)
	}
}

func (d *draft) exists(name string) bool { return place.Exists(filepath.Join(d.dir, name)) }

// matches reports whether a file of the project matches one of the patterns.
func (d *draft) matches(patterns ...string) bool { return len(d.glob(patterns...)) > 0 }

// glob returns the paths of the files of the project that match one of the patterns, with slashes.
func (d *draft) glob(patterns ...string) (names []string) {
	for _, p := range patterns {
		found, _ := filepath.Glob(filepath.Join(d.dir, p))
		for _, f := range found {
			if rel, err := filepath.Rel(d.dir, f); err == nil {
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
