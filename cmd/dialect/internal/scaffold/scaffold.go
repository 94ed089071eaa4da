// Package scaffold is what `dialect init` writes, as data. Lines of a script and what they run come in, from
// package survey, which looks at a project, and package trial, which tries them; the texts of a matrix and a
// script go out, or what a project does not have of them yet. It writes no file.
package scaffold

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/routing"
)

// ScriptName is the name of the script of a plan; its matrix is called [routing.FileName].
const ScriptName = routing.ScriptName

// A Plan is what is proposed for a project.
type Plan struct {
	Dir      string   // of the project, as it was named
	Lines    []Line   // of the script, without the gate at its end
	Found    []string // what the lines are built on, for people
	LeftOut  []string // what they do without, and why
	Offers   []string // what the user may add, for people
	Installs []string // commands that install what lines are left out for
	Caches   []string // names of directories outside of the project's files
	Sets     []string // what the workflows of the project set in the environment: `TZ = "UTC" (.github/workflows/ci.yml)`
	Clean    Clean
}

// A Clean is the table [clean] of a matrix: what a clean checkout of the project needs.
type Clean struct {
	Setup, Locks, Keep, Share []string
	Why                       []string // for each command that installs, or share, what it rests on
}

// table returns the text of the table; empty if there is nothing to say.
func (c Clean) table() string {
	if len(c.Setup)+len(c.Share) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n# For dialect run --clean, which sees nothing that is installed here: " + strings.Join(c.Why, "; ") + ".\n[clean]\n")
	for _, k := range []struct {
		name string
		list []string
	}{{"setup", c.Setup}, {"locks", c.Locks}, {"keep", c.Keep}, {"share", c.Share}} {
		if len(k.list) > 0 {
			fmt.Fprintf(&b, "%s = %s\n", k.name, List(k.list))
		}
	}
	return b.String()
}

// A Line is a line of the script, and what it runs.
type Line struct {
	Text    string // "Test with pytest"
	Name    string // of its binding: "test_pytest"
	Pack    string // that has the binding; empty where the matrix has it
	Source  string // the file by which the project runs or configures the tool; empty for a guess
	Install string // the command that installs what the tool needs; empty if none is known
	Build   string // the command that makes what git does not hold and the tool may need; empty if none is known
	Outside bool   // the tool is this machine's, not that of the environment which the project asks for

	Table string // of the binding in TOML; empty where a pack has it

	Instead *Line // of the same pack: what is tried where this one, a guess, says no
}

// A File is one of a plan. Path begins with the folder of the plan.
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
		fmt.Fprintf(&b, "extends = %s\n", List(packs))
	}
	for _, l := range p.Lines {
		if l.Table != "" {
			b.WriteString("\n" + l.Table)
		}
	}
	if n := p.nouns(); n > maxNouns {
		fmt.Fprintf(&b, "\n[limits]\nnouns = %d # one for each tool of each project below\n", n)
	}
	fmt.Fprintf(&b, "\n# The lines of %s, as one: dialect verify --require quality\n[commands.gate_quality]\nverb = \"gate\"\nnoun = \"quality\"\ncomposite = %s\nreceipt_required = true\n", ScriptName, List(names))
	if len(p.Caches) > 0 {
		b.WriteString("\n# What tools leave here, and a clone lacks.\n[defaults]\ncaches = " + List(p.Caches) + "\n")
	}
	b.WriteString(p.Clean.table())
	return b.String()
}

// maxNouns is the number of nouns above which a check of the matrix warns, where [limits] says nothing.
const maxNouns = 15

// nouns counts the nouns of the matrix, that of its gate included.
func (p Plan) nouns() int {
	nouns := map[string]bool{"quality": true}
	for _, l := range p.Lines {
		if l.Table != "" {
			nouns[strings.Fields(l.Text)[2]] = true
		}
	}
	return len(nouns)
}

// List writes a TOML array of texts.
func List(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
